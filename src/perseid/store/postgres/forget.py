"""Forgetting crawls that are over: they vanish from sight at once, and their rows go in bounded rounds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perseid.model.terms import Terms
from perseid.store.postgres.outbox import hold
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import GOING, GRACE_US

CHUNK = 5_000
_CRAWLS_A_ROUND = 200
_MARKED_AT_ONCE = 1_000
_TABLES = ("document", "denied", "edge", "cut", "variant", "outbox", "delivery")

TOUCHED = ("crawl", "url", "ended", *_TABLES, "outbox_lane", "erasure", "blob")
"""Where rows of a crawl that is erased have been."""


async def mark(tx: PgTx, ended_before: int, only: int | None, *, patient: bool) -> bool:
    """Crawls that ended before, or whose own time to live is over, are seen by nobody any more; True for perhaps more.

    One that has something to sweep yet, be it a job that still runs, is left for later; and unless this is `patient`,
    so is one that somebody works on just now.
    """
    overdue = "ended_at IS NOT NULL AND ttl IS NOT NULL AND ended_at + ttl <= $1"
    values: list[int] = [tx.now]
    if only is not None:
        due = f"id = $2 AND (ended_at <= $3 OR {overdue})"
        values += [only, max(0, ended_before)]
    elif ended_before > 0:
        due = f"(ended_at <= $2 OR {overdue})"
        values.append(ended_before)
    else:
        due = overdue
    lock = f"ORDER BY id LIMIT {_MARKED_AT_ONCE} FOR NO KEY UPDATE"
    if not patient:
        lock = f"LIMIT {_MARKED_AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED"
    marked = await tx.execute(
        f"UPDATE crawl SET swept = {GOING} WHERE id = ANY (ARRAY(SELECT id FROM crawl WHERE {due} AND status <> 0"  # noqa: S608 - constants
        f" AND swept = 1 {lock}))",
        *values,
    )
    return marked == _MARKED_AT_ONCE


async def prune_round(tx: PgTx, only: int | None, *, patient: bool) -> tuple[list[int], bool]:
    """Delete up to `CHUNK` rows of each kind; the crawls that are gone altogether, and whether any is still going."""
    which = "AND id = $1" if only is not None else "AND $1::bigint IS NULL"
    wait = "" if patient else "SKIP LOCKED"
    # Found by the small index of those that are going; a walk along all crawls in their order is no way to them.
    found = f"SELECT id FROM crawl WHERE swept = {GOING} {which} LIMIT {_CRAWLS_A_ROUND}"  # noqa: S608 - constants
    # Whoever delivers holds a lane and shares its crawl then: it must not be shut out before its lane is ours.
    rows = await tx.all(
        f"SELECT id FROM crawl WHERE id = ANY (ARRAY({found})) AND swept = {GOING} ORDER BY id"  # noqa: S608 - constants
        f" FOR NO KEY UPDATE {wait}",
        only,
    )
    going = [row[0] for row in rows]
    if not going:
        return [], False
    if not await clear_rows(tx, going):
        return [], True
    for table in ("denied_count", "idempotency", "run_count", "run_time"):
        await tx.execute(f"DELETE FROM {table} WHERE crawl = ANY ($1::bigint[])", going)  # noqa: S608 - constants
    # Under zero retention the space is to be cleared yet: its row stays until that is done.
    await tx.execute("UPDATE erasure SET due_at = 0 WHERE crawl = ANY ($1::bigint[])", going)
    await tx.execute("DELETE FROM crawl WHERE id = ANY ($1::bigint[])", going)
    return going, len(going) == _CRAWLS_A_ROUND


async def clear_rows(tx: PgTx, crawls: Sequence[int], chunk: int = CHUNK) -> bool:
    """Delete up to `chunk` rows of each kind, all but the crawls' own; True when none is left."""
    crawls = sorted(crawls)
    await tx.all("SELECT id FROM crawl WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE", crawls)
    await hold(tx, crawls)
    jobs: int = await tx.value(
        "WITH gone AS (DELETE FROM url WHERE ctid = ANY (ARRAY(SELECT ctid FROM url WHERE crawl = ANY ($1::bigint[])"
        " LIMIT $2)) RETURNING id), ends AS (DELETE FROM ended USING gone WHERE ended.job = gone.id)"
        " SELECT count(*) FROM gone",
        crawls,
        chunk,
    )
    left = jobs == chunk
    for table in _TABLES:
        gone = await tx.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE crawl = ANY ($1::bigint[])"  # noqa: S608 - constants
            " LIMIT $2))",
            crawls,
            chunk,
        )
        left = left or gone == chunk
    await tx.execute("DELETE FROM outbox_lane WHERE crawl = ANY ($1::bigint[])", crawls)
    return not left


async def deliver(tx: PgTx, crawl: int, seq: int) -> None:
    """The caller of an ended crawl has read up to document `seq`: if that is all, nothing is kept for them."""
    await tx.execute(
        "UPDATE erasure SET due_at = least(due_at, $2) WHERE crawl = (SELECT id FROM crawl WHERE id = $1"
        " AND status <> 0 AND documents + superseded <= $3)",
        crawl,
        tx.now + GRACE_US,
        seq,
    )


async def blank(tx: PgTx, crawl: int) -> bool:
    """Take everything but the counters out of the crawl's own row, if it is there yet; False where it still runs."""
    row = await tx.one("SELECT terms, status <> 0 AND swept = 1 FROM crawl WHERE id = $1 FOR NO KEY UPDATE", crawl)
    if row is None:
        return True
    terms, over = row
    if not over:
        return False
    kept = b""
    if terms:
        known = msgspec.json.decode(terms, type=Terms)
        kept = msgspec.json.encode(msgspec.structs.replace(known, webhook=None, request={}))
    await tx.execute(
        "UPDATE crawl SET url = '', options = $2, note = '', terms = $3,"
        " error = CASE WHEN error IS NULL THEN NULL ELSE '' END, erased_at = coalesce(erased_at, $4) WHERE id = $1",
        crawl, b"{}", kept, tx.now,
    )  # fmt: skip
    return True
