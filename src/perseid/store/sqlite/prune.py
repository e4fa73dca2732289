"""Forgetting crawls that are over: they vanish from sight at once, and their rows go in bounded rounds."""

from __future__ import annotations

from perseid.model.ids import CrawlId
from perseid.store.schema import GOING
from perseid.store.sqlite.erase import clear_rows
from perseid.store.sqlite.tx import Tx

_CRAWLS_A_ROUND = 200
_MARKED_AT_ONCE = 1_000
CHUNK = 5_000


def mark(tx: Tx, ended_before: int, only: CrawlId | None) -> bool:
    """Crawls that ended before, or whose own time to live is over, are seen by nobody any more; True for perhaps more.

    One that has something to sweep yet, be it a job that still runs, is left for later.
    """
    overdue = "ended_at IS NOT NULL AND ttl IS NOT NULL AND ended_at + ttl <= ?1"
    if only is not None:
        due = f"id = ?3 AND (ended_at <= ?2 OR {overdue})"
    elif ended_before > 0:
        due = f"(ended_at <= ?2 OR {overdue}) AND ?3 IS NULL"
    else:
        due = f"{overdue} AND ?2 = 0 AND ?3 IS NULL"
    tx.execute(
        f"UPDATE crawl SET swept = {GOING} WHERE id IN (SELECT id FROM crawl WHERE {due} AND status <> 0 AND swept = 1"  # noqa: S608 - constants
        f" LIMIT {_MARKED_AT_ONCE})",
        (tx.now, max(0, ended_before), only),
    )
    return tx.connection.changes() == _MARKED_AT_ONCE


def prune_round(tx: Tx, only: CrawlId | None) -> tuple[list[CrawlId], bool]:
    """Delete about `CHUNK` rows of each kind; the crawls that are gone altogether, and whether any is still going."""
    gone: list[CrawlId] = []
    before = tx.connection.total_changes()
    going = tx.all(
        f"SELECT id FROM crawl WHERE swept = {GOING} AND (?1 IS NULL OR id = ?1) ORDER BY id LIMIT ?2",  # noqa: S608 - a constant
        (only, _CRAWLS_A_ROUND),
    )
    for (crawl,) in going:
        if tx.connection.total_changes() - before > CHUNK or not _forget(tx, crawl):
            return gone, True
        gone.append(CrawlId(crawl))
    return gone, len(going) == _CRAWLS_A_ROUND


def _forget(tx: Tx, crawl: int) -> bool:
    """Delete up to a chunk of rows of each kind; True when the crawl is gone altogether."""
    if not clear_rows(tx, crawl, CHUNK):
        return False
    for table in ("denied_count", "idempotency", "run_count", "run_time"):
        tx.execute(f"DELETE FROM {table} WHERE crawl = ?", (crawl,))  # noqa: S608 - constants
    # Under zero retention the files are to be wiped yet: its row stays until that is done.
    tx.execute("UPDATE erasure SET due_at = 0 WHERE crawl = ?", (crawl,))
    tx.execute("DELETE FROM crawl WHERE id = ?", (crawl,))
    return True
