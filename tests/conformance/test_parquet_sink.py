"""Items in Parquet files keep every promise of the contract; two other programs read them back alike."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.testing.conformance.sink import FULL, Line, Subject, Traits, item, sink_suite

duckdb = pytest.importorskip("duckdb", reason="an engine of `make test-sinks`")
pq = pytest.importorskip("pyarrow.parquet", reason="an engine of `make test-sinks`")

from perseid.sink.parquet import ParquetSink  # noqa: E402 - only where pyarrow is

EXTRA = {"filename", "file_row_number"}


def _value(value: Any) -> Any:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


class InFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sink(self, spec: SinkSpec) -> Sink:
        return ParquetSink(spec, str(self.folder))

    async def read(self, table: str) -> list[dict[str, Any]]:
        """By pyarrow file by file, and by DuckDB all at once: the same."""
        paths = sorted((self.folder / table).glob("*.parquet"))
        if not paths:
            return []
        one = [row for path in paths for row in pq.read_table(path, partitioning=None).to_pylist()]
        found = duckdb.sql(
            f"SET TimeZone = 'UTC'; SELECT * FROM read_parquet('{self.folder}/{table}/*.parquet', union_by_name = true,"
            " filename = true, file_row_number = true) ORDER BY filename, file_row_number"
        )
        names = found.columns
        other = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        for left, right in zip(one, other, strict=True):
            assert {name: _value(left.get(name)) for name in names if name not in EXTRA} == {
                name: _value(value) for name, value in right.items() if name not in EXTRA
            }
        return [{name: _value(value) for name, value in row.items()} for row in one]

    async def cut(self) -> None:
        raise NotImplementedError

    async def mend(self) -> None:
        raise NotImplementedError


@asynccontextmanager
async def files() -> AsyncIterator[InFiles]:
    with tempfile.TemporaryDirectory() as folder:
        yield InFiles(Path(folder))


globals().update(sink_suite(files, Traits(log=True, typed=True)))


async def test_a_first_try_for_another_table_goes(subject: Subject) -> None:
    line = Line(subject.sink(table=""))
    await line.sink.write(line.batch(item("k", FULL), item("o", FULL, site="other.example")))
    await line.settle(item("k", FULL))
    assert await subject.target.read("other.example") == []
    assert len(await subject.target.read("shop.example")) == 1


async def test_another_store_does_not_write_over_what_is_there(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k", FULL))
    await line.settle(item("l", FULL))
    with pytest.raises(SinkFailure, match="another store writes to the same place"):
        await Line(subject.sink()).settle(item("k", FULL))
