"""What state a job is in, from where its rows are: the store keeps no status column."""

from __future__ import annotations

from typing import NamedTuple

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import END_STATES, EndState, JobKind, JobState
from perseid.ports.inspect import JobView
from perseid.store.sqlite.connection import Connection, Row
from perseid.store.sqlite.tx import clean

# The state of a job, from where its rows are; backlog is work behind a gate that has no room.
JOB = (
    "SELECT u.id, u.crawl, u.kind, u.url, u.depth, u.attempts, u.stalls, h.name, e.state, coalesce(e.code, ''),"
    " coalesce(e.message, ''), le.job IS NOT NULL, c.status,"
    " EXISTS (SELECT 1 FROM retry r WHERE r.crawl = u.crawl AND r.job = u.id),"
    " ln.state = 2 OR q.active >= q.max_active OR t.active >= t.max_active"
    " FROM url u JOIN crawl c ON c.id = u.crawl JOIN team t ON t.id = c.team"
    " LEFT JOIN ended e ON e.job = u.id LEFT JOIN lease le ON le.job = u.id"
    " LEFT JOIN lane ln ON ln.id = u.lane LEFT JOIN queue q ON q.id = ln.queue LEFT JOIN host h ON h.id = u.host"
)
_STATE_CLAUSES = {
    **{state: f"e.state = {int(end)}" for end, state in END_STATES.items()},
    JobState.ACTIVE: "u.id IN (SELECT job FROM lease) AND e.job IS NULL",
    JobState.RETRYING: "u.id IN (SELECT job FROM retry) AND e.job IS NULL AND le.job IS NULL AND c.status = 0",
    JobState.CANCELLED: f"(e.state = {int(EndState.CANCELLED)}"
    " OR e.job IS NULL AND le.job IS NULL AND c.status IN (2, 3))",
    JobState.QUEUED: "e.job IS NULL AND le.job IS NULL AND c.status = 0 AND u.seq > ln.head AND NOT"
    " (ln.state = 2 OR q.active >= q.max_active OR t.active >= t.max_active)",
    JobState.BACKLOG: "e.job IS NULL AND le.job IS NULL AND c.status = 0 AND u.seq > ln.head AND"
    " (ln.state = 2 OR q.active >= q.max_active OR t.active >= t.max_active)",
}


class JobFilter(NamedTuple):
    """Which jobs are meant; None is any."""

    crawl: CrawlId | None
    team: int | None
    host: str | None
    state: JobState | None


def jobs(connection: Connection, wanted: JobFilter, *, after: int, limit: int) -> list[JobView]:
    """In order of discovery. A unary plus keeps the walk on the table's own order, which pages need."""
    clauses, bindings = ["u.id > ? AND u.lane IS NOT NULL"], [after]
    if wanted.crawl is not None:
        clauses.append("+u.crawl = ?")
        bindings.append(wanted.crawl)
    if wanted.team is not None:
        clauses.append("+c.team = ?")
        bindings.append(wanted.team)
    if wanted.host is not None:
        found = connection.execute("SELECT id FROM host WHERE name = ?", (clean(wanted.host),)).fetchone()
        if found is None:
            return []
        clauses.append("u.host = ?")
        bindings.append(found[0])
    if wanted.state is not None:
        clauses.append(_STATE_CLAUSES[wanted.state])
    statement = f"{JOB} WHERE {' AND '.join(clauses)} ORDER BY u.id LIMIT ?"
    return [job_view(row) for row in connection.execute(statement, (*bindings, limit))]


def job_view(row: Row) -> JobView:
    (
        job,
        crawl,
        kind,
        url,
        depth,
        attempts,
        stalls,
        host,
        end,
        code,
        message,
        leased,
        status,
        retrying,
        gated,
    ) = row
    state = _state(end, leased=bool(leased), crawl_status=status, retrying=bool(retrying), gated=bool(gated))
    return JobView(JobId(job), CrawlId(crawl), JobKind(kind), url, state, depth, attempts, stalls, host, code, message)


def _state(end: int | None, *, leased: bool, crawl_status: int, retrying: bool, gated: bool) -> JobState:
    if end is not None:
        return END_STATES[EndState(end)]
    if leased:
        return JobState.ACTIVE
    if crawl_status != CrawlStatus.SCRAPING:
        return JobState.CANCELLED
    if retrying:
        return JobState.RETRYING
    return JobState.BACKLOG if gated else JobState.QUEUED
