"""Sitemaps: one file after the other, indexes unfolded as they are read."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from xxhash import xxh3_64_intdigest

from perseid.dom import url as urls
from perseid.errors import SourceFailed
from perseid.links.host import politeness_host
from perseid.links.sitemap import SitemapEntry, SitemapParser
from perseid.model.seed import SitemapSource
from perseid.pattern import later
from perseid.ports.fetch import Response
from perseid.rules import regexes
from perseid.seeds.addresses import Gathering, usable
from perseid.seeds.expansion import Asks, Stepped
from perseid.seeds.sources.answers import Place, Reading, Shelf, usable_answer
from perseid.seeds.template import day_of

MAX_NESTING = 5
"""Indexes within indexes; the protocol allows none (sitemaps.org, "Sitemap index files")."""
MAX_INDEXES = 1_000
MAX_FILES = 100_000
_BITE = 64 * 1024
_DATE = later(r"\s*([0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)(?:T|\s|\Z)")


class File(Place, array_like=True):
    """One to read; `depth` indexes led to it."""

    depth: int = 0


class State(msgspec.Struct, array_like=True):
    """Files in the order in which they are read, what is left of an index behind the files that it named."""

    files: list[File]
    seen: int = 1
    """Files that were named."""
    indexes: list[int] = []
    """Hashes of the addresses of indexes that were read: none is unfolded twice."""


class _Entries:
    """The entries of one body, parsed while they are asked for."""

    def __init__(self, answer: Response) -> None:
        self._answer = answer
        self.parser = SitemapParser()

    def __call__(self) -> Iterator[SitemapEntry]:
        self.parser = SitemapParser(content_type=self._answer.header("content-type"))
        body = memoryview(self._answer.body)
        for at in range(0, len(body), _BITE):
            yield from self.parser.feed(bytes(body[at : at + _BITE]))
        yield from self.parser.close()


async def step(said: SitemapSource, cursor: bytes | None, asks: Asks, shelf: Shelf) -> Stepped:
    """At most one file is asked for."""
    state = State([File(usable(said.url) or said.url)]) if cursor is None else msgspec.json.decode(cursor, type=State)
    file = state.files[0]
    found = Gathering()
    try:
        reading = await shelf.reading(file, lambda: _read(file, asks))
    except SourceFailed as error:
        if file.depth == 0:
            raise
        found.skip(str(error))
        del state.files[0]
        return _stepped(found, state, shelf)
    entries, more = shelf.part(file, reading)
    parser: SitemapParser = reading.about.parser
    if parser.kind == "index":
        _unfold(state, entries, reading.url, found)
    else:
        _gather(said, entries, asks, reading.url, found)
    if not more:
        _close(state, file, parser, found)
    return _stepped(found, state, shelf)


async def _read(file: File, asks: Asks) -> Reading:
    answer = usable_answer(await asks.fetch(file.url), "sitemap")
    entries = _Entries(answer)
    return Reading(answer, entries, entries)


def _unfold(state: State, entries: list[SitemapEntry], base: str, found: Gathering) -> None:
    index = state.files[0]
    own = _hash(index.url)
    if own not in state.indexes:
        state.indexes.append(own)
    if index.depth >= MAX_NESTING or len(state.indexes) > MAX_INDEXES or state.seen + len(entries) > MAX_FILES:
        found.skip(f"{index.url}: the indexes nest too deeply or name too many files; what it names is left out")
        return
    waiting = {each.url for each in state.files}
    named: list[File] = []
    for entry in entries:
        url = usable(urls.join(entry.url, base) or "")
        if url is None:
            found.skip(f"{index.url}: {entry.url[:100]!r} is no address of the web")
        elif url not in waiting and _hash(url) not in state.indexes:
            waiting.add(url)
            named.append(File(url, depth=index.depth + 1))
    state.seen += len(named)
    state.files[:0] = named  # the rest of the index comes after what it has named so far


def _gather(said: SitemapSource, entries: list[SitemapEntry], asks: Asks, base: str, found: Gathering) -> None:
    since = "" if said.modified_since is None else day_of(said.modified_since, asks.today).isoformat()
    for entry in entries:
        if since and older(entry.lastmod, since):
            continue
        url = usable(urls.join(entry.url, base) or "")
        if url is None:
            found.skip(f"{base}: {entry.url[:100]!r} is no address of the web")
        elif _wanted(said, url):
            found.urls.append(url)


def _hash(url: str) -> int:
    return xxh3_64_intdigest(url.encode())


def older(lastmod: str | None, since: str) -> bool:
    """Whether a date of the protocol (W3C: a year, a month or more) is surely before that day."""
    said = _DATE.match(lastmod or "")
    return said is not None and said[1] < since[: len(said[1])]


def _wanted(said: SitemapSource, url: str) -> bool:
    if said.match and not any(_matches(each, url) for each in said.match):
        return False
    return not any(_matches(each, url) for each in said.exclude)


def _matches(pattern: str, url: str) -> bool:
    try:
        return regexes.search(pattern, url) is not None
    except regexes.Overrun as error:
        raise SourceFailed(str(error)) from None


def _close(state: State, file: File, parser: SitemapParser, found: Gathering) -> None:
    """The file was read to its end."""
    state.files.remove(file)
    if parser.kind is None and parser.error is not None:
        message = f"{file.url} is no sitemap ({parser.error.value}): neither XML, nor a feed, nor a list of addresses"
        if file.depth == 0:
            raise SourceFailed(message)
        found.skip(message)
    elif parser.error is not None:
        found.skip(f"{file.url} was not read to its end: {parser.error.value}")
    if parser.warnings:
        found.note(f"{file.url}: {', '.join(each.value for each in parser.warnings)}")


def _stepped(found: Gathering, state: State, shelf: Shelf) -> Stepped:
    going_on = state.files[0] if state.files else None
    return Stepped(
        urls=tuple(found.urls),
        cursor=None if going_on is None else msgspec.json.encode(state),
        next_host="" if going_on is None or shelf.holds(going_on) else politeness_host(going_on.url),
        skipped=found.skipped,
        notes=found.notes,
    )
