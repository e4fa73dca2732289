"""The lines of sinks: one batch of each is out at a time, under a lock and a lease."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.ports.items import Batch
from perseid.store.reading.items import ITEM, item_of
from perseid.store.schema import clean
from perseid.store.sqlite.harvest import sink_of
from perseid.store.sqlite.tx import Tx

_FREE = (
    "SELECT k.id, k.team, k.name, k.position, k.settled, k.attempts FROM sink k WHERE k.busy_until <= ?"
    " AND k.held_until <= ? AND EXISTS (SELECT 1 FROM sink_line l WHERE l.sink = k.id)"
)
_LINE = (
    f"SELECT {ITEM} FROM (SELECT item, change FROM sink_line WHERE sink = ? ORDER BY change LIMIT ?) l"  # noqa: S608 - constants
    " JOIN item i ON i.id = l.item JOIN site s ON s.id = i.site ORDER BY l.change"
)
"""The line is cut first, and only what is taken is looked up."""


def take(tx: Tx, limit: int, lease_us: int, of: tuple[int, str] | None, worker: int) -> Batch | None:
    """Of the sinks that may be tried, the one that was taken longest ago."""
    one = "" if of is None else " AND k.team = ? AND k.name = ?"
    row = tx.one(
        f"{_FREE}{one} ORDER BY k.taken_at, k.id LIMIT 1",
        (tx.now, tx.now, *(() if of is None else (of[0], clean(of[1])))),
    )
    if row is None or limit <= 0:
        return None
    sink, team, name, position, settled, attempts = row
    lock = tx.random.getrandbits(62) | 1
    tx.execute(
        "UPDATE sink SET lock = ?, worker = ?, busy_until = ?, taken_at = ? WHERE id = ?",
        (lock, worker, tx.now + lease_us, tx.now, sink),
    )
    return Batch(
        sink=sink,
        team=team,
        name=name,
        lock=lock,
        position=position,
        number=settled,
        items=[item_of(item) for item in tx.all(_LINE, (sink, limit))],
        attempts=attempts,
    )


def free(tx: Tx, dead: Sequence[int]) -> None:
    """What these workers had taken is for others."""
    tx.executemany(
        "UPDATE sink SET lock = 0, worker = 0, busy_until = 0 WHERE worker = ? AND busy_until > 0",
        [(worker,) for worker in dead],
    )


def settle(tx: Tx, batch: Batch, position: bytes) -> bool:
    tx.execute(
        "UPDATE sink SET lock = 0, busy_until = 0, attempts = 0, error = '', held_until = 0, settled = settled + 1,"
        " position = ? WHERE id = ? AND lock = ?",
        (position, batch.sink, batch.lock),
    )
    if not tx.connection.changes():
        return False
    tx.executemany(
        "DELETE FROM sink_line WHERE sink = ? AND item = ? AND change <= ?",
        [(batch.sink, item.id, item.change) for item in batch.items],
    )
    return True


def put_back(tx: Tx, batch: Batch, in_us: int, error: str) -> bool:
    tx.execute(
        "UPDATE sink SET lock = 0, busy_until = 0, attempts = attempts + 1, error = ?, held_until = ?"
        " WHERE id = ? AND lock = ?",
        (clean(error), tx.now + max(0, in_us), batch.sink, batch.lock),
    )
    return tx.connection.changes() > 0


def hold_no_longer(tx: Tx, team: int, name: str) -> bool:
    tx.execute(
        "UPDATE sink SET held_until = 0, attempts = 0 WHERE team = ? AND name = ? AND held_until > ?",
        (team, clean(name), tx.now),
    )
    return tx.connection.changes() > 0


def line_up(tx: Tx, team: int, name: str, site: str | None, after: int, chunk: int) -> tuple[int, int]:
    """Up to `chunk` items with a change above `after` get in line: how many were looked at, and the last's change."""
    sink = sink_of(tx, team, name)
    where: str = "team = ?"
    values: tuple[object, ...] = (team,)
    if site is not None:
        where, values = "site = (SELECT id FROM site WHERE team = ? AND name = ?)", (team, clean(site))
    rows = tx.all(
        f"SELECT id, change FROM item WHERE {where} AND change > ? ORDER BY change LIMIT ?",  # noqa: S608 - one of two constants
        (*values, after, chunk),
    )
    tx.executemany(
        "INSERT INTO sink_line (sink, item, change) VALUES (?, ?, ?) ON CONFLICT (sink, item) DO NOTHING",
        [(sink, item, change) for item, change in rows],
    )
    return len(rows), rows[-1][1] if rows else after


def leave(tx: Tx, team: int, name: str, chunk: int) -> int:
    """Up to `chunk` items leave the line, and whoever has taken some holds nothing any more."""
    row = tx.one(
        "UPDATE sink SET lock = 0, busy_until = 0, held_until = 0, attempts = 0, error = '' WHERE team = ? AND name = ?"
        " RETURNING id",
        (team, clean(name)),
    )
    if row is None:
        return 0
    tx.execute(
        "DELETE FROM sink_line WHERE sink = ?1 AND item IN (SELECT item FROM sink_line WHERE sink = ?1 LIMIT ?2)",
        (row[0], chunk),
    )
    return tx.connection.changes()
