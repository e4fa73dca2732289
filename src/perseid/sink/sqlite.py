"""Items as rows of a table in an SQLite file: `sqlite:///srv/items.db`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import apsw

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import fitting, naming
from perseid.sink.arranging import Arranger
from perseid.sink.fitting import Fit, Kind
from perseid.sink.isolating import Refused, write_isolated
from perseid.sink.naming import quoted
from perseid.sink.rows import OWN, UNFIT, Row, by_site, read, stamps
from perseid.sink.upserting import on_conflict

_MADE = {
    "site_id": "TEXT NOT NULL",
    "unique_key": "TEXT NOT NULL",
    "task_id": "INTEGER",
    "seed_id": "TEXT",
    "rule_version": "INTEGER NOT NULL",
    "fetched_at": "TEXT NOT NULL",
    "updated_at": "TEXT NOT NULL",
    UNFIT: "JSON_TEXT",
}
# JSON_TEXT: a type whose name holds JSON alone would turn texts of digits into numbers.
_TYPES = {
    Kind.TEXT: "TEXT",
    Kind.NUMBER: "NUMERIC",
    Kind.AMOUNT: "NUMERIC",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.JSON: "JSON_TEXT",
}


class _Column(NamedTuple):
    fit: Fit
    replaceable: bool


class SqliteSink:
    """`Sink` over one connection, used by one thread at a time."""

    def __init__(self, spec: SinkSpec, url: str, *, busy_s: float = 10.0) -> None:
        """`busy_s`: how long the lock of another program is waited for."""
        self._spec = spec
        self._busy_ms = int(busy_s * 1_000)
        self._path = path_of(url)
        self._connection: apsw.Connection | None = None
        self._one = threading.Lock()

    async def check(self) -> list[str]:
        return await asyncio.to_thread(self._check)

    async def write(self, batch: Batch) -> Reached:
        notes: list[str] = []
        for site, found in by_site(await read(self._spec, batch.items)):
            table = naming.table_of(self._spec.table, site)
            notes += await write_isolated(found, partial(self._in_thread, table), attempts=batch.attempts)
        return Reached(notes=tuple(notes))

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._one:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    async def _in_thread(self, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        return await asyncio.to_thread(self._write, table, some)

    def _write(self, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        with self._one:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    notes = self._upsert(connection, table, some)
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError) as error:
                raise Refused(str(error)) from error
            except (apsw.Error, OSError) as error:
                raise self._failure(error) from error
            return notes

    def _upsert(self, connection: apsw.Connection, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        there = _columns(connection, table)
        if not there:
            there = self._make(connection, table)
        arranger = Arranger(
            {name: column.fit for name, column in there.items()},
            lambda kind: _fit(_TYPES[kind]),
            create=self._spec.create,
            fold=str.lower,
        )
        arranged = arranger.arrange(some)
        for name, kind in arranged.missing.items():
            connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {quoted(name)} {_TYPES[kind]}")
        fields = [name for name in arranged.columns if name not in OWN]
        replaced = [name for name, column in there.items() if column.replaceable and name not in OWN]
        columns = [*OWN, *fields]
        statement = (
            f"INSERT INTO {quoted(table)} AS t ({', '.join(map(quoted, columns))})"  # noqa: S608 - quoted names
            f" VALUES ({', '.join('?' * len(columns))}) {on_conflict(self._spec.mode, columns, replaced)}"
        )
        connection.executemany(
            statement,
            (
                (*stamps(row).values(), *(cells.get(name) for name in fields))
                for row, cells in zip(some, arranged.cells, strict=True)
            ),
        )
        return arranged.notes

    def _make(self, connection: apsw.Connection, table: str) -> dict[str, _Column]:
        if not self._spec.create:
            raise SinkFailure(f"{self._path} has no table {table}: make it, or set `create` of the sink", lasting=True)
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in _MADE.items())
        connection.execute(f"CREATE TABLE {quoted(table)} ({columns}, PRIMARY KEY (site_id, unique_key)) WITHOUT ROWID")
        return _columns(connection, table)

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            new = not self._path.exists()
            flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if self._spec.create else 0)
            connection = apsw.Connection(str(self._path), flags=flags)
            connection.set_busy_timeout(self._busy_ms)
            if new:  # who reads a file of theirs has chosen their own journal
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._connection = connection
        return self._connection

    def _check(self) -> list[str]:
        with self._one:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    return self._look(connection)
                finally:
                    connection.execute("ROLLBACK")
            except (apsw.Error, OSError) as error:
                return [str(self._failure(error))]

    def _look(self, connection: apsw.Connection) -> list[str]:
        if not self._spec.table or "{site}" in self._spec.table:
            return []
        table = naming.table_of(self._spec.table, "")
        there = _columns(connection, table)
        if not there:
            return [] if self._spec.create else [f"there is no table {table} in {self._path}, and `create` is off"]
        names = {name.lower() for name in there}
        lacking = [name for name in OWN if name not in names]
        if lacking:
            return [f"the table {table} lacks the columns {', '.join(lacking)}"]
        wanted = [naming.column(name) for name in self._spec.fields] if not self._spec.create else []
        missing = [name for name in wanted if not {name.lower(), f"{name}_amount".lower()} & names]
        found = [f"the table {table} lacks the columns {', '.join(missing)}, and `create` is off"] if missing else []
        try:
            connection.execute(
                f"EXPLAIN INSERT INTO {quoted(table)} AS t ({', '.join(OWN)}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
                " ON CONFLICT (site_id, unique_key) DO NOTHING",
                (None,) * 7,
            ).fetchall()
        except apsw.SQLError as error:
            found.append(f"the table {table} needs a primary key or unique index of (site_id, unique_key): {error}")
        return found

    def _failure(self, error: Exception) -> SinkFailure:
        """What to do about it, for people."""
        self._forget()
        if isinstance(error, SinkFailure):
            return error
        for kinds, lasting, words in _TROUBLE:
            if isinstance(error, kinds):
                return SinkFailure(f"{self._path} {words.format(error=error)}", lasting=lasting)
        return SinkFailure(f"{self._path}: {error}; it is tried again")

    def _forget(self) -> None:
        """Begin anew with a fresh connection: the file may be another one by then."""
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None


_TROUBLE: tuple[tuple[tuple[type[Exception], ...], bool, str], ...] = (
    ((apsw.BusyError, apsw.LockedError), False, "is locked by another program: let it finish; it is tried again"),
    ((apsw.FullError,), False, "can't grow, its disk is full: make room; it is tried again"),
    ((apsw.NotADBError, apsw.CorruptError), True, "is no SQLite database, or a broken one: {error}"),
    (
        (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError),
        True,
        "can't be opened for writing: its folder must exist and be ours ({error})",
    ),
    ((apsw.SQLError,), True, "refuses the statement, see `perseid sinks check`: {error}"),
)
"""Which trouble lasts, and what to do about it."""


def path_of(url: str) -> Path:
    """`sqlite:///srv/items.db` is /srv/items.db."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc or not path.startswith("/") or path == "/":
        raise SinkFailure("an SQLite file is named by three slashes and its path: sqlite:///srv/items.db", lasting=True)
    return Path(path)


def _columns(connection: apsw.Connection, table: str) -> dict[str, _Column]:
    """Of a table; empty where there is none."""
    found: Iterable[tuple[str, str, str | None, int, int]] = connection.execute(
        "SELECT name, type, dflt_value, pk, hidden FROM pragma_table_xinfo(?)", (table,)
    )
    return {
        name: _Column(fitting.nothing if hidden else _fit(kind), default is None and not key and not hidden)
        for name, kind, default, key, hidden in found
    }


def _fit(declared: str) -> Fit:
    """By SQLite's own rules of affinity (https://www.sqlite.org/datatype3.html, 3.1)."""
    name = declared.upper()
    if name in {"BOOLEAN", "BOOL"}:
        return fitting.boolean
    if "JSON" in name:
        return fitting.json_text
    if "INT" in name:
        return fitting.whole(-(2**63), 2**63 - 1)
    if any(word in name for word in ("CHAR", "CLOB", "TEXT")) or not name or "BLOB" in name:
        return fitting.text
    return fitting.number
