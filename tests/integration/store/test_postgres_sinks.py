"""What the next batch of a sink costs on PostgreSQL: pages looked at, on a database that has grown since it was planned."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from perseid.store.postgres.store import PgStore
from perseid.testing.postgres import url_of

WAITING = 30_000
GROW = (
    "INSERT INTO site (id, team, name) VALUES (1, 1, 'shop')",
    "INSERT INTO sink (id, team, name) SELECT g, 1, 's' || g FROM generate_series(1, 3) g",
    "INSERT INTO item (id, team, site, key, change, fetched_at, updated_at, rule_version, task, seed, url, fields)"
    f" SELECT g, 1, 1, g, g, 1, 1, 1, 1, '', '', '' FROM generate_series(1, {WAITING}) g",
    "INSERT INTO sink_line SELECT k.id, i.id, i.change FROM sink k, item i",
)
FIRST = [each.replace(str(WAITING), "1") for each in GROW[2:]]
TABLES = ("site", "sink", "item", "sink_line")
FEW_PAGES = 400
"""An item costs three or four in each of its indexes; a walk along a line would be some thousands."""


async def looked_at(connection: asyncpg.Connection, statement: str) -> int:
    """Pages of the database, those of statements within functions included."""
    ((told,),) = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) {statement}")
    plan: dict[str, Any] = json.loads(told)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.parametrize("known", [False, True], ids=["never looked at", "known to be small"])
async def test_the_next_batch_costs_the_same_with_many_items_waiting(unused: str, known: bool) -> None:
    store = await PgStore.open(url_of(unused), connections=1)
    connection = await asyncpg.connect(url_of(unused))
    try:
        for table in TABLES:
            await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        if known:
            for statement in (*GROW[:2], *FIRST, *(f"ANALYZE {table}" for table in TABLES)):
                await connection.execute(statement)
            for table in reversed(TABLES):
                await connection.execute(f"DELETE FROM {table}")
        items = store.items
        for _ in range(7):  # planned while there is nothing
            assert await items.take_batch(limit=10, lease_us=1) is None
        await connection.execute(GROW[0])
        await connection.execute(GROW[1])
        for statement in GROW[2:]:
            await connection.execute(statement)
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            await connection.execute(f"SET {setting} = off")
        taken = "SELECT * FROM take_sink_v1(5::bigint, 9::bigint, 7::bigint, 0::bigint, NULL::bigint, NULL::text)"
        await looked_at(connection, taken)  # a session reads a good deal of the catalogue first
        assert await looked_at(connection, taken) < FEW_PAGES
        batch = await items.take_batch(limit=10, lease_us=1_000_000)
        assert batch is not None
        assert [item.id for item in batch.items] == list(range(1, 11))
        prepared = "SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT i.id%line_of_sink%'"

        async def cost(tx: Any) -> int:
            """As the store's own session has planned it."""
            (statement,) = await tx.all(prepared)
            ((told,),) = await tx.all(f'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) EXECUTE "{statement[0]}" (3, 10)')
            plan = json.loads(told)[0]["Plan"]
            return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

        assert await store._write(cost) < FEW_PAGES // 4
        numbers = list(range(1, 11))
        await connection.execute("UPDATE sink SET lock = 7 WHERE id = 3")
        settled = "SELECT settle_sink_v1(3::bigint, {}::bigint, ''::bytea, ARRAY{}::bigint[], ARRAY{}::bigint[])"
        await looked_at(connection, settled.format(8, numbers, numbers))  # not its lock
        assert await looked_at(connection, settled.format(7, numbers, numbers)) < FEW_PAGES
    finally:
        await connection.close()
        await store.close()
