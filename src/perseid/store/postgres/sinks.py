"""The lines of sinks: one batch of each is out at a time, under a lock and a lease."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.ports.items import Batch
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.items import ITEM, item_of
from perseid.store.schema import clean

_LINE = (
    f"SELECT {ITEM} FROM line_of_sink_v1($1, $2) l"  # noqa: S608 - constants
    " CROSS JOIN LATERAL (SELECT * FROM item WHERE id = l.item OFFSET 0) i"
    " CROSS JOIN LATERAL (SELECT name FROM site WHERE id = i.site OFFSET 0) s ORDER BY l.change"
)
"""The line is cut first, and only what is taken is looked up: by its number, whatever the planner believes."""


async def take(tx: PgTx, limit: int, lease_us: int, of: tuple[int, str] | None, worker: int) -> Batch | None:
    """Of the sinks that may be tried, the one that was taken longest ago."""
    if limit <= 0:
        return None
    lock = tx.random.getrandbits(62) | 1
    only = (None, None) if of is None else (of[0], clean(of[1]))
    row = await tx.one("SELECT * FROM take_sink_v1($1, $2, $3, $4, $5, $6)", tx.now, lease_us, lock, worker, *only)
    if row is None:
        return None
    sink, team, name, position, settled, attempts = row
    return Batch(
        sink=sink,
        team=team,
        name=name,
        lock=lock,
        position=position,
        number=settled,
        items=[item_of(item) for item in await tx.all(_LINE, sink, limit)],
        attempts=attempts,
    )


async def free(tx: PgTx, dead: Sequence[int]) -> None:
    """What these workers had taken is for others."""
    await tx.execute(
        "UPDATE sink SET lock = 0, worker = 0, busy_until = 0 WHERE worker = ANY ($1::bigint[]) AND busy_until > 0",
        list(dead),
    )


async def settle(tx: PgTx, batch: Batch, position: bytes) -> bool:
    items = sorted((item.id, item.change) for item in batch.items)
    ours: bool = await tx.value(
        "SELECT settle_sink_v1($1, $2, $3, $4, $5)",
        batch.sink,
        batch.lock,
        position,
        [number for number, _change in items],
        [change for _number, change in items],
    )
    return ours


async def put_back(tx: PgTx, batch: Batch, in_us: int, error: str) -> bool:
    changed = await tx.execute(
        "UPDATE sink SET lock = 0, busy_until = 0, attempts = attempts + 1, error = $3, held_until = $4"
        " WHERE id = $1 AND lock = $2",
        batch.sink, batch.lock, clean(error), tx.now + max(0, in_us),
    )  # fmt: skip
    return changed > 0


async def hold_no_longer(tx: PgTx, team: int, name: str) -> bool:
    changed = await tx.execute(
        "UPDATE sink SET held_until = 0, attempts = 0 WHERE team = $1 AND name = $2 AND held_until > $3",
        team, clean(name), tx.now,
    )  # fmt: skip
    return changed > 0


async def line_up(tx: PgTx, team: int, name: str, site: str | None, after: int, chunk: int) -> tuple[int, int]:
    """Up to `chunk` items with a change above `after` get in line: how many were looked at, and the last's change."""
    name = clean(name)
    await tx.execute("INSERT INTO sink (team, name) VALUES ($1, $2) ON CONFLICT (team, name) DO NOTHING", team, name)
    where = "i.team = $1"
    if site is not None:
        where = "i.site = (SELECT s.id FROM site s WHERE s.team = $1 AND s.name = $5)"
    row = await tx.one(
        f"WITH found AS MATERIALIZED (SELECT i.id, i.change FROM item i WHERE {where} AND i.change > $3"  # noqa: S608 - one of two constants
        " ORDER BY i.change LIMIT $4), lined AS (INSERT INTO sink_line (sink, item, change)"
        " SELECT k.id, f.id, f.change FROM found f, sink k WHERE k.team = $1 AND k.name = $2 ORDER BY f.id"
        " ON CONFLICT (sink, item) DO NOTHING) SELECT count(*), max(change) FROM found",
        team, name, after, chunk, *(() if site is None else (clean(site),)),
    )  # fmt: skip
    assert row is not None
    return row[0], row[1] or after


async def leave(tx: PgTx, team: int, name: str, chunk: int) -> int:
    """Up to `chunk` items leave the line, and whoever has taken some holds nothing any more."""
    sink = await tx.value(
        "UPDATE sink SET lock = 0, busy_until = 0, held_until = 0, attempts = 0, error = ''"
        " WHERE team = $1 AND name = $2 RETURNING id",
        team,
        clean(name),
    )
    if sink is None:
        return 0
    return await tx.execute(
        "DELETE FROM sink_line WHERE sink = $1 AND item = ANY (ARRAY(SELECT item FROM sink_line WHERE sink = $1"
        " ORDER BY item LIMIT $2 FOR UPDATE))",
        sink,
        chunk,
    )
