"""Items as rows of a table of a PostgreSQL server: `postgresql://user:password@host/database`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg  # type: ignore[import-untyped]  # ships no types
import msgspec

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import fitting, naming
from perseid.sink.arranging import Arranged, Arranger
from perseid.sink.fitting import Fit, Kind
from perseid.sink.isolating import Refused, write_isolated
from perseid.sink.naming import quoted
from perseid.sink.rows import OWN, UNFIT, Row, by_site, read, stamps, without_nul
from perseid.sink.upserting import on_conflict

_PATIENCE_S = 30.0
_MADE = {
    "site_id": "text",
    "unique_key": "text",
    "task_id": "bigint",
    "seed_id": "text",
    "rule_version": "integer NOT NULL",
    "fetched_at": "timestamptz NOT NULL",
    "updated_at": "timestamptz NOT NULL",
    UNFIT: "jsonb",
}
# numeric holds whatever a page may call a number.
_TYPES = {
    Kind.TEXT: "text",
    Kind.NUMBER: "numeric",
    Kind.AMOUNT: "numeric",
    Kind.BOOLEAN: "boolean",
    Kind.JSON: "jsonb",
}
_COLUMNS = """
SELECT a.attname AS name, t.typname AS type, a.atttypmod AS modifier,
  NOT (a.atthasdef OR a.attidentity <> '' OR a.attnotnull) AS replaceable, a.attgenerated <> '' AS generated
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_STALE = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.DatatypeMismatchError,
    asyncpg.InvalidCachedStatementError,
    # Two who make the same table or column at once.
    asyncpg.UniqueViolationError,
    asyncpg.DuplicateObjectError,
)


class _Column(NamedTuple):
    fit: Fit
    replaceable: bool


class PostgresSink:
    """`Sink` over one connection, made anew after each trouble."""

    def __init__(self, spec: SinkSpec, url: str) -> None:
        self._spec = spec
        self._url = url
        self._connection: asyncpg.Connection | None = None
        self._known: dict[str, dict[str, _Column]] = {}
        """Columns of each table as they were when last looked at."""
        self._one = asyncio.Lock()

    async def write(self, batch: Batch) -> Reached:
        notes: list[str] = []
        async with self._one:
            for site, found in by_site(await read(self._spec, batch.items)):
                notes += await write_isolated(found, partial(self._write, self._table(site)), attempts=batch.attempts)
        return Reached(notes=tuple(notes))

    async def close(self) -> None:
        await self._forget()

    def _table(self, site: str) -> str:
        """Quoted; `schema.table` where the sink says so."""
        schema, dot, table = self._spec.table.partition(".")
        if dot:
            return f"{quoted(naming.identifier(schema))}.{quoted(naming.table_of(table, site))}"
        return quoted(naming.table_of(self._spec.table, site))

    async def _write(self, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        """Once more with a fresh look at the table where that has changed."""
        try:
            try:
                return await self._upsert(await self._open(), table, some)
            except _STALE:
                self._known.pop(table, None)
                return await self._upsert(await self._open(), table, some)
        except (
            asyncpg.DataError,
            asyncpg.IntegrityConstraintViolationError,
            asyncpg.ProgramLimitExceededError,
        ) as error:
            raise Refused(_words(error)) from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            await self._forget()
            raise self._failure(error) from error
        except asyncio.CancelledError:  # given up in the middle of a statement
            await self._forget()
            raise

    async def _upsert(self, connection: asyncpg.Connection, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        there = self._known.get(table) or await self._look(connection, table)
        arranged = await asyncio.to_thread(self._arrange, there, some)
        for name, kind in arranged.missing.items():
            await connection.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {quoted(name)} {_TYPES[kind]}")
        if arranged.missing:
            # Another process may have made the same one of another type.
            self._known.pop(table)
            return await self._upsert(connection, table, some)
        columns = [*OWN, *(name for name in arranged.columns if name not in OWN)]
        replaced = [name for name, column in there.items() if column.replaceable and name not in OWN]
        names = ", ".join(map(quoted, columns))
        text = await asyncio.to_thread(_encode, some, arranged)
        await connection.execute(
            f"INSERT INTO {table} AS t ({names})"  # noqa: S608 - quoted names
            f" SELECT {names} FROM jsonb_populate_recordset(NULL::{table}, $1::text::jsonb)"
            f" {on_conflict(self._spec.mode, columns, replaced)}",
            text,
        )
        return arranged.notes

    def _arrange(self, there: Mapping[str, _Column], some: Sequence[Row]) -> Arranged:
        fits = {name: column.fit for name, column in there.items()}
        return Arranger(fits, lambda kind: _fit(_TYPES[kind], -1), create=self._spec.create).arrange(some)

    async def _look(self, connection: asyncpg.Connection, table: str) -> dict[str, _Column]:
        found = await connection.fetch(_COLUMNS, table)
        if not found:
            if not self._spec.create:
                raise SinkFailure(
                    f"{self._where} has no table {table}: make it, or set `create` of the sink", lasting=True
                )
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in _MADE.items())
            await connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table} ({columns}, PRIMARY KEY (site_id, unique_key))"
            )
            found = await connection.fetch(_COLUMNS, table)
        self._known[table] = {
            row["name"]: _Column(
                fitting.nothing if row["generated"] else _fit(row["type"], row["modifier"]), row["replaceable"]
            )
            for row in found
        }
        return self._known[table]

    async def check(self) -> list[str]:
        async with self._one:
            try:
                return await self._inspect(await self._open())
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
                await self._forget()
                return [str(self._failure(error))]
            except SinkFailure as error:
                return [str(error)]

    async def _inspect(self, connection: asyncpg.Connection) -> list[str]:
        table = self._table("")
        schema = self._spec.table.partition(".")[0] if "." in self._spec.table else None
        named = self._spec.table and "{site}" not in self._spec.table
        there = {row["name"] for row in await connection.fetch(_COLUMNS, table)} if named else set()
        if not there:
            if named and not self._spec.create:
                return [f"there is no table {table} in {self._where}, and `create` is off"]
            may = await connection.fetchval(
                "SELECT has_schema_privilege(coalesce($1, current_schema()), 'CREATE')", schema
            )
            return [] if may or not self._spec.create else [f"{self._where}: the role may make no tables there"]
        found = []
        lacking = [name for name in OWN if name not in there]
        if lacking:
            found.append(f"the table {table} lacks the columns {', '.join(lacking)}")
        wanted = [naming.column(name) for name in self._spec.fields] if not self._spec.create else []
        missing = [name for name in wanted if not {name, f"{name}_amount"} & there]
        if missing:
            found.append(f"the table {table} lacks the columns {', '.join(missing)}, and `create` is off")
        found += [
            f"the role may not {right} the table {table}: GRANT {right} ON {table} TO its name"
            for right in ("SELECT", "INSERT", "UPDATE")
            if not await connection.fetchval("SELECT has_table_privilege($1::text, $2)", table, right)
        ]
        unique = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique"
            " AND i.indpred IS NULL AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute a"
            " WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)) = ARRAY['site_id', 'unique_key'])",
            table,
        )
        if not unique:
            found.append(f"the table {table} needs a primary key or unique index of (site_id, unique_key)")
        return found

    async def _open(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._known.clear()
            try:
                self._connection = await asyncpg.connect(
                    self._url, timeout=_PATIENCE_S, command_timeout=_PATIENCE_S * 1.5,
                    # Poolers give each transaction another session.
                    statement_cache_size=0, server_settings={"application_name": "perseid sink"},
                )  # fmt: skip
            except ValueError as error:  # of an address that is none
                raise SinkFailure(
                    f"the connection's address can't be read: {type(error).__name__}", lasting=True
                ) from None
        return self._connection

    async def _forget(self) -> None:
        connection, self._connection = self._connection, None
        self._known.clear()
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.terminate()

    @property
    def _where(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.hostname or 'the server'}{parts.path}"

    def _failure(self, error: Exception) -> SinkFailure:
        """What to do about it, for people."""
        for kind, lasting, words in _TROUBLE:
            if isinstance(error, kind):
                return SinkFailure(f"{self._where} {words.format(error=_words(error))}", lasting=lasting)
        return SinkFailure(f"{self._where} can't be reached ({type(error).__name__}); it is tried again")


_TROUBLE: tuple[tuple[type[Exception], bool, str], ...] = (
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        True,
        "refuses the user or its password: mend the connection in the settings",
    ),
    (asyncpg.InvalidCatalogNameError, True, "has no such database: create it, or mend the connection in the settings"),
    (asyncpg.InsufficientPrivilegeError, True, "says: {error}; grant the role what it needs"),
    (asyncpg.InvalidSchemaNameError, True, "says: {error}; create it, or change `table` of the sink"),
    (asyncpg.DiskFullError, False, "has no room on its disk; it is tried again"),
    (asyncpg.SyntaxOrAccessError, True, "says: {error}; see `perseid sinks check`"),
    (asyncpg.PostgresError, False, "says: {error}; it is tried again"),
    (TimeoutError, False, "does not answer; it is tried again"),
)
"""Which trouble lasts, and what to do about it; the first that applies."""


def _encode(some: Sequence[Row], arranged: Arranged) -> str:
    """JSON of the rows, without NUL: PostgreSQL's texts hold none."""
    text = msgspec.json.encode([{**stamps(row), **cells} for row, cells in zip(some, arranged.cells, strict=True)])
    if b"\\u0000" in text:
        text = msgspec.json.encode(without_nul(msgspec.json.decode(text)))
    return text.decode()


def _words(error: Exception) -> str:
    """The server's sentence, without the row that it may quote."""
    return str(getattr(error, "message", None) or type(error).__name__)[:300]


_FITS: Mapping[str, Fit] = {
    "text": fitting.text,
    "varchar": fitting.text,
    "bpchar": fitting.text,
    "citext": fitting.text,
    "bool": fitting.boolean,
    "boolean": fitting.boolean,
    "int2": fitting.whole(-(2**15), 2**15 - 1),
    "int4": fitting.whole(-(2**31), 2**31 - 1),
    "int8": fitting.whole(-(2**63), 2**63 - 1),
    "float4": fitting.floating,
    "float8": fitting.floating,
    "date": fitting.day,
    "timestamp": fitting.moment,
    "timestamptz": fitting.moment,
    "json": fitting.itself,
    "jsonb": fitting.itself,
}


def _fit(name: str, modifier: int) -> Fit:
    """Types that stand here are judged before the server is asked; of others it decides itself."""
    if name in {"varchar", "bpchar"} and modifier > 4:
        return fitting.at_most(modifier - 4)
    if name == "numeric":
        if modifier < 4:
            return _numeric
        return fitting.decimal((modifier - 4) >> 16, (modifier - 4) & 0x7FF)
    return _FITS.get(name, fitting.itself)


def _numeric(value: Any) -> str:
    return f"{fitting.exact(value):f}"
