"""What state a job is in, from where its rows are: the store keeps no status column."""

from __future__ import annotations

from typing import NamedTuple

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import END_STATES, EndState, JobKind, JobState
from perseid.ports.inspect import JobView
from perseid.store.reading.rows import Row, Rows, Where
from perseid.store.schema import clean

_COLUMNS = (
    "SELECT u.id, u.crawl, u.kind, u.url, u.depth, u.attempts, u.stalls, h.name, e.state, coalesce(e.code, ''),"
    " coalesce(e.message, ''), le.job IS NOT NULL, c.status,"
    " EXISTS (SELECT 1 FROM retry r WHERE r.crawl = u.crawl AND r.job = u.id),"
    " ln.state = 2 OR q.closed = 2 OR q.active >= q.max_active OR t.active >= t.max_active FROM"
)
_AROUND = (
    "JOIN crawl c ON c.id = u.crawl JOIN team t ON t.id = c.team"
    " LEFT JOIN ended e ON e.job = u.id LEFT JOIN lease le ON le.job = u.id"
    " LEFT JOIN lane ln ON ln.id = u.lane LEFT JOIN queue q ON q.id = ln.queue LEFT JOIN host h ON h.id = u.host"
)
# The state of a job, from where its rows are; backlog is work behind a gate that has no room, or of a crawl
# that is paused.
JOB = f"{_COLUMNS} url u {_AROUND}"

# What is looked up for each job that a listing walks past. As expressions, so that nothing else is walked along.
_END = "(SELECT e.state FROM ended e WHERE e.job = u.id)"
_LEASED = "EXISTS (SELECT 1 FROM lease le WHERE le.job = u.id)"
_STATUS = "(SELECT c.status FROM crawl c WHERE c.id = u.crawl)"
_TEAM = "(SELECT c.team FROM crawl c WHERE c.id = u.crawl)"
_GATED = (
    "(SELECT ln.state = 2 OR q.closed = 2 OR q.active >= q.max_active OR t.active >= t.max_active FROM lane ln"
    " JOIN queue q ON q.id = ln.queue JOIN team t ON t.id = q.team WHERE ln.id = u.lane AND u.seq > ln.head)"
)
_OPEN = f"{_STATUS} = 0 AND {_END} IS NULL AND NOT {_LEASED}"
_CUT_OFF = (int(CrawlStatus.CANCELLED), int(CrawlStatus.FAILED))
"""A crawl that ended so: what of it still waited is cancelled, without an end of its own."""
_STATES = {
    JobState.COMPLETED: f"{_END} = {int(EndState.DONE)}",
    JobState.ACTIVE: f"{_END} IS NULL",
    JobState.RETRYING: _OPEN,
    JobState.CANCELLED: f"({_END} = {int(EndState.CANCELLED)}"
    f" OR {_STATUS} IN ({', '.join(map(str, _CUT_OFF))}) AND {_END} IS NULL AND NOT {_LEASED})",
    JobState.QUEUED: f"{_GATED} = FALSE AND {_OPEN}",
    JobState.BACKLOG: f"{_GATED} = TRUE AND {_OPEN}",
}
_APART = {state: int(end) for end, state in END_STATES.items() if end not in {EndState.DONE, EndState.CANCELLED}}
"""Ends that an index has in order, crawl by crawl, apart from the pages that are done."""


class JobFilter(NamedTuple):
    """Which jobs are meant; None is any."""

    crawl: CrawlId | None
    team: int | None
    host: str | None
    state: JobState | None


async def jobs(rows: Rows, wanted: JobFilter, *, after: int, limit: int) -> list[JobView]:
    """In order of discovery."""
    host = None
    if wanted.host is not None:
        found = await rows.all("SELECT id FROM host WHERE name = $1", clean(wanted.host))
        if not found:
            return []
        host = found[0][0]
    end = _APART.get(wanted.state) if wanted.state is not None else None
    if wanted.state is JobState.CANCELLED and wanted.crawl is not None:
        found = await rows.all("SELECT status FROM crawl WHERE id = $1", wanted.crawl)
        if found and found[0][0] not in _CUT_OFF:
            end = int(EndState.CANCELLED)
    page, values = _page(wanted, end, host, rows.along, after, limit)
    statement = f"{_COLUMNS} ({page}) page JOIN url u ON u.id = page.id {_AROUND} ORDER BY u.id"
    return [job_view(row) for row in await rows.all(statement, *values)]


def _page(
    wanted: JobFilter, end: int | None, host: int | None, along: str, after: int, limit: int
) -> tuple[str, list[object]]:
    """The numbers of the jobs to be shown, by whatever table is the shortest way to them."""
    where = Where("u.lane IS NOT NULL")
    # What always holds of `flags` lets PostgreSQL use the index that a crawl's listings have for themselves.
    source, number, crawl = "url u", "u.id", f"u.flags >= 0 AND {along}u.crawl"
    if end is not None:
        source, number, crawl = "ended e JOIN url u ON u.id = e.job", "e.job", "e.crawl"
        where.add("e.state <> 0 AND e.state = ?", end)
    elif wanted.state is JobState.ACTIVE:
        source, number, crawl = "lease l JOIN url u ON u.id = l.job", "l.job", "l.crawl"
    elif wanted.state is JobState.RETRYING:
        source, number, crawl = "retry r JOIN url u ON u.id = r.job", "r.job", "r.crawl"
    where.add(f"{number} > ?", after)
    if wanted.crawl is not None:
        where.add(f"{crawl} = ?", wanted.crawl)
    if end is None and wanted.state is not None:
        where.add(_STATES[wanted.state])
    if wanted.team is not None:
        where.add(f"{_TEAM} = ?", wanted.team)
    if host is not None:
        where.add("u.host = ?", host)
    return f"SELECT u.id FROM {source} {where} ORDER BY {number} LIMIT {where.bind(limit)}", where.values  # noqa: S608 - constants


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
