"""Forgetting: the rows of a crawl in chunks, and under zero retention all it had, while its counters stay."""

from __future__ import annotations

import msgspec

from perseid.model.terms import Terms
from perseid.store.schema import GRACE_US
from perseid.store.sqlite import outbox
from perseid.store.sqlite.tx import Tx

_CHUNKED = (
    "DELETE FROM document WHERE id IN (SELECT id FROM document WHERE crawl = ? LIMIT ?)",
    "DELETE FROM denied WHERE id IN (SELECT id FROM denied WHERE crawl = ? LIMIT ?)",
    "DELETE FROM edge WHERE (crawl, parent, child) IN (SELECT crawl, parent, child FROM edge WHERE crawl = ? LIMIT ?)",
    "DELETE FROM cut WHERE (crawl, parent, key) IN (SELECT crawl, parent, key FROM cut WHERE crawl = ? LIMIT ?)",
    "DELETE FROM variant WHERE (crawl, key, url) IN (SELECT crawl, key, url FROM variant WHERE crawl = ? LIMIT ?)",
)


def clear_rows(tx: Tx, crawl: int, chunk: int) -> bool:
    """Delete up to `chunk` rows of each kind, all but the crawl's own; True when none is left."""
    jobs = tx.all(
        "DELETE FROM url WHERE id IN (SELECT id FROM url WHERE crawl = ? LIMIT ?) RETURNING id",
        (crawl, chunk),
    )
    tx.executemany("DELETE FROM ended WHERE job = ?", jobs)
    left = len(jobs) == chunk
    for statement in _CHUNKED:
        tx.execute(statement, (crawl, chunk))
        left = left or tx.connection.changes() == chunk
    return outbox.drop(tx, crawl, chunk) and not left


def deliver(tx: Tx, crawl: int, seq: int) -> None:
    """The caller of an ended crawl has read up to document `seq`: if that is all, nothing is kept for them."""
    tx.execute(
        "UPDATE erasure SET due_at = min(due_at, ?) WHERE crawl = (SELECT id FROM crawl WHERE id = ? AND status <> 0"
        " AND documents + superseded <= ?)",
        (tx.now + GRACE_US, crawl, seq),
    )


def due(tx: Tx, limit: int) -> list[int]:
    """Crawls whose time has come and of which nothing runs any more, or that were pruned before."""
    rows = tx.all(
        "SELECT e.crawl FROM erasure e LEFT JOIN crawl c ON c.id = e.crawl WHERE e.due_at <= ? AND (c.id IS NULL OR"
        " c.status <> 0 AND c.swept = 1) ORDER BY e.due_at LIMIT ?",
        (tx.now, limit),
    )
    return [row[0] for row in rows]


def blank(tx: Tx, crawl: int) -> bool:
    """Take everything but the counters out of the crawl's own row, if it is there yet; False where it still runs."""
    row = tx.one("SELECT terms FROM crawl WHERE id = ? AND status <> 0 AND swept = 1", (crawl,))
    if row is None:
        return tx.one("SELECT 1 FROM crawl WHERE id = ?", (crawl,)) is None
    kept = b""
    if row[0]:
        terms = msgspec.json.decode(row[0], type=Terms)
        kept = msgspec.json.encode(msgspec.structs.replace(terms, webhook=None, request={}))
    tx.execute(
        "UPDATE crawl SET url = '', options = CAST('{}' AS BLOB), note = x'', terms = ?,"
        " error = CASE WHEN error IS NULL THEN NULL ELSE '' END, erased_at = coalesce(erased_at, ?) WHERE id = ?",
        (kept, tx.now, crawl),
    )
    return True


def done(tx: Tx, crawl: int) -> None:
    tx.execute("DELETE FROM erasure WHERE crawl = ?", (crawl,))
