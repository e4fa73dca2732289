"""Tables of an SQLite file keep every promise of the contract, and trouble with them says what to do."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.sqlite import SqliteSink
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, batch, item, sink_suite


class InSqlite:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "items.db"
        self.held: apsw.Connection | None = None

    def sink(self, spec: SinkSpec) -> Sink:
        return SqliteSink(spec, f"sqlite://{self.path}", busy_s=0.05)

    async def read(self, table: str) -> list[dict[str, Any]]:
        with apsw.Connection(str(self.path)) as connection:
            columns = dict(connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,)).fetchall())
            rows = connection.execute(f'SELECT * FROM "{table}"').fetchall() if columns else []
        return [
            {
                name: bool(value) if kind == "BOOLEAN" and value is not None else value
                for (name, kind), value in zip(columns.items(), row, strict=True)
            }
            for row in rows
        ]

    async def cut(self) -> None:
        self.held = apsw.Connection(str(self.path))
        self.held.execute("BEGIN EXCLUSIVE")

    async def mend(self) -> None:
        assert self.held is not None
        self.held.execute("ROLLBACK")
        self.held.close()


@asynccontextmanager
async def sqlite() -> AsyncIterator[InSqlite]:
    with tempfile.TemporaryDirectory() as folder:
        yield InSqlite(Path(folder))


globals().update(sink_suite(sqlite, Traits(merges=True, typed=True, outage=True)))


async def fails(sink: Sink, words: str) -> SinkFailure:
    with pytest.raises(SinkFailure, match=words) as raised:
        await sink.write(batch([item("k", FULL)]))
    await sink.close()
    return raised.value


async def test_a_missing_table_is_said_where_none_may_be_made(subject: Subject) -> None:
    await Line(subject.sink()).settle(item("k", FULL))
    sink = subject.sink(table="other", create=False)
    assert any("there is no table other" in words for words in await sink.check())
    assert (await fails(sink, "no table other: make it, or set `create`")).lasting


async def test_a_missing_column_is_said_where_none_may_be_made(subject: Subject) -> None:
    await Line(subject.sink()).settle(item("k", {"title": "a"}))
    sink = subject.sink(create=False, fields=("title", "stock"))
    assert any("lacks the columns stock" in words for words in await sink.check())
    assert (await fails(sink, "no column stock")).lasting


async def test_a_table_of_somebody_else_is_used_as_it_is(subject: Subject) -> None:
    path = subject.target.path  # type: ignore[attr-defined]
    apsw.Connection(str(path)).execute(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, site_id TEXT, unique_key TEXT, task_id INTEGER, seed_id TEXT,"
        " rule_version INTEGER, fetched_at TEXT, updated_at TEXT, Title TEXT, stock INTEGER,"
        " seen BOOLEAN DEFAULT 0, twice INTEGER AS (stock * 2), UNIQUE (unique_key, site_id));"
        "CREATE TABLE bare (id INTEGER PRIMARY KEY, site_id, unique_key, task_id, seed_id, rule_version, fetched_at,"
        " updated_at)"
    )
    line = Line(subject.sink(create=False, fields=("title", "stock")))
    assert await line.sink.check() == []
    await line.settle(item("k", {"title": "a", "stock": 3}))
    apsw.Connection(str(path)).execute("UPDATE items SET seen = 1")
    await line.settle(item("k", {"title": "b", "stock": "none"}))
    assert line.notes == (
        "1 values of stock don't fit their column and were left out; add a column unfit to keep such",
    )
    ((row),) = await subject.target.read(TABLE)
    assert (row["Title"], row["stock"], row["seen"]) == ("b", None, 1)
    (words,) = await subject.sink(table="bare").check()
    assert "primary key or unique index of (site_id, unique_key)" in words


async def test_an_item_that_breaks_a_constraint_is_left_out_alone(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k0", {"stock": 1}))
    path = subject.target.path  # type: ignore[attr-defined]
    apsw.Connection(str(path)).execute(
        "CREATE TRIGGER no_debt BEFORE INSERT ON items WHEN new.stock < 0 BEGIN SELECT RAISE(ABORT, 'debt'); END;"
        "CREATE TRIGGER no_k9 BEFORE INSERT ON items WHEN new.unique_key = 'k9' BEGIN SELECT RAISE(ABORT, 'k9'); END"
    )
    await line.settle(item("k1", {"stock": 1}), item("k2", {"stock": -1}), item("k9", {}), item("k3", {"stock": 3}))
    rows = {row["unique_key"]: row for row in await subject.target.read(TABLE)}
    assert sorted(rows) == ["k0", "k1", "k2", "k3"]
    assert (rows["k2"]["stock"], rows["k2"]["unfit"]) == (None, '{"stock":-1}')
    assert [note.partition(":")[0] for note in line.notes] == [
        "item 'k2' of shop.example is written without columns for its fields",
        "item 'k9' of shop.example is left out",
    ]
    # Nobody knows whether it is the item or the target, until it was tried often enough.
    with pytest.raises(SinkFailure, match="every item is refused"):
        await line.sink.write(line.batch(item("k9", {})))
    assert (await line.sink.write(line.batch(item("k9", {}), attempts=8))).notes != ()


async def test_a_full_disk_loses_nothing(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(SinkFailure) as raised:
            await line.settle(item("k2", {"title": "x" * 500_000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not raised.value.lasting
    await line.settle(item("k2", {"title": "x" * 500_000}))
    assert [row["unique_key"] for row in await subject.target.read(TABLE)] == ["k1", "k2"]


async def test_what_is_no_database_is_said(subject: Subject) -> None:
    path = subject.target.path  # type: ignore[attr-defined]
    path.write_bytes(b"no database, but long enough to be one " * 100)
    assert (await fails(subject.sink(), "no SQLite database")).lasting


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    sink = SqliteSink(SinkSpec(connection="x"), f"sqlite://{tmp_path}/gone/items.db")
    assert (await fails(sink, "its folder must exist and be ours")).lasting
    with pytest.raises(SinkFailure, match="three slashes"):
        SqliteSink(SinkSpec(connection="x"), "sqlite://items.db")
