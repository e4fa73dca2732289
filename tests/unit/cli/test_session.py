"""Running a crawl in the foreground, against a client that does as it is told."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from perseid.cli.exits import Exit
from perseid.cli.session import Session, work
from perseid.errors import StoreUnavailable
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.document import Document
from perseid.model.ids import CrawlId
from perseid.sink.place import Place, Record, load_record, prepare

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from perseid.runtime import Client
    from perseid.worker.stop import Stop


class FakeClient:
    """Has `pages` finished pages; runs until stopped, or ends at once as `status`."""

    def __init__(self, pages: int, status: CrawlStatus | None, error: Exception | None = None) -> None:
        self.pages = pages
        self.status = status
        self.error = error
        self.stop: Stop | None = None
        self.started = asyncio.Event()

    async def run(self, uid: str, *, concurrency: int, processes: int, stop: Stop) -> Crawl:
        self.stop = stop
        self.started.set()
        if self.error is not None:
            raise self.error
        if self.status is None:
            await stop.wait()
        return await self.crawl(uid)

    async def crawl(self, uid: str) -> Crawl:
        status = CrawlStatus.SCRAPING if self.status is None else self.status
        return Crawl(
            id=CrawlId(1), uid=uid, team=1, kind=CrawlKind.CRAWL, url="https://h/", options=b"", key_seed=0,
            status=status, counts=Counts(done=self.pages), created_at=0,
        )  # fmt: skip

    async def documents(self, uid: str, *, after: int = 0) -> AsyncIterator[tuple[int, bytes, Document]]:
        for seq in range(after + 1, self.pages + 1):
            document = Document(url=f"https://h/{seq}", source_url=f"https://h/{seq}", status=200, markdown="text")
            yield seq, msgspec.json.encode(document), document

    async def denied(self, uid: str) -> AsyncIterator[Any]:
        for row in ():
            yield row

    failures = denied


def session(folder: Path, client: FakeClient, **more: Any) -> Session:
    place = Place(folder / "out")
    prepare(place)
    record = Record(uid="a", kind="crawl", url="https://h/", options=msgspec.Raw(b"{}"), **more)
    return Session(cast("Client", client), place, record, concurrency=1, processes=1)


def lines(folder: Path) -> int:
    return len((folder / "out" / "pages.jsonl").read_bytes().splitlines())


async def test_ended_crawl_is_written_and_recorded_as_done(tmp_path: Path) -> None:
    outcome = await work(session(tmp_path, FakeClient(250, CrawlStatus.COMPLETED)), show=False)
    assert outcome.exit is Exit.OK
    assert lines(tmp_path) == 250
    record = load_record(Place(tmp_path / "out"))
    assert record is not None
    assert record.done


async def test_staged_crawl_takes_the_place_of_the_old_result(tmp_path: Path) -> None:
    old = Record(uid="b", kind="crawl", url="https://h/", options=msgspec.Raw(b"{}"), done=True)
    place = Place(tmp_path / "out")
    prepare(place)
    (place.out / "pages.jsonl").write_text("old\n")
    outcome = await work(session(tmp_path, FakeClient(3, CrawlStatus.COMPLETED), staged=True, replaces=old), show=False)
    assert not outcome.kept
    assert lines(tmp_path) == 3


@pytest.mark.parametrize(
    ("pages", "status"), [(0, CrawlStatus.COMPLETED), (3, CrawlStatus.CANCELLED), (3, CrawlStatus.FAILED)]
)
async def test_old_result_is_kept_from_a_crawl_that_came_to_nothing(
    tmp_path: Path, pages: int, status: CrawlStatus
) -> None:
    old = Record(uid="b", kind="crawl", url="https://h/", options=msgspec.Raw(b"{}"), done=True)
    place = Place(tmp_path / "out")
    prepare(place)
    (place.out / "pages.jsonl").write_text("old\n")
    outcome = await work(session(tmp_path, FakeClient(pages, status), staged=True, replaces=old), show=False)
    assert outcome.kept
    assert (place.out / "pages.jsonl").read_text() == "old\n"
    record = load_record(place)
    assert record is not None
    assert (record.uid, record.done) == ("b", True)


async def test_full_disk_stops_the_crawl_gracefully(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(5, None)
    running = session(tmp_path, client)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        await work(running, show=False)
    assert client.stop is not None
    assert client.stop.asked
    assert not client.stop.urgent


async def test_trouble_of_the_store_is_told(tmp_path: Path) -> None:
    client = FakeClient(0, None, StoreUnavailable("locked"))
    with pytest.raises(StoreUnavailable, match="locked"):
        await work(session(tmp_path, client), show=False)


async def test_cancellation_stops_the_crawl_gracefully(tmp_path: Path) -> None:
    client = FakeClient(5, None)
    task = asyncio.create_task(work(session(tmp_path, client), show=False))
    await client.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.stop is not None
    assert client.stop.asked
