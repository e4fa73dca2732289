"""Whether the folder of a crawl holds what its store says, and what the store held when a process was killed."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import msgspec

from perseid.model.crawl import CrawlStatus
from perseid.runtime import Client
from perseid.sink.paths import page_path
from perseid.sink.place import FAILED_JSONL, PAGES, PAGES_JSONL, SKIPPED_JSONL, Place, load_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.model.crawl import Crawl

_STALE = ("*.part", "swap", "next", "old")


class Held(NamedTuple):
    """A lease as it stood in the store."""

    url: str
    pid: int
    age_s: float
    """Since it began, at the time of looking if the worker still runs."""


class Result(NamedTuple):
    """A finished crawl; `problems` is what is wrong with it, in sentences."""

    crawl: Crawl
    urls: list[str]
    """Of its documents, in finishing order."""
    denied: dict[str, int]
    failures: dict[str, str]
    """Code by URL."""
    problems: list[str]


def leases(out: Path, *, pid: int | None = None) -> list[Held]:
    """The leases of the store of `out`, or of one process. Leaves the write-ahead log as it found it."""
    database = Place(out).database
    if not database.exists():
        return []
    with closing(apsw.Connection(str(database))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_timeout(10_000)
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'lease'").fetchone() is None:
            return []
        rows = connection.execute(
            "SELECT u.url, w.pid, (unixepoch('subsec') * 1000000 - l.started_at) / 1e6 FROM lease l"
            " JOIN url u ON u.id = l.job JOIN worker w ON w.id = l.worker WHERE ?1 IS NULL OR w.pid = ?1",
            (pid,),
        )
        return [Held(*row) for row in rows]


def check(out: Path) -> Result:
    """Compare OUT and its store with each other and with themselves. No process may be at work on it."""
    return asyncio.run(_check(Place(out)))


async def _check(place: Place) -> Result:
    record = load_record(place)
    if record is None:
        raise AssertionError(f"{place.out} holds no record of a crawl")
    async with await Client.open(place.state) as client:
        crawl = await client.crawl(record.uid)
        problems = [f"audit: {finding}" for finding in await client.audit()]
        stored = {seq: (line, document) async for seq, line, document in client.documents(record.uid)}
        failures = {row.url: row.code async for row in client.failures(record.uid)}
        denied = [row.url async for row in client.denied(record.uid)]
        reasons = await client.denied_counts(record.uid)
    if not record.done:
        problems.append("the record says that the result is not complete")
    problems += _counted(crawl, len(stored), failures)
    problems += _numbers(crawl, list(stored))
    urls = [document.url for _line, document in stored.values()]
    problems += [f"{url} is there twice" for url in _twice(urls)]
    problems += _lines(place.out / PAGES_JSONL, [line for line, _document in stored.values()])
    problems += _files(place.out / PAGES, urls)
    problems += _list(place.out / FAILED_JSONL, list(failures))
    problems += _list(place.out / SKIPPED_JSONL, denied)
    problems += [f"{path} was left behind" for name in _STALE for path in place.state.glob(name)]
    problems += [f"{held.url} is still leased" for held in leases(place.out)]
    return Result(crawl, urls, reasons, failures, problems)


def _counted(crawl: Crawl, documents: int, failures: dict[str, str]) -> Iterator[str]:
    counts = crawl.counts
    ended = counts.done + counts.failed + counts.duplicate + counts.denied
    if crawl.status is not CrawlStatus.COMPLETED:
        yield f"the crawl is {crawl.status.name}"
    if counts.open:
        yield f"{counts.open} jobs are open"
    if counts.discovered != ended:
        yield f"{counts.discovered} pages were discovered, {ended} ended"
    if counts.done != documents:
        yield f"{counts.done} pages are counted as done, {documents} have a document"
    if counts.failed > len(failures):
        yield f"{counts.failed} pages are counted as failed, {len(failures)} are listed"


def _numbers(crawl: Crawl, seqs: list[int]) -> Iterator[str]:
    """Numbers of documents are dense, save that bodies of failures have numbers of their own."""
    if seqs != sorted(set(seqs)):
        yield "documents are not numbered in ascending order"
    if not crawl.counts.failed and seqs != list(range(1, len(seqs) + 1)):
        yield "the numbers of documents have gaps"


def _twice(values: list[str]) -> set[str]:
    seen: set[str] = set()
    return {value for value in values if value in seen or seen.add(value)}  # type: ignore[func-returns-value] # add() is None


def _lines(path: Path, stored: list[bytes]) -> Iterator[str]:
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        yield f"{path.name} ends in a torn line"
    lines = data.split(b"\n")[:-1]
    if lines != stored:
        yield f"{path.name} holds {len(lines)} lines that are not those of the {len(stored)} documents of the store"
    for number, line in enumerate(lines, 1):
        if not isinstance(_decoded(line), dict):
            yield f"{path.name}, line {number} is no JSON object"


def _files(folder: Path, urls: list[str]) -> Iterator[str]:
    expected = {page_path(url) for url in urls}
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    for name in sorted(expected - found)[:5]:
        yield f"{name} is missing among the files ({len(expected - found)} are)"
    for name in sorted(found - expected)[:5]:
        yield f"{name} is a file that no page of the crawl has ({len(found - expected)} are)"
    for name in sorted(expected & found):
        head = (folder / name).read_bytes()[:4]
        if head != b"---\n":
            yield f"{name} has no front matter: {head!r}"


def _list(path: Path, expected: list[str]) -> Iterator[str]:
    found = [row.get("url") for line in path.read_bytes().splitlines() if isinstance(row := _decoded(line), dict)]
    if found != expected:
        yield f"{path.name} holds {len(found)} URLs that are not the {len(expected)} of the store"


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return None
