"""The whole store at a glance: who works on what, and how much of everything there is."""

from __future__ import annotations

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobState
from perseid.ports.inspect import LeaseView, Stats, WorkerView
from perseid.store.reading.rows import Rows


async def workers(rows: Rows) -> list[WorkerView]:
    held: dict[int, list[LeaseView]] = {}
    for worker, job, crawl, *rest in await rows.all(
        "SELECT l.worker, l.job, l.crawl, u.url, h.name, l.started_at, l.expires_at FROM lease l"
        " JOIN url u ON u.id = l.job JOIN host h ON h.id = l.host ORDER BY l.started_at, l.job"
    ):
        held.setdefault(worker, []).append(LeaseView(JobId(job), CrawlId(crawl), *rest))
    return [
        WorkerView(WorkerId(number), host, pid, beat, held.get(number, []), slots, version, drain)
        for number, host, pid, beat, slots, version, drain in await rows.all(
            "SELECT id, host, pid, beat, slots, version, drain FROM worker ORDER BY id"
        )
    ]


async def stats(rows: Rows, now: int) -> Stats:
    """Each figure by an index of what is running; only crawls that ended are counted by their rows."""
    by_status: dict[int, int] = dict(
        await rows.all("SELECT status, count(*) FROM crawl WHERE kind <> 'scrape' GROUP BY status")
    )
    ((scrapes, active, retrying, backed_off, paused, working),) = await rows.all(
        "SELECT (SELECT count(*) FROM crawl WHERE status = 0 AND kind = 'scrape'), (SELECT count(*) FROM lease),"
        " (SELECT count(*) FROM retry r JOIN crawl c ON c.id = r.crawl WHERE c.status = 0),"
        " (SELECT count(*) FROM host WHERE backoffs > 0),"
        " (SELECT count(*) FROM host WHERE paused_until > 0 AND paused_until > $1), (SELECT count(*) FROM worker)",
        now,
    )
    waiting = {
        bool(gated): int(count)
        for gated, count in await rows.all(
            "SELECT l.state = 2 OR q.closed = 2 OR q.active >= q.max_active OR t.active >= t.max_active,"
            " sum(l.tail - l.head) FROM queue q JOIN lane l ON l.queue = q.id JOIN team t ON t.id = q.team"
            " WHERE q.closed <> 1 GROUP BY 1"
        )
    }
    return Stats(
        crawls={status: by_status.get(int(status), 0) for status in CrawlStatus},
        scrapes=scrapes,
        jobs={
            JobState.QUEUED: waiting.get(False, 0),
            JobState.BACKLOG: waiting.get(True, 0),
            JobState.ACTIVE: active,
            JobState.RETRYING: retrying,
        },
        hosts_backed_off=backed_off,
        hosts_paused=paused,
        workers=working,
    )
