"""What the next batch of a sink costs: the same however many items wait, be it there or for others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from perseid.store.sqlite.store import SqliteStore
from perseid.store.sqlite.tx import Tx
from perseid.testing.conformance.store.desk import FREE

SINKS = 20
GROW = (
    "INSERT INTO site (id, team, name) VALUES (1, 1, 'shop')",
    "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < {})"
    " INSERT INTO item (id, team, site, key, change, fetched_at, updated_at, rule_version, task, seed, url, fields)"
    " SELECT id, 1, 1, id, id, 1, 1, 1, 1, '', '', x'' FROM n",
    f"INSERT INTO sink (id, team, name, held_until) SELECT id, 1, 's' || id, CASE WHEN id < {SINKS} THEN 1 << 62 ELSE 0 END"
    f" FROM item WHERE id <= {SINKS}",
    "INSERT INTO sink_line SELECT k.id, i.id, i.change FROM sink k, item i",
)


async def effort(store: SqliteStore, call: Callable[[], Awaitable[Any]]) -> tuple[int, Any]:
    """In hundreds of SQLite's own instructions."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    connections = (store._writer, store._file._reader)
    for connection in connections:
        connection.set_progress_handler(step, 100)
    found = await call()
    for connection in connections:
        connection.set_progress_handler(None)
    return steps, found


async def efforts(path: Path, waiting: int) -> list[int]:
    """Of looking when the next is due, taking ten items, and settling them."""
    store = await SqliteStore.open(path, defaults=FREE)

    def grow(tx: Tx) -> None:
        for statement in GROW:
            tx.execute(statement.format(waiting))

    await store._write(grow)
    items = store.items
    looking, due = await effort(store, items.next_batch_us)
    taking, batch = await effort(store, lambda: items.take_batch(limit=10, lease_us=1_000_000))
    settling, ours = await effort(store, lambda: items.settle_batch(batch, position=b""))
    await store.close()
    assert (due, batch.name, len(batch.items), ours) == (0, f"s{SINKS}", 10, True)
    return [looking, taking, settling]


async def test_the_next_batch_costs_the_same_with_many_items_waiting(tmp_path: Path) -> None:
    few, many = [await efforts(tmp_path / f"{waiting}.db", waiting) for waiting in (100, 5_000)]
    assert sum(few) > 0
    assert all(more <= 2 * less + 5 for less, more in zip(few, many, strict=True)), (few, many)
