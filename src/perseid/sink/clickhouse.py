"""Items as rows of a ClickHouse table, by its HTTP interface: `clickhouse://user:password@host:8123/database`.

The table is a ReplacingMergeTree: each version of an item is a row until ClickHouse merges them, so it is read with
FINAL. `clickhouses://` is the same under TLS, on port 8443.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import aiohttp
import msgspec

from perseid.ports.items import Batch
from perseid.ports.sink import Reached, SinkFailure, SinkSpec
from perseid.sink import fitting, naming
from perseid.sink.arranging import Arranged, Arranger
from perseid.sink.fitting import Fit, Kind
from perseid.sink.isolating import Refused, write_isolated
from perseid.sink.rows import OWN, UNFIT, Row, by_site, read, stamps

OLDEST = (22, 3)
"""The first long-term release with Bool."""
_PATIENCE_S = 30.0
_VERSIONS = 4_096
_ENGINE = "ENGINE = ReplacingMergeTree(_version) ORDER BY (site_id, unique_key)"
# Of equal fetches the later version of the rule counts; 64 bits have room for both.
_MADE = {
    "site_id": "String",
    "unique_key": "String",
    "task_id": "Int64",
    "seed_id": "String",
    "rule_version": "UInt32",
    "fetched_at": "DateTime64(6, 'UTC')",
    "updated_at": "DateTime64(6, 'UTC')",
    UNFIT: "Nullable(String)",
    "_version": "UInt64 MATERIALIZED toUInt64(toUnixTimestamp64Micro(fetched_at))"
    f" * {_VERSIONS} + least(rule_version, {_VERSIONS - 1})",
}
_TYPES = {
    Kind.TEXT: "Nullable(String)",
    Kind.NUMBER: "Nullable(Float64)",
    Kind.AMOUNT: "Nullable(Decimal(38, 9))",
    Kind.BOOLEAN: "Nullable(Bool)",
    Kind.JSON: "Nullable(String)",
}
_SETTINGS = {
    "wait_end_of_query": "1",
    "async_insert": "0",
    "date_time_input_format": "best_effort",
    "input_format_null_as_default": "1",
}
# https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
_SAID = re.compile(r"Code: (\d+)\D[^:]*DB::Exception: ([^:]*)")
_OF_CONTENT = frozenset({6, 26, 27, 33, 38, 41, 43, 53, 69, 70, 72, 117, 130, 131, 321, 349, 407, 469, 675, 676, 691})
_STALE = frozenset({10, 16, 47, 60})
_LASTING = {
    81: "has no such database: create it, or mend the connection in the settings",
    192: "does not know the user: mend the connection in the settings",
    193: "refuses the password: mend the connection in the settings",
    194: "wants a password: mend the connection in the settings",
    497: "does not let the user do that: grant it what it needs",
    516: "refuses the user or its password: mend the connection in the settings",
}


class _Fault(Exception):
    """The server's own word."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class _Column(NamedTuple):
    fit: Fit
    ours: bool
    """False for those that the server fills itself."""


class ClickHouseSink:
    """`Sink` over pooled connections."""

    def __init__(self, spec: SinkSpec, url: str) -> None:
        parts = urlsplit(url)
        if not parts.hostname:
            raise SinkFailure("a ClickHouse is named by clickhouse://user:password@host:8123/database", lasting=True)
        secure = parts.scheme == "clickhouses"
        self._spec = spec
        self._database = unquote(parts.path.strip("/")) or "default"
        self._url = f"http{'s' if secure else ''}://{parts.hostname}:{parts.port or (8443 if secure else 8123)}/"
        self._where = f"{parts.hostname}/{self._database}"
        self._headers = {"X-ClickHouse-User": unquote(parts.username or "default")}
        if parts.password:
            self._headers["X-ClickHouse-Key"] = unquote(parts.password)
        self._session: aiohttp.ClientSession | None = None
        self._known: dict[str, dict[str, _Column]] = {}

    async def write(self, batch: Batch) -> Reached:
        notes: list[str] = []
        for site, found in by_site(await read(self._spec, batch.items)):
            table = naming.table_of(self._spec.table, site)
            notes += await write_isolated(found, partial(self._write, table), attempts=batch.attempts)
        return Reached(notes=tuple(notes))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _write(self, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        try:
            try:
                return await self._insert(table, some)
            except _Fault as fault:
                if fault.code not in _STALE:
                    raise
                self._known.pop(table, None)
                return await self._insert(table, some)
        except _Fault as fault:
            if fault.code in _OF_CONTENT:
                raise Refused(str(fault)) from fault
            raise self._failure(fault) from fault

    async def _insert(self, table: str, some: Sequence[Row]) -> tuple[str, ...]:
        there = self._known.get(table) or await self._look(table)
        arranged = await asyncio.to_thread(self._arrange, there, some)
        if arranged.missing:
            added = ", ".join(
                f"ADD COLUMN IF NOT EXISTS {_quoted(name)} {_TYPES[kind]}" for name, kind in arranged.missing.items()
            )
            await self._ask(f"ALTER TABLE {_quoted(table)} {added}")
            await self._look(table)
            return await self._insert(table, some)
        columns = [*OWN, *(name for name in arranged.columns if name not in OWN)]
        lines = await asyncio.to_thread(_encode, some, arranged)
        names = ", ".join(map(_quoted, columns))
        await self._ask(f"INSERT INTO {_quoted(table)} ({names}) FORMAT JSONEachRow\n", lines)
        return arranged.notes

    def _arrange(self, there: Mapping[str, _Column], some: Sequence[Row]) -> Arranged:
        fits = {name: column.fit if column.ours else fitting.nothing for name, column in there.items()}
        return Arranger(fits, lambda kind: _fit(_TYPES[kind]), create=self._spec.create).arrange(some)

    async def _look(self, table: str) -> dict[str, _Column]:
        there = await self._columns(table)
        if not there:
            if not self._spec.create:
                raise SinkFailure(
                    f"{self._where} has no table {table}: make it, or set `create` of the sink", lasting=True
                )
            columns = ", ".join(f"{name} {kind}" for name, kind in _MADE.items())
            await self._ask(f"CREATE TABLE IF NOT EXISTS {_quoted(table)} ({columns}) {_ENGINE}")
            there = await self._columns(table)
        self._known[table] = there
        return there

    async def _columns(self, table: str) -> dict[str, _Column]:
        found = await self._ask(
            "SELECT name, type, default_kind FROM system.columns WHERE database = currentDatabase()"  # noqa: S608 - quoted
            f" AND table = {_text(table)} FORMAT JSONEachRow"
        )
        columns = [msgspec.json.decode(line) for line in found.splitlines()]
        return {
            column["name"]: _Column(_fit(column["type"]), column["default_kind"] not in {"MATERIALIZED", "ALIAS"})
            for column in columns
        }

    async def check(self) -> list[str]:
        try:
            return await self._inspect()
        except _Fault as fault:
            return [str(self._failure(fault))]
        except SinkFailure as error:
            return [str(error)]

    async def _inspect(self) -> list[str]:
        version = (await self._ask("SELECT version()")).strip()
        if tuple(map(int, version.split(".")[:2])) < OLDEST:
            return [f"{self._where} is ClickHouse {version}; {'.'.join(map(str, OLDEST))} is the oldest that will do"]
        if not self._spec.table or "{site}" in self._spec.table:
            return []
        table = naming.table_of(self._spec.table, "")
        there = await self._columns(table)
        if not there:
            return [] if self._spec.create else [f"there is no table {table}, and `create` is off"]
        lacking = [name for name in OWN if name not in there]
        wrong = [f"the table {table} lacks the columns {', '.join(lacking)}"] if lacking else []
        engine = await self._ask(
            f"SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = {_text(table)}"  # noqa: S608
        )
        if "Replacing" not in engine:
            wrong.append(f"the table {table} is a {engine.strip()}: it will keep all versions of an item")
        return wrong

    async def _ask(self, query: str, data: bytes = b"") -> str:
        """Raises `_Fault`, and `SinkFailure` where there was no answer."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=_PATIENCE_S, sock_connect=5), headers=self._headers
            )
        parameters = {"database": self._database, **(_SETTINGS if data else {})}
        try:
            async with self._session.post(self._url, params=parameters, data=query.encode() + data) as answer:
                words = await answer.text(errors="replace")
                if answer.status == 200:
                    return words
        except TimeoutError:
            raise SinkFailure(f"{self._where} does not answer; it is tried again") from None
        except (aiohttp.ClientError, OSError) as error:
            raise SinkFailure(f"{self._where} can't be reached ({type(error).__name__}); it is tried again") from error
        # One error may be told within another: the innermost is what happened.
        said = _SAID.findall(words)
        raise _Fault(int(said[-1][0]), said[-1][1][:200]) if said else _Fault(0, f"HTTP status {answer.status}")

    def _failure(self, fault: _Fault) -> SinkFailure:
        if fault.code in _LASTING:
            return SinkFailure(f"{self._where} {_LASTING[fault.code]}", lasting=True)
        if fault.code == 243:
            return SinkFailure(f"{self._where} has no room on its disk; it is tried again")
        return SinkFailure(f"{self._where} says: {fault}; it is tried again", lasting=fault.code in _STALE)


def _encode(some: Sequence[Row], arranged: Arranged) -> bytes:
    return b"\n".join(
        msgspec.json.encode({**stamps(row), **cells}) for row, cells in zip(some, arranged.cells, strict=True)
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fit(declared: str) -> Fit:
    """By the type's name (https://clickhouse.com/docs/sql-reference/data-types)."""
    bare = re.sub(r"^(?:Nullable|LowCardinality)\((.*)\)$", r"\1", declared)
    bare = re.sub(r"^Nullable\((.*)\)$", r"\1", bare)
    for begins, fit in _FITS.items():
        if bare.startswith(begins):
            return fit
    if sized := re.fullmatch(r"(U?)Int(\d+)", bare):
        bits = int(sized[2])
        return fitting.whole(0, 2**bits - 1) if sized[1] else fitting.whole(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    exact = re.fullmatch(r"Decimal\((\d+), (\d+)\)", bare)
    return fitting.decimal(int(exact[1]), int(exact[2])) if exact else fitting.itself


_FITS = {
    "String": fitting.text,
    "Bool": fitting.boolean,
    "Float": fitting.floating,
    "DateTime": fitting.moment,
    "Date": fitting.day,
}
"""By how the type's name begins, the longer ones first."""
