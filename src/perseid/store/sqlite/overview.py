"""The whole store at a glance: who works on what, and how much of everything there is."""

from __future__ import annotations

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobState
from perseid.ports.inspect import LeaseView, Stats, WorkerView
from perseid.store.sqlite.connection import Connection


def workers(connection: Connection) -> list[WorkerView]:
    held: dict[int, list[LeaseView]] = {}
    for worker, job, crawl, *rest in connection.execute(
        "SELECT l.worker, l.job, l.crawl, u.url, h.name, l.started_at, l.expires_at FROM lease l"
        " JOIN url u ON u.id = l.job JOIN host h ON h.id = l.host ORDER BY l.started_at, l.job"
    ):
        held.setdefault(worker, []).append(LeaseView(JobId(job), CrawlId(crawl), *rest))
    return [
        WorkerView(WorkerId(number), host, pid, beat, held.get(number, []))
        for number, host, pid, beat in connection.execute("SELECT id, host, pid, beat FROM worker ORDER BY id")
    ]


def stats(connection: Connection, now: int) -> Stats:
    """Each figure by an index of what is running; only crawls that ended are counted by their rows."""
    by_status = dict(connection.execute("SELECT status, count(*) FROM crawl WHERE kind <> 'scrape' GROUP BY status"))
    (scrapes, active, retrying, backed_off, paused, working) = (
        connection.execute(
            "SELECT (SELECT count(*) FROM crawl WHERE status = 0 AND kind = 'scrape'), (SELECT count(*) FROM lease),"
            " (SELECT count(*) FROM retry r JOIN crawl c ON c.id = r.crawl WHERE c.status = 0),"
            " (SELECT count(*) FROM host WHERE backoffs > 0),"
            " (SELECT count(*) FROM host WHERE paused_until > max(0, ?)), (SELECT count(*) FROM worker)",
            (now,),
        ).fetchone()
        or (0,) * 6
    )
    waiting = dict(
        connection.execute(
            "SELECT l.state = 2 OR q.active >= q.max_active OR t.active >= t.max_active, sum(l.tail - l.head)"
            " FROM queue q JOIN lane l ON l.queue = q.id JOIN team t ON t.id = q.team WHERE q.closed = 0 GROUP BY 1"
        )
    )
    return Stats(
        crawls={status: by_status.get(int(status), 0) for status in CrawlStatus},
        scrapes=scrapes,
        jobs={
            JobState.QUEUED: waiting.get(0, 0),
            JobState.BACKLOG: waiting.get(1, 0),
            JobState.ACTIVE: active,
            JobState.RETRYING: retrying,
        },
        hosts_backed_off=backed_off,
        hosts_paused=paused,
        workers=working,
    )
