"""Tables of a PostgreSQL server keep every promise of the contract, and trouble with them says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.postgres import PostgresSink
from perseid.testing import postgres
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, batch, item, sink_suite
from perseid.testing.link import Link


class InPostgres:
    def __init__(self, name: str) -> None:
        parts = urlsplit(postgres.url_of(name))
        self.name = name
        self.link = Link(parts.hostname or "", parts.port or 5432)
        self.parts = parts

    @property
    def url(self) -> str:
        user = self.parts.netloc.rpartition("@")[0]
        return urlunsplit(self.parts._replace(netloc=f"{user}@127.0.0.1:{self.link.port}"))

    def sink(self, spec: SinkSpec) -> Sink:
        return PostgresSink(spec, self.url)

    async def execute(self, statement: str) -> list[Any]:
        connection = await asyncpg.connect(postgres.url_of(self.name))
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()

    async def read(self, table: str) -> list[dict[str, Any]]:
        return [
            {name: _text(value) for name, value in row.items()}
            for row in await self.execute(f'SELECT * FROM "{table}"')
        ]

    async def cut(self) -> None:
        await self.link.cut()

    async def mend(self) -> None:
        await self.link.mend()


def _text(value: Any) -> Any:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


@asynccontextmanager
async def on_server() -> AsyncIterator[InPostgres]:
    name = await postgres.take_database()
    target = InPostgres(name)
    await target.execute("DROP SCHEMA public CASCADE")
    await target.execute("CREATE SCHEMA public")
    try:
        async with target.link:
            yield target
    finally:
        await target.execute("DROP SCHEMA public CASCADE")
        await target.execute("CREATE SCHEMA public")
        await postgres.give_back(name)


globals().update(sink_suite(on_server, Traits(merges=True, typed=True, outage=True)))


def there(subject: Subject) -> InPostgres:
    assert isinstance(subject.target, InPostgres)
    return subject.target


async def test_a_table_of_somebody_else_is_used_as_it_is(subject: Subject) -> None:
    await there(subject).execute(
        "CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, site_id text, unique_key text,"
        " task_id bigint, seed_id text, rule_version int, fetched_at timestamptz, updated_at timestamptz,"
        " title varchar(5), stock smallint, published timestamptz, day date, price numeric(6, 2), tags text[],"
        " address inet, seen boolean DEFAULT false, twice int GENERATED ALWAYS AS (stock * 2) STORED, unfit json,"
        " UNIQUE (unique_key, site_id))"
    )
    line = Line(subject.sink(create=False))
    assert await line.sink.check() == []
    whole = {
        "title": "five!",
        "stock": 3,
        "published": "2026-03-01T10:00:00+02:00",
        "day": "2026-03-01",
        "price": 12.5,
        "tags": ["a", "b"],
        "address": "192.0.2.1",
    }
    odd = {
        "title": "six...",
        "stock": 70_000,
        "published": "tomorrow",
        "day": 3,
        "price": 12_345.678,
        "tags": ["a"],
        "twice": 4,
    }
    await line.settle(item("k1", whole), item("k2", odd), item("k3", {**whole, "address": "nowhere"}))
    await there(subject).execute("UPDATE items SET seen = true")
    await line.settle(item("k1", {**whole, "stock": 4}))
    rows = {row["unique_key"]: row for row in await subject.target.read(TABLE)}
    assert (rows["k1"]["stock"], rows["k1"]["twice"], rows["k1"]["seen"]) == (4, 8, True)
    assert rows["k1"]["published"] == "2026-03-01T08:00:00.000000Z"
    assert (str(rows["k1"]["address"]), rows["k1"]["tags"]) == ("192.0.2.1", ["a", "b"])
    assert rows["k2"]["tags"] == ["a"]
    assert rows["k2"]["unfit"] is not None
    assert [rows["k2"][name] for name in ("title", "stock", "published", "day", "price", "twice")] == [None] * 6
    # The server alone knows what an inet is: the item is found by halves.
    assert (rows["k3"]["title"], '"nowhere"' in rows["k3"]["unfit"]) == (None, True)


async def test_what_changes_at_the_table_meanwhile_is_noticed(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    await there(subject).execute("ALTER TABLE items DROP COLUMN stock, ALTER COLUMN weight TYPE text")
    await line.settle(item("k2", FULL))
    await there(subject).execute("DROP TABLE items")
    await line.settle(item("k3", FULL))
    assert [row["unique_key"] for row in await subject.target.read(TABLE)] == ["k3"]


async def test_a_batch_that_was_given_up_is_written_later(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    there(subject).link.mute()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await line.settle(item("k2", FULL))
    await subject.target.mend()
    await line.settle(item("k2", FULL))
    assert sorted(row["unique_key"] for row in await subject.target.read(TABLE)) == ["k1", "k2"]


async def test_trouble_says_what_to_do(subject: Subject) -> None:
    target = there(subject)

    async def fails(sink: Sink, words: str) -> None:
        with pytest.raises(SinkFailure, match=words) as raised:
            await sink.write(batch([item("k", FULL)]))
        assert raised.value.lasting
        assert await sink.check() != []
        await sink.close()

    spec = SinkSpec(connection="x", table=TABLE)
    await fails(PostgresSink(spec, target.url.replace(target.name, "nowhere_at_all")), "no such database: create it")
    stranger = target.url.replace(postgres.ROLE, "perseid_stranger")
    await fails(PostgresSink(spec, stranger), "refuses the user or its password|role .* does not exist")
    await fails(subject.sink(create=False), "no table .*make it|there is no table")
    await target.execute("CREATE SCHEMA theirs")
    await target.execute(f"REVOKE ALL ON SCHEMA theirs FROM {postgres.ROLE}")
    await Line(subject.sink()).settle(item("k", FULL))
    await target.execute(f"REVOKE INSERT ON items FROM {postgres.ROLE}")
    await fails(subject.sink(), "grant the role|GRANT")
