"""The SQLite store keeps every promise of the contract."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.store.backend import Truth
from perseid.testing.conformance.store.damage import DAMAGES
from perseid.testing.conformance.store.suite import store_suite
from perseid.testing.sqlite import put_empty

pytestmark = pytest.mark.slow


class SqliteBackend:
    """One database file in a folder of its own, in memory where the system offers that."""

    damages = DAMAGES

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.path = self.folder / "perseid.db"

    async def open(self, *, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
        put_empty(self.path)
        return await SqliteStore.open(self.path, defaults=defaults, clock=clock)

    async def execute(self, statement: str) -> None:
        connection = apsw.Connection(str(self.path))
        connection.execute(statement)
        assert connection.changes() > 0, "the statement damaged nothing"
        connection.close()

    async def rows_of(self, crawl: CrawlId) -> dict[str, int]:
        connection = apsw.Connection(str(self.path))
        found = {}
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            where = "id = ?" if table == "crawl" else "crawl = ?"
            if table == "lane":
                where = "queue IN (SELECT id FROM queue WHERE crawl = ?) OR queue NOT IN (SELECT id FROM queue)"
            if "crawl" in columns or table in {"crawl", "lane"}:
                (rows,) = connection.execute(f"SELECT count(*) FROM {table} WHERE {where}", (crawl,)).fetchone()
                found[table] = rows
        connection.close()
        return {table: rows for table, rows in found.items() if rows}

    async def holds(self, mark: bytes) -> bool:
        return any(mark in path.read_bytes() for path in self.folder.rglob("*") if path.is_file())

    async def dispose(self) -> None:
        shutil.rmtree(self.folder)


globals().update(store_suite(SqliteBackend))
