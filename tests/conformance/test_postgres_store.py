"""The PostgreSQL store keeps every promise of the contract; behind a pooler too, with `PERSEID_TEST_POOLED=1`."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from functools import cache

import asyncpg
import pytest
from hypothesis import settings

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Truth
from perseid.store.postgres.store import PgStore
from perseid.testing.cluster import PgBouncer
from perseid.testing.conformance.store.damage import DAMAGES
from perseid.testing.conformance.store.suite import store_suite
from perseid.testing.postgres import give_back, take_database, url_of

pytestmark = pytest.mark.slow


@cache
def pooler() -> PgBouncer:
    made = PgBouncer(url_of("postgres"), connections=4)
    atexit.register(made.dispose)
    return made


class PostgresBackend:
    """One database on the real server, emptied after the test."""

    damages = DAMAGES

    def __init__(self) -> None:
        self.name: str | None = None

    async def open(self, *, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
        if self.name is None:
            self.name = await take_database()
        url = url_of(self.name)
        if os.environ.get("PERSEID_TEST_POOLED"):
            url = pooler().through(url)
        return await PgStore.open(url, defaults=defaults, clock=clock, connections=2)

    async def _connect(self) -> asyncpg.Connection:
        assert self.name is not None
        return await asyncpg.connect(url_of(self.name))

    async def execute(self, statement: str) -> None:
        connection = await self._connect()
        done = await connection.execute(statement)
        await connection.close()
        assert int(done.rpartition(" ")[2]) > 0, "the statement damaged nothing"

    async def rows_of(self, crawl: CrawlId) -> dict[str, int]:
        connection = await self._connect()
        found = {}
        for (table,) in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
            columns = {
                name
                for (name,) in await connection.fetch(
                    "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0", table
                )
            }
            where = "id = $1" if table == "crawl" else "crawl = $1"
            if table == "lane":
                where = "queue IN (SELECT id FROM queue WHERE crawl = $1) OR queue NOT IN (SELECT id FROM queue)"
            if "crawl" in columns or table in {"crawl", "lane"}:
                found[table] = await connection.fetchval(f"SELECT count(*) FROM {table} WHERE {where}", crawl)
        await connection.close()
        return {table: rows for table, rows in found.items() if rows}

    async def holds(self, mark: bytes) -> bool:
        """In any row of any table, whole tables as the server prints them."""
        connection = await self._connect()
        text = mark.decode()
        try:
            for (table,) in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                if await connection.fetchval(
                    f"SELECT EXISTS (SELECT 1 FROM {table} t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0)",
                    text,
                    mark.hex(),
                ):
                    return True
        finally:
            await connection.close()
        return False

    async def dispose(self) -> None:
        if self.name is not None:
            await give_back(self.name)


globals().update(store_suite(PostgresBackend))
# Each look at the whole store is some hundred round trips: fewer runs than the profile's, which SQLite has all of.
MACHINE = globals()["TestAnySequence"]
MACHINE.settings = settings(MACHINE.settings, max_examples=min(12, MACHINE.settings.max_examples))
del MACHINE
