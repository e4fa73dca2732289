"""Queries on a real PostgreSQL server: read, and only read."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from perseid.errors import SourceFailed
from perseid.ports.source import Query
from perseid.source.tables import NamedTables
from perseid.testing.postgres import give_back, take_database, url_of


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    name = await take_database()
    connection = await asyncpg.connect(url_of(name))
    await connection.execute("CREATE SCHEMA IF NOT EXISTS shop")
    await connection.execute("CREATE TABLE shop.p(id bigserial PRIMARY KEY, slug text UNIQUE, at timestamptz)")
    await connection.execute("INSERT INTO shop.p(slug, at) SELECT 's' || n, now() FROM generate_series(1, 1200) n")
    try:
        yield url_of(name)
    finally:
        await connection.execute("DROP SCHEMA shop CASCADE")
        await connection.close()
        await give_back(name)


async def test_rows_are_read_by_key_or_by_number(shop: str) -> None:
    tables = NamedTables({"shop": shop})
    for key in ("id", "slug", None):
        after: int | str | None = None
        seen: list[str] = []
        while True:
            query = Query("shop", "SELECT id, slug FROM shop.p ORDER BY id -- all", key, after, len(seen), 501)
            found = await tables.rows(query)
            assert found.columns == ("id", "slug")
            seen += [row[1] for row in found.rows]
            if len(found.rows) < 501:
                break
            after = None if key is None else found.rows[-1][found.columns.index(key)]
        assert len(seen) == len(set(seen)) == 1_200
    with_clause = "WITH few AS (SELECT * FROM shop.p WHERE id < 3) SELECT slug, at FROM few ORDER BY id;"
    assert [row[0] for row in (await tables.rows(Query("shop", with_clause))).rows] == ["s1", "s2"]
    assert (await tables.rows(Query("shop", "SELECT slug FROM shop.p WHERE false"))).rows == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1) AS q; DELETE FROM shop.p; SELECT (1", "cannot insert multiple commands"),
        ("WITH gone AS (DELETE FROM shop.p RETURNING 1) SELECT * FROM gone", "refuses the query"),
        ("SELECT nextval('shop.p_id_seq')", "cannot execute nextval\\(\\) in a read-only transaction"),
        ("SELECT nothing FROM shop.p", 'column "nothing" does not exist'),
        ("SELECT 1/0", "division by zero"),
    ],
)
async def test_nothing_is_written_and_faults_are_told(shop: str, text: str, said: str) -> None:
    with pytest.raises(SourceFailed, match=said) as raised:
        await NamedTables({"shop": shop}).rows(Query("shop", text))
    assert not raised.value.retryable
    connection = await asyncpg.connect(shop)
    assert await connection.fetchval("SELECT count(*) FROM shop.p") == 1_200
    await connection.close()


async def test_a_slow_query_is_ended_by_the_server(shop: str) -> None:
    tables = NamedTables({"shop": shop}, patience_s=0.2)
    with pytest.raises(SourceFailed, match=r"took longer than 0\.2 s"):
        await tables.rows(Query("shop", "SELECT pg_sleep(30)"))


async def test_a_server_that_is_away_is_worth_another_try() -> None:
    away = NamedTables({"shop": "postgresql://nobody@127.0.0.1:9/x"})
    with pytest.raises(SourceFailed, match="can't be reached") as raised:
        await away.rows(Query("shop", "SELECT 1"))
    assert raised.value.retryable
    with pytest.raises(SourceFailed, match=r"is no database that can be queried .*: 's3'"):
        await NamedTables({"s": "s3://bucket"}).rows(Query("s", "SELECT 1"))
