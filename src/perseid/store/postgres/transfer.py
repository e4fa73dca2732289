"""A PostgreSQL database as one end of a copy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.ports.transfer import TABLES, Counters, Table
from perseid.ports.truth import Relocation
from perseid.store.postgres.connection import Address, Connection, address_of, errors_of, migrate
from perseid.store.schema import clean

_ROWS = 2_000
_HEAVY_ROWS = 50
_REFUSED = "this store was copied elsewhere and is the truth no longer"
_GUARDED = (*(table.name for table in TABLES), "worker", "lease")
_NO_TEXT = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)


class PgSide:
    """`Side` on one database, by one connection of its own."""

    def __init__(self, address: Address, connection: Connection) -> None:
        self._address = address
        self._connection = connection

    @classmethod
    async def open(cls, url: str) -> PgSide:
        """Connect, and create or update the schema. Raises `StoreUnavailable`, `StoreError`, `ConfigError`."""
        address = address_of(url)
        with errors_of(address):
            connection = await asyncpg.connect(
                address.dsn, timeout=15.0, statement_cache_size=0, server_settings={"application_name": "perseid copy"}
            )
            try:
                await migrate(connection, address)
            except BaseException:
                await connection.close()
                raise
        return cls(address, connection)

    @property
    def shown(self) -> str:
        return self._address.shown

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with errors_of(self._address):
            yield

    async def close(self) -> None:
        await self._connection.close()

    async def _all(self, statement: str, *bindings: object) -> list[Any]:
        with self._errors():
            found: list[Any] = await self._connection.fetch(statement, *bindings)
            return found

    async def columns(self, table: str) -> list[str]:
        rows = await self._all(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = '' ORDER BY attnum",
            table,
        )
        return [row[0] for row in rows]

    async def count(self, table: str) -> int:
        return int((await self._all(f"SELECT count(*) FROM {table}"))[0][0])  # noqa: S608 - a name of ours

    async def last(self, table: Table) -> int:
        (key,) = table.order
        return int((await self._all(f"SELECT coalesce(max({key}), 0) FROM {table.name}"))[0][0])  # noqa: S608 - names of ours

    async def rows(
        self, table: Table, columns: Sequence[str], *, after: int = 0
    ) -> AsyncIterator[list[tuple[Any, ...]]]:
        most = _HEAVY_ROWS if table.heavy else _ROWS
        where = f"WHERE {table.order[0]} > $1" if table.numbered else ""
        statement = (
            f"SELECT {', '.join(map(_quoted, columns))} FROM {table.name} {where}"  # noqa: S608 - names of ours
            f" ORDER BY {', '.join(map(_quoted, table.order))}"
        )
        with self._errors():
            async with self._connection.transaction(isolation="repeatable_read", readonly=True):
                cursor = await self._connection.cursor(statement, *((after,) if table.numbered else ()))
                while chunk := await cursor.fetch(most):
                    yield [tuple(row) for row in chunk]

    async def add(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        with self._errors():
            try:
                await self._connection.copy_records_to_table(table, records=rows, columns=list(columns))
            except _NO_TEXT:
                cleaned = [tuple(clean(value) if isinstance(value, str) else value for value in row) for row in rows]
                await self._connection.copy_records_to_table(table, records=cleaned, columns=list(columns))

    async def clear(self, table: str) -> None:
        await self._all(f"DELETE FROM {table}")  # noqa: S608 - a name of ours

    async def counters(self) -> Counters:
        ((next_job, turn, global_open),) = await self._all(
            "SELECT (SELECT last_value + is_called::int FROM job_number), (SELECT last_value FROM turn),"
            " (SELECT last_value FROM global_open)"
        )
        following = {}
        for table, sequence in await self._identities():
            ((number,),) = await self._all(f"SELECT last_value + is_called::int FROM {sequence}")  # noqa: S608 - from the catalogue
            following[table] = number
        return Counters(next_job=next_job, turn=turn, global_open=global_open, next_ids=following)

    async def set_counters(self, counters: Counters) -> None:
        with self._errors():
            async with self._connection.transaction():
                await self._connection.execute("SELECT setval('job_number', $1, false)", counters.next_job)
                await self._connection.execute("SELECT setval('turn', $1)", counters.turn)
                await self._connection.execute("SELECT setval('global_open', $1)", counters.global_open)
                await self._connection.execute(
                    "SELECT setval('item_change', greatest(last, 1), last > 0) FROM"
                    " (SELECT greatest(last_change_v1(), coalesce(max(change), 0)) AS last FROM item) n"
                )
                for table, sequence in await self._identities():
                    above = f"(SELECT coalesce(max(id), 0) + 1 FROM {table})"  # noqa: S608 - a name of ours
                    await self._connection.execute(
                        f"SELECT setval($1::text::regclass, greatest($2::bigint, {above}), false)",
                        sequence,
                        counters.next_ids.get(table, 1),
                    )

    async def _identities(self) -> list[tuple[str, str]]:
        """(table, sequence) of the tables that give out ids."""
        rows = await self._all(
            "SELECT c.relname, pg_get_serial_sequence(c.oid::regclass::text, 'id') FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'id' AND a.attidentity <> ''"
            " WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid) ORDER BY 1"
        )
        return [(row[0], row[1]) for row in rows]

    async def relocation(self) -> Relocation | None:
        rows = await self._all("SELECT arrived, other, at FROM relocation")
        return Relocation(bool(rows[0][0]), rows[0][1], rows[0][2]) if rows else None

    async def arrive(self, source: str) -> None:
        await self._mark(arrived=1, other=source)

    async def leave(self, target: str) -> None:
        with self._errors():
            async with self._connection.transaction():
                await self._mark(arrived=0, other=target)
                await self._connection.execute(
                    "CREATE OR REPLACE FUNCTION refuse_since_left() RETURNS trigger LANGUAGE plpgsql AS"
                    f" $$ BEGIN RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'read_only_sql_transaction'; END $$"
                )
                for table in _GUARDED:
                    await self._connection.execute(
                        f"CREATE TRIGGER left_this BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}"
                        " FOR EACH STATEMENT EXECUTE FUNCTION refuse_since_left()"
                    )

    async def stay(self) -> None:
        with self._errors():
            async with self._connection.transaction():
                await self._connection.execute("DELETE FROM relocation")
                for table in _GUARDED:
                    await self._connection.execute(f"DROP TRIGGER IF EXISTS left_this ON {table}")

    async def tidy(self) -> None:
        await self._all("ANALYZE")

    async def _mark(self, *, arrived: int, other: str) -> None:
        await self._all(
            "INSERT INTO relocation (id, arrived, other, at) VALUES (1, $1, $2, $3) ON CONFLICT (id)"
            " DO UPDATE SET arrived = excluded.arrived, other = excluded.other, at = excluded.at",
            arrived,
            other,
            time.time_ns() // 1_000,
        )


def _quoted(name: str) -> str:
    return f'"{name}"'
