"""The life of crawls and workers after their start: add, cancel, reap, sweep."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.verdict import Denied, FailureCode
from perseid.ports.work import Lease, NewUrl
from perseid.store.schema import clean
from perseid.store.sqlite import gates, sinks
from perseid.store.sqlite.admit import Found, admit, refuse
from perseid.store.sqlite.blocks import reap_blocks
from perseid.store.sqlite.finish import fail_jobs, fail_waiting
from perseid.store.sqlite.tx import SCRAPING, Tx
from perseid.store.text import cleaned

MAX_STALLS = 9


def add(tx: Tx, crawl_id: CrawlId, urls: Sequence[NewUrl], parent: Lease | None, denied: Sequence[Denied]) -> int:
    crawl = tx.crawl(crawl_id)
    if crawl is None or not crawl.running:
        return 0
    job = None
    if parent is not None:
        job = parent.job
        if tx.one("SELECT 1 FROM lease WHERE job = ? AND lock = ?", (job, parent.lock)) is None:
            return 0
    admitted = admit(tx, crawl, [Found(cleaned(url), job, url.depth) for url in urls])
    refuse(tx, crawl, [(refusal, job) for refusal in denied])
    return admitted


def end(tx: Tx, crawl_id: CrawlId, status: CrawlStatus, error: str | None) -> bool:
    crawl = tx.crawl(crawl_id)
    if crawl is None or not crawl.running:
        return False
    tx.end(crawl, status)
    tx.execute("UPDATE crawl SET error = ? WHERE id = ?", (None if error is None else clean(error), crawl.id))
    return True


def pause(tx: Tx, crawl_id: CrawlId, *, paused: bool) -> bool:
    crawl = tx.crawl(crawl_id)
    return crawl is not None and crawl.running and gates.pause(tx, crawl, paused=paused)


def ended_crawls_of(tx: Tx, worker: WorkerId) -> set[CrawlId]:
    return {
        CrawlId(row[0])
        for row in tx.all(
            "SELECT DISTINCT l.crawl FROM lease l LEFT JOIN crawl c ON c.id = l.crawl"
            " WHERE l.worker = ? AND (c.id IS NULL OR c.status <> ?)",
            (worker, SCRAPING),
        )
    }


def reap(tx: Tx, dead: Sequence[WorkerId]) -> int:
    """Leases of the dead, and all past their expiry, return to waiting; the dead lose their worker rows."""
    reap_blocks(tx)
    sinks.free(tx, dead)
    marks = ",".join("?" * len(dead))
    rows = tx.all(
        f"DELETE FROM lease WHERE expires_at <= ? OR worker IN ({marks}) RETURNING job, crawl, queue, host, team",  # noqa: S608 - question marks only
        (tx.now, *dead),
    )
    tx.execute(f"DELETE FROM worker WHERE id IN ({marks})", tuple(dead))  # noqa: S608 - question marks only
    for job, crawl_id, queue, host, team in rows:
        tx.free(host=host, queue=queue, team=team)
        # Nobody knows when the last request to a slow host began: keep the whole pause from now.
        tx.execute("UPDATE host SET open_at = max(open_at, ? + gap) WHERE id = ? AND gap > 0", (tx.now, host))
        crawl = tx.crawl(crawl_id)
        if crawl is None or not crawl.running:
            continue
        stalls, flags, attempts = tx.one(
            "UPDATE url SET stalls = stalls + 1 WHERE id = ? RETURNING stalls, flags, attempts", (job,)
        ) or (0, 0, 0)
        if stalls >= MAX_STALLS:
            fail_jobs(
                tx, crawl, [(job, flags, attempts)], code=FailureCode.STALLED,
                message=f"{stalls} workers that ran this job died or hung over it",
            )  # fmt: skip
        else:
            gates.requeue(tx, job)
    return len(rows)


def sweep(tx: Tx, chunk: int) -> int:
    """One bounded round: fail what is past its deadline, clear the queues of ended crawls."""
    gates.mend_times(tx)
    return _past_deadline(tx, chunk) + _clear_ended(tx, chunk)


def _past_deadline(tx: Tx, chunk: int) -> int:
    touched = 0
    message = "the crawl's deadline passed before this page was fetched"
    for (crawl_id,) in tx.all("SELECT id FROM crawl WHERE status = 0 AND deadline_at <= ? LIMIT 20", (tx.now,)):
        crawl = tx.crawl(crawl_id)
        assert crawl is not None
        # Pages in flight may still bring links home: those are never claimed, and fail in the next round.
        tx.execute("UPDATE queue SET closed = 1 WHERE crawl = ?", (crawl_id,))
        waiting = tx.all(
            "DELETE FROM retry WHERE (run_at, job) IN (SELECT run_at, job FROM retry WHERE crawl = ?"
            " LIMIT ?) RETURNING job",
            (crawl_id, chunk),
        )
        jobs = [tx.one("SELECT id, flags, attempts FROM url WHERE id = ?", row) or (0, 0, 0) for row in waiting]
        fail_jobs(tx, crawl, jobs, code=FailureCode.DEADLINE, message=message)
        touched += len(waiting)
        lanes = tx.all(
            "SELECT l.id FROM queue q JOIN lane l ON l.queue = q.id WHERE q.crawl = ? AND l.head < l.tail LIMIT 200",
            (crawl_id,),
        )
        for (lane,) in lanes:
            touched += fail_waiting(tx, crawl, lane, code=FailureCode.DEADLINE, message=message, bound=chunk)
            gates.settle(tx, lane)
    return touched


def _clear_ended(tx: Tx, chunk: int) -> int:
    """Delete lanes, retries and queues of ended crawls once nothing of them runs any more."""
    touched = 0
    for (crawl_id,) in tx.all("SELECT id FROM crawl WHERE status <> 0 AND swept = 0 LIMIT 20"):
        tx.execute(
            "DELETE FROM retry WHERE (run_at, job) IN (SELECT run_at, job FROM retry WHERE crawl = ? LIMIT ?)",
            (crawl_id, chunk),
        )
        touched += tx.connection.changes()
        lanes = tx.all(
            "DELETE FROM lane WHERE id IN (SELECT l.id FROM queue q JOIN lane l ON l.queue = q.id WHERE q.crawl = ?"
            " AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.lane = l.id) LIMIT ?) RETURNING queue, host, state",
            (crawl_id, chunk),
        )
        tx.executemany(
            "UPDATE host SET waiting = waiting - 1 WHERE id = ?",
            [(host,) for _q, host, state in lanes if state == gates.PARKED],
        )
        tx.executemany(
            "UPDATE queue SET ready = ready - 1 WHERE id = ?",
            [(queue,) for queue, _h, state in lanes if state == gates.READY],
        )
        touched += len(lanes)
        if touched < chunk and not tx.all("SELECT 1 FROM lease WHERE crawl = ? LIMIT 1", (crawl_id,)):
            tx.execute("DELETE FROM queue WHERE crawl = ?", (crawl_id,))
            tx.execute("UPDATE crawl SET swept = 1 WHERE id = ?", (crawl_id,))
    return touched
