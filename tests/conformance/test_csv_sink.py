"""Items in CSV files keep every promise of the contract."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.csv_file import CsvSink
from perseid.testing.conformance.sink import Line, Subject, Traits, item, sink_suite


class InFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sink(self, spec: SinkSpec) -> Sink:
        return CsvSink(spec, str(self.folder))

    async def read(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        limit = csv.field_size_limit(sys.maxsize)  # of the whole process: others count on theirs
        try:
            for path in sorted(self.folder.glob(f"{table}*.csv")):
                with path.open(encoding="utf-8", newline="") as file:
                    rows += csv.DictReader(file)
        finally:
            csv.field_size_limit(limit)
        return rows

    async def cut(self) -> None:
        """As if its disk was not mounted: an unsettled write may be there already."""
        self.folder.rename(self.folder.with_name("away"))

    async def mend(self) -> None:
        self.folder.with_name("away").rename(self.folder)


@asynccontextmanager
async def files() -> AsyncIterator[InFiles]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "out").mkdir()
        yield InFiles(Path(folder) / "out")


globals().update(sink_suite(files, Traits(log=True)))


def folder(subject: Subject) -> Path:
    assert isinstance(subject.target, InFiles)
    return subject.target.folder


async def test_a_new_column_begins_a_further_file(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", {"title": "one"}))
    await line.sink.write(line.batch(item("k2", {"title": "two", "colour": "red"})))
    await line.settle(item("k2", {"title": "two", "colour": "red"}))
    await line.settle(item("k3", {"colour": "blue"}))
    found = {path.name: path.read_bytes().count(b"\r\n") for path in folder(subject).glob("*.csv")}
    assert found == {"items.csv": 2, "items.2.csv": 3}


async def test_a_file_of_somebody_else_is_left_alone(subject: Subject) -> None:
    path = folder(subject) / "items.csv"
    path.write_text("mine\r\n1\r\n")
    with pytest.raises(SinkFailure, match="move it away") as raised:
        await Line(subject.sink()).settle(item("k", {"title": "one"}))
    assert raised.value.lasting
    assert path.read_text() == "mine\n1\n"


async def test_no_further_file_is_begun_where_none_may_be_made(subject: Subject) -> None:
    line = Line(subject.sink(create=False))
    await line.settle(item("k1", {"title": "one"}))
    with pytest.raises(SinkFailure, match="no column colour") as raised:
        await line.settle(item("k2", {"colour": "red"}))
    assert raised.value.lasting
