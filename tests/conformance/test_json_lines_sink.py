"""Items in files of JSON lines keep every promise of the contract."""

from __future__ import annotations

import json
import resource
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.json_lines import JsonLinesSink
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, batch, item, sink_suite


class InFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sink(self, spec: SinkSpec) -> Sink:
        return JsonLinesSink(spec, str(self.folder))

    async def read(self, table: str) -> list[dict[str, Any]]:
        path = self.folder / f"{table}.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

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


async def test_an_unsettled_tail_is_cut_off_however_it_ends(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    await line.sink.write(line.batch(item("k2", FULL)))
    path = folder(subject) / "items.jsonl"
    with path.open("ab") as file:
        file.write(b'{"site_id": "shop.exam')
    await line.settle(item("k2", FULL))
    assert [row["unique_key"] for row in await subject.target.read(TABLE)] == ["k1", "k2"]


async def test_what_was_there_before_stays(subject: Subject) -> None:
    path = folder(subject) / "items.jsonl"
    path.write_text('{"mine": 1}\n')
    line = Line(subject.sink())
    await line.sink.write(line.batch(item("k1", FULL)))
    await line.settle(item("k1", FULL))
    first, second = path.read_text().splitlines()
    assert (first, json.loads(second)["unique_key"]) == ('{"mine": 1}', "k1")


async def test_a_file_may_be_moved_away_between_batches(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL), item("k2", FULL))
    path = folder(subject) / "items.jsonl"
    path.rename(path.with_name("items.old"))
    await line.sink.write(line.batch(item("k3", FULL)))
    await line.settle(item("k3", FULL))
    assert [row["unique_key"] for row in await subject.target.read(TABLE)] == ["k3"]


async def test_who_was_given_up_can_write_no_more(subject: Subject) -> None:
    line = Line(subject.sink())
    late = line.batch(item("k1", FULL))
    await line.settle(item("k1", FULL))
    await line.settle(item("k2", FULL))
    with pytest.raises(SinkFailure, match="another store writes to the same place") as raised:
        await subject.sink().write(late)
    assert raised.value.lasting


async def test_a_site_has_a_file_of_its_own_where_no_name_is_given(subject: Subject) -> None:
    line = Line(subject.sink(table=""))
    await line.settle(item("k", FULL), item("k", FULL, site="other.example"))
    await Line(subject.sink(table="by/{site}/all")).settle(item("k", FULL))
    made = {str(path.relative_to(folder(subject))) for path in folder(subject).rglob("*.jsonl")}
    assert made == {"shop.example.jsonl", "other.example.jsonl", "by/shop.example/all.jsonl"}


async def test_an_unsettled_first_try_of_another_site_is_cut_off_later(subject: Subject) -> None:
    line = Line(subject.sink(table=""))
    await line.sink.write(line.batch(item("k1", FULL), item("o1", FULL, site="other.example")))
    await line.settle(item("k1", FULL))
    await line.settle(item("o2", FULL, site="other.example"))
    assert [row["unique_key"] for row in await subject.target.read("other.example")] == ["o2"]


@pytest.mark.parametrize("table", ["../out", "/tmp/x", "a//b", ".hidden", "a/../../b", "a\0b"])
async def test_no_name_leads_out_of_the_folder(subject: Subject, table: str) -> None:
    sink = subject.sink(table=table)
    with pytest.raises(SinkFailure, match="no name for a file"):
        await sink.write(batch([item("k", FULL)]))
    assert await sink.check() != []


async def test_a_full_disk_leaves_the_file_whole(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    length = (folder(subject) / "items.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length + 100, before[1]))
    try:
        with pytest.raises(SinkFailure) as raised:
            await line.settle(item("k2", {"title": "x" * 10_000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not raised.value.lasting
    assert (folder(subject) / "items.jsonl").stat().st_size == length
    await line.settle(item("k2", FULL))
    assert [row["unique_key"] for row in await subject.target.read(TABLE)] == ["k1", "k2"]


async def test_a_folder_that_is_not_mounted_is_not_made(subject: Subject) -> None:
    await subject.target.cut()
    sink = subject.sink()
    with pytest.raises(SinkFailure, match="make it, or mount it") as raised:
        await sink.write(batch([item("k", FULL)]))
    assert raised.value.lasting
    assert await sink.check() == [str(raised.value)]
    assert not folder(subject).exists()
