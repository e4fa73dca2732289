"""The SQLite store keeps every promise of the contract."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import apsw
import pytest

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.store.backend import Truth
from perseid.testing.conformance.store.suite import store_suite

pytestmark = pytest.mark.slow


class SqliteBackend:
    """One database file in a folder of its own, in memory where the system offers that."""

    damages: ClassVar[dict[str, str]] = {
        "a lease is gone": "DELETE FROM lease WHERE job = (SELECT min(job) FROM lease)",
        "a host's slots": "UPDATE host SET active = active + 1 WHERE active > 0",
        "a host's slots lost": "UPDATE host SET active = 0",
        "a team's slots": "UPDATE team SET active = active + 1",
        "a queue's slots": "UPDATE queue SET active = active - 1 WHERE active > 0",
        "open jobs": "UPDATE crawl SET open = open + 1",
        "pages discovered": "UPDATE crawl SET discovered = discovered - 1",
        "pages done": "UPDATE crawl SET done = done + 1, discovered = discovered + 1",
        "documents": "UPDATE crawl SET documents = documents + 1",
        "a document is gone": "DELETE FROM document",
        "an end is gone": "DELETE FROM ended",
        "a URL is gone": "DELETE FROM url WHERE id = (SELECT max(id) FROM url)",
        "a lane is gone": "DELETE FROM lane WHERE id = (SELECT max(id) FROM lane)",
        "a lane skips a job": "UPDATE lane SET head = head + 1 WHERE head < tail",
        "ready lanes": "UPDATE queue SET ready = ready + 1",
        "a queue that nobody paused": "UPDATE queue SET closed = 2 WHERE closed = 0",
        "completed too early": "UPDATE crawl SET status = 1 WHERE open > 0",
        "the ledger's counter": "UPDATE crawl SET refused = refused + 1",
    }

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.path = self.folder / "perseid.db"

    async def open(self, *, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
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
