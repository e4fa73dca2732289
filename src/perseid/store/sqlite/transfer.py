"""An SQLite file as one end of a copy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from perseid.ports.transfer import TABLES, Counters, Table
from perseid.ports.truth import Relocation
from perseid.store.sqlite.connection import Connection, connect, migrate, reading, transaction

T = TypeVar("T")
_ROWS = 2_000
_HEAVY_ROWS = 50
_REFUSED = "this store was copied elsewhere and is the truth no longer"
_GUARDED = (*(table.name for table in TABLES), "gate", "worker", "lease")


class SqliteSide:
    """`Side` on one file."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    async def open(cls, path: Path) -> SqliteSide:
        """Open or create. Raises `StoreUnavailable`, `StoreError`."""

        def opening() -> Connection:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = connect(path, cache_kib=65_536, busy_timeout_s=10.0)
            migrate(connection, path)
            connection.execute("PRAGMA synchronous=FULL")
            return connection

        return cls(path, await asyncio.to_thread(opening))

    @property
    def shown(self) -> str:
        return str(self._path.resolve())

    async def close(self) -> None:
        await asyncio.to_thread(self._connection.close)

    async def _read(self, query: Callable[[Connection], T]) -> T:
        return await asyncio.to_thread(reading, self._connection, self._path, query)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        def run() -> T:
            with transaction(self._connection, self._path):
                return work(self._connection)

        return await asyncio.to_thread(run)

    async def _all(self, statement: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await self._read(lambda connection: connection.execute(statement, tuple(bindings)).fetchall())

    async def columns(self, table: str) -> list[str]:
        return [row[1] for row in await self._all(f"PRAGMA table_info({table})")]

    async def count(self, table: str) -> int:
        return int((await self._all(f"SELECT count(*) FROM {table}"))[0][0])  # noqa: S608 - a name of ours

    async def last(self, table: Table) -> int:
        (key,) = table.order
        return int((await self._all(f"SELECT coalesce(max({key}), 0) FROM {table.name}"))[0][0])  # noqa: S608 - names of ours

    async def rows(
        self, table: Table, columns: Sequence[str], *, after: int = 0
    ) -> AsyncIterator[list[tuple[Any, ...]]]:
        most = _HEAVY_ROWS if table.heavy else _ROWS
        where = f"WHERE {table.order[0]} > ?" if table.numbered else ""
        statement = (
            f"SELECT {', '.join(map(_quoted, columns))} FROM {table.name} {where}"  # noqa: S608 - names of ours
            f" ORDER BY {', '.join(map(_quoted, table.order))}"
        )
        cursor = self._connection.execute(statement, (after,) if table.numbered else ())

        def some(_connection: Connection) -> list[tuple[Any, ...]]:
            found = []
            for row in cursor:
                found.append(row)
                if len(found) == most:
                    break
            return found

        while chunk := await self._read(some):
            yield chunk

    async def add(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(map(_quoted, columns))}) VALUES ({marks})"  # noqa: S608 - names of ours
        await self._write(lambda connection: connection.executemany(statement, rows))

    async def clear(self, table: str) -> None:
        await self._write(lambda connection: connection.execute(f"DELETE FROM {table}"))  # noqa: S608 - a name of ours

    async def counters(self) -> Counters:
        ((next_job, turn, global_open),) = await self._all("SELECT next_job, turn, global_open FROM gate")
        drawn = {name: last + 1 for name, last in await self._all("SELECT name, seq FROM sqlite_sequence")}
        return Counters(next_job=next_job, turn=turn, global_open=global_open, next_ids=drawn)

    async def set_counters(self, counters: Counters) -> None:
        def work(connection: Connection) -> None:
            connection.execute(
                "UPDATE gate SET next_job = ?, turn = ?, global_open = ?",
                (counters.next_job, counters.turn, counters.global_open),
            )
            connection.execute("UPDATE item_change SET last = max(last, (SELECT coalesce(max(change), 0) FROM item))")
            for table, following in counters.next_ids.items():
                if not _gives_ids(connection, table):
                    continue
                (last,) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone() or (0,)  # noqa: S608 - a name of ours
                connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                connection.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, max(last, following - 1))
                )

        await self._write(work)

    async def relocation(self) -> Relocation | None:
        rows = await self._all("SELECT arrived, other, at FROM relocation")
        return Relocation(bool(rows[0][0]), rows[0][1], rows[0][2]) if rows else None

    async def arrive(self, source: str) -> None:
        await self._write(lambda connection: _mark(connection, arrived=1, other=source))

    async def leave(self, target: str) -> None:
        def work(connection: Connection) -> None:
            _mark(connection, arrived=0, other=target)
            for name, operation, table in _triggers():
                connection.execute(
                    f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {operation} ON {table}"
                    f" BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
                )

        await self._write(work)

    async def stay(self) -> None:
        def work(connection: Connection) -> None:
            connection.execute("DELETE FROM relocation")
            for name, _operation, _table in _triggers():
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")

        await self._write(work)

    async def tidy(self) -> None:
        # Not every database keeps it: a claim that finds nothing takes it back.
        await self._write(lambda connection: connection.execute("UPDATE team SET ready = 1"))
        await self._read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())


def _mark(connection: Connection, *, arrived: int, other: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO relocation (id, arrived, other, at) VALUES (1, ?, ?, ?)",
        (arrived, other, time.time_ns() // 1_000),
    )


def _triggers() -> list[tuple[str, str, str]]:
    return [
        (f"left_{table}_{operation.lower()}", operation, table)
        for table in _GUARDED
        for operation in ("INSERT", "UPDATE", "DELETE")
    ]


def _gives_ids(connection: Connection, table: str) -> bool:
    row = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    return row is not None and "AUTOINCREMENT" in str(row[0])


def _quoted(name: str) -> str:
    return f'"{name}"'
