"""What people do to single jobs: retry what failed, cancel what waits, append to a batch; and a crawl that goes on."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.errors import StoreError
from perseid.links.host import politeness_host
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import RETRIABLE, EndState
from perseid.ports.work import NewUrl
from perseid.store.schema import COUNTED, GOING, PAUSED
from perseid.store.sqlite import gates
from perseid.store.sqlite.finish import count_end
from perseid.store.sqlite.post import withdraw_last
from perseid.store.sqlite.quota import afford
from perseid.store.sqlite.start import line_up
from perseid.store.sqlite.tx import SCRAPING, CrawlRow, Tx

_STALLS_KEPT = 2
"""Of a job that took workers down: retried, it still runs alone."""


def append(tx: Tx, crawl_id: CrawlId, urls: Sequence[NewUrl]) -> int:
    """Further pages for a batch, which goes on if it had completed; the number admitted."""
    crawl = tx.crawl(crawl_id)
    if crawl is None or not _may_go_on(tx, crawl):
        return 0
    if crawl.kind != CrawlKind.BATCH:
        raise StoreError(f"crawl number {crawl_id} is a {crawl.kind}: only a batch takes further URLs")
    afford(tx, crawl.team, len(urls))
    admitted = line_up(tx, crawl, urls)
    if admitted:
        _go_on(tx, crawl)
    return admitted


def _may_go_on(tx: Tx, crawl: CrawlRow) -> bool:
    """It runs, or has completed and is kept: one that was stopped, or is forgotten, stays so."""
    row = tx.one(
        "SELECT status IN (?, ?) AND swept <> ? AND erased_at IS NULL AND coalesce(ended_at + ttl > ?, 1) FROM crawl"
        " WHERE id = ?",
        (SCRAPING, int(CrawlStatus.COMPLETED), GOING, tx.now, crawl.id),
    )
    return row is not None and bool(row[0])


def _go_on(tx: Tx, crawl: CrawlRow) -> None:
    """A completed crawl has jobs in line again. Its deadline runs anew, and nobody is told yet that it is over.

    When its last page was asked for is forgotten with its queues: a delay is kept from now on.
    """
    if crawl.running:
        return
    crawl.status = SCRAPING
    crawl.ended_at = None
    crawl.dirty = True
    tx.execute(
        "UPDATE crawl SET deadline_at = ? + deadline WHERE id = ? AND deadline IS NOT NULL",
        (tx.now, crawl.id),
    )
    tx.execute(
        "UPDATE queue SET closed = ?1 * (SELECT paused FROM crawl WHERE crawl.id = queue.crawl),"
        " next_at = CASE WHEN gap > 0 THEN max(next_at, ?2 + gap) ELSE next_at END WHERE crawl = ?3",
        (PAUSED, tx.now, crawl.id),
    )
    tx.stirred_teams.add(crawl.team)
    if crawl.events:
        withdraw_last(tx.connection, crawl.id)
    if crawl.erase:
        tx.execute("DELETE FROM erasure WHERE crawl = ?", (crawl.id,))


def retry(tx: Tx, jobs: Sequence[JobId]) -> int:
    """Failed and cancelled jobs go back to waiting, as if for the first time; how many.

    A page that could not be had under its own URL but came by another one is left: it would be there twice.
    """
    retried = 0
    for job in jobs:
        row = tx.one(
            "SELECT e.state, e.seq, u.crawl, u.flags, u.host, u.key, u.url FROM ended e JOIN url u ON u.id = e.job"
            " WHERE e.job = ? AND e.other IS NULL",
            (job,),
        )
        if row is None or EndState(row[0]) not in RETRIABLE:
            continue
        state, seq, crawl_id, flags, host, key, url = row
        crawl = tx.crawl(crawl_id)
        if crawl is None or not (crawl.running or _may_go_on(tx, crawl)):
            continue
        tx.execute("DELETE FROM ended WHERE job = ?", (job,))
        count_end(crawl, EndState(state), counted=bool(flags & COUNTED), by=-1)
        if seq is not None:
            tx.execute("UPDATE document SET superseded = 1 WHERE crawl = ? AND seq = ?", (crawl_id, seq))
            crawl.documents -= 1
            crawl.superseded += 1
        if crawl.keep_variants:
            tx.execute("UPDATE variant SET tried = 0 WHERE crawl = ? AND key = ? AND url <> ?", (crawl_id, key, url))
        tx.execute("UPDATE url SET attempts = 0, stalls = min(stalls, ?), hops = x'' WHERE id = ?", (_STALLS_KEPT, job))
        if host is None:
            # Of a crawl that was over, and its lanes gone, before jobs knew their host.
            name = politeness_host(url)
            host = gates.host_ids(tx, (name,))[name]
        gates.trust_again(tx, (host,))
        gates.requeue(tx, job, host=host)
        _go_on(tx, crawl)
        retried += 1
    return retried


def cancel(tx: Tx, jobs: Sequence[JobId]) -> int:
    """Jobs that wait end as cancelled; what runs, runs on. How many."""
    cancelled = 0
    lanes: dict[int, dict[int, int]] = {}
    for job in dict.fromkeys(jobs):
        row = tx.one(
            "SELECT u.crawl, u.flags, u.attempts, u.lane, u.seq, u.seq > l.head FROM url u"
            " LEFT JOIN lane l ON l.id = u.lane WHERE u.id = ? AND u.lane IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.job = u.id)"
            " AND NOT EXISTS (SELECT 1 FROM lease le WHERE le.job = u.id)",
            (job,),
        )
        crawl = None if row is None else tx.crawl(row[0])
        if row is None or crawl is None or not crawl.running:
            continue
        _crawl, flags, attempts, lane, seq, in_line = row
        if in_line:
            lanes.setdefault(lane, {})[seq] = job
        else:
            tx.execute("DELETE FROM retry WHERE crawl = ? AND job = ?", (crawl.id, job))
        tx.execute(
            "INSERT INTO ended (job, crawl, state, at, attempts, code, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job, crawl.id, int(EndState.CANCELLED), tx.now, attempts, "cancelled", "somebody cancelled this page"),
        )
        count_end(crawl, EndState.CANCELLED, counted=bool(flags & COUNTED))
        cancelled += 1
    for lane, places in lanes.items():
        _leave(tx, lane, places)
    return cancelled


def _leave(tx: Tx, lane: int, places: dict[int, int]) -> None:
    """These positions of a lane are given up. The last in line move into the gaps: nobody comes later by it."""
    head, tail = tx.one("SELECT head, tail FROM lane WHERE id = ?", (lane,)) or (0, 0)
    tx.executemany("UPDATE url SET seq = NULL WHERE id = ?", [(job,) for job in places.values()])
    while head + 1 in places:
        head += 1
        del places[head]
    tail -= len(places)
    gaps = sorted(seq for seq in places if seq <= tail)
    movers = tx.all("SELECT id FROM url WHERE lane = ? AND seq > ? ORDER BY seq", (lane, tail)) if gaps else []
    tx.executemany(
        "UPDATE url SET seq = ? WHERE id = ?", [(seq, job) for seq, (job,) in zip(gaps, movers, strict=True)]
    )
    tx.execute(
        "UPDATE lane SET head = ?1, tail = ?2,"
        " ord = coalesce((SELECT id FROM url WHERE lane = ?3 AND seq = ?1 + 1), ord) WHERE id = ?3",
        (head, tail, lane),
    )
    gates.settle(tx, lane)
