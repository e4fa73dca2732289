"""Data out of several pages: a batch whose pages are each asked for it, merged once all have ended.

The batch is durable as any other. The merged result is a blob beside its documents and goes with them; should it
be lost on the way, whoever asks for the status next has it made again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from perseid.answers.merge import Merged, Part, merge, sources_of, union
from perseid.crawls.mapping import MapLink, rank
from perseid.crawls.pack import read, unpack
from perseid.dom import url as urls
from perseid.errors import ConfigError, InvalidURL, NotFound, PerseidError, ScrapeFailed, StoreError
from perseid.links.host import politeness_host
from perseid.links.startpath import StartPath
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.job import JobState
from perseid.model.options import Ask, CrawlOptions, ScrapeOptions
from perseid.ports.blob import Blobs
from perseid.ports.inspect import DocumentRow, Inspect
from perseid.ports.llm import LanguageModel
from perseid.ports.websearch import SearchQuery, WebSearch

OUTPUT = "extract"
"""Under which the pages' answers stand in their documents."""
MOST_URLS = 10
_FROM_SEARCH = 5
_LONGEST_QUERY = 300
_PAGE_OF_DOCUMENTS = 50
_WILD = "/*"

MapSite: TypeAlias = Callable[[str], Awaitable[Sequence[MapLink]]]
StartBatch: TypeAlias = Callable[[Sequence[str], ScrapeOptions], Awaitable[Crawl]]
State = Literal["processing", "completed", "failed", "cancelled"]


class ExtractRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted, and where it is looked for: in the URLs named, else in what a web search finds."""

    urls: tuple[str, ...] = ()
    """One that ends in `/*` stands for pages below it, those that the prompt speaks of first."""
    prompt: str | None = None
    schema: dict[str, Any] | None = None
    limit: int = 10
    """Most pages for each `/*`."""
    web_search: bool = False
    """Look on the web beside the URLs named too."""


class ExtractStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is there once it is completed; `sources` names for each of its fields the pages that gave it."""

    state: State
    data: Any = None
    error: str = ""
    sources: dict[str, list[str]] = {}
    tokens: int = 0
    warnings: list[str] = []


async def start_extract(
    request: ExtractRequest,
    scrape: ScrapeOptions,
    *,
    map_site: MapSite,
    search: WebSearch,
    start_batch: StartBatch,
) -> Crawl:
    """Find the pages and start the batch; its uid is that of the extract.

    Raises `ConfigError`, `InvalidURL` for a request that can't be, `Unavailable` where only a search could help.
    """
    if not (request.prompt or "").strip() and not request.schema:
        raise ConfigError("an extract needs a prompt or a schema that says what is wanted")
    if len(request.urls) > MOST_URLS:
        raise ConfigError(f"an extract takes at most {MOST_URLS} URLs, not {len(request.urls)}")
    pages = [url for named in request.urls for url in await _expand(named, request, map_site)]
    if request.web_search or not request.urls:
        pages += await _searched(request, search)
    if not pages:
        raise InvalidURL("no page was found to extract from: name URLs, or another prompt to search for")
    ask = Ask(kind="json", output=OUTPUT, prompt=request.prompt, schema=request.schema)
    return await start_batch(list(dict.fromkeys(pages)), msgspec.structs.replace(scrape, asks=(ask,)))


async def _expand(named: str, request: ExtractRequest, map_site: MapSite) -> list[str]:
    if not named.endswith(_WILD):
        return [named]
    start = named.removesuffix("*")
    try:
        links = await map_site(start)
    except ScrapeFailed:
        # Its own page says why; the others need not suffer for it.
        return [start]
    below = [link for link in links if _is_below(start, link.url)]
    return [link.url for link in rank(below, request.prompt)][: request.limit] or [start]


def _is_below(start: str, url: str) -> bool:
    """A map of a site has more than what lies below the page it was asked for."""
    top, found = urls.parse(start), urls.parse(url)
    if top is None or found is None:
        return False
    path = StartPath(top.path)
    return path.rule == "/" or (path.covers(found.path) and politeness_host(start) == politeness_host(url))


async def _searched(request: ExtractRequest, search: WebSearch) -> list[str]:
    query = (request.prompt or "")[:_LONGEST_QUERY]
    if not query.strip():
        return []
    try:
        return [hit.url for hit in await search.search(SearchQuery(query=query, limit=_FROM_SEARCH))]
    except PerseidError:
        if request.urls:
            return []
        raise


class Extracts:
    """Knows how extracts stand. It may be merging in the background: close it when done."""

    def __init__(
        self, *, inspect: Inspect, blobs: Blobs, model: LanguageModel, timeout_s: float, patience_s: float = 1.0
    ) -> None:
        self._inspect = inspect
        self._blobs = blobs
        self._model = model
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        """How long a status waits for a merge that is going on."""
        self._merging: dict[str, asyncio.Task[ExtractStatus]] = {}

    async def close(self) -> None:
        merging = list(self._merging.values())
        for task in merging:
            task.cancel()
        await asyncio.gather(*merging, return_exceptions=True)

    async def status(self, uid: str) -> ExtractStatus:
        """Raises `NotFound`, also for a crawl or batch that is no extract."""
        crawl = await self._inspect.crawl(uid)
        ask = _ask_of(crawl)
        if crawl.status is CrawlStatus.SCRAPING:
            return ExtractStatus(state="processing")
        if crawl.status is CrawlStatus.CANCELLED:
            return ExtractStatus(state="cancelled")
        if crawl.status is CrawlStatus.FAILED:
            return ExtractStatus(state="failed", error=crawl.error or "the extract could not begin")
        if crawl.erased:
            return ExtractStatus(state="failed", error="the result has been erased, as its caller asked for")
        kept = await self._kept(crawl)
        if kept is not None:
            return kept
        task = self._merging.get(uid) or self._begin(crawl, ask)
        done, _ = await asyncio.wait({task}, timeout=self._patience_s)
        return task.result() if done else ExtractStatus(state="processing")

    def _begin(self, crawl: Crawl, ask: Ask) -> asyncio.Task[ExtractStatus]:
        task = asyncio.create_task(self._conclude(crawl, ask))
        self._merging[crawl.uid] = task

        def ended(task: asyncio.Task[ExtractStatus]) -> None:
            del self._merging[crawl.uid]
            if not task.cancelled():
                # Whoever asked may be gone by now; the next one starts anew and is told.
                task.exception()

        task.add_done_callback(ended)
        return task

    async def _conclude(self, crawl: Crawl, ask: Ask) -> ExtractStatus:
        """Merge what the pages gave, and keep it."""
        parts, warnings, spent = await self._parts(crawl)
        if not parts:
            status = ExtractStatus(state="failed", error=await self._why_nothing(crawl, warnings), tokens=spent)
        else:
            merged, trouble = await self._merge(parts, ask)
            status = ExtractStatus(
                state="completed",
                data=merged.value,
                sources=sources_of(parts),
                tokens=spent + merged.tokens,
                warnings=warnings + trouble,
            )
        with contextlib.suppress(StoreError):
            # On a full disk it is told all the same, and made again for the next one who asks.
            await self._blobs.put(_path(crawl), msgspec.json.encode(status))
        return status

    async def _merge(self, parts: list[Part], ask: Ask) -> tuple[Merged, list[str]]:
        try:
            merged = await merge(self._model, parts, prompt=ask.prompt, schema=ask.schema, timeout_s=self._timeout_s)
        except PerseidError as error:
            value, _ = union([part.value for part in parts])
            return Merged(value), [f"the pages overlap and were put together without the language model: {error}"]
        return merged, ["not all that the pages gave could be merged: it is too long for the model"] * merged.cut

    async def _parts(self, crawl: Crawl) -> tuple[list[Part], list[str], int]:
        """What the pages gave, their warnings about it, and the tokens they cost."""
        parts: list[Part] = []
        warnings: list[str] = []
        spent, after = 0, 0
        while rows := await self._inspect.documents(crawl.id, after=after, limit=_PAGE_OF_DOCUMENTS):
            after = rows[-1].seq
            for row in rows:
                if row.state is not JobState.COMPLETED:
                    continue
                document = read(await self._line(row))
                spent += document.tokens
                if OUTPUT in document.answers:
                    parts.append(Part(document.url, document.answers[OUTPUT]))
                warnings += [f"{row.url}: {told}" for told in document.warnings if told.startswith(OUTPUT)]
        return parts, warnings, spent

    async def _line(self, row: DocumentRow) -> bytes:
        return unpack(await self._blobs.get(row.blob) if row.blob else row.body)

    async def _why_nothing(self, crawl: Crawl, warnings: list[str]) -> str:
        failures = await self._inspect.failures(crawl.id, limit=1)
        told = [f"{row.url}: {row.message} ({row.code})" for row in failures] + warnings
        return f"no page gave anything. {told[0]}" if told else "no page gave anything"

    async def _kept(self, crawl: Crawl) -> ExtractStatus | None:
        try:
            return msgspec.json.decode(await self._blobs.get(_path(crawl)), type=ExtractStatus)
        except (NotFound, msgspec.DecodeError):
            return None


def _ask_of(crawl: Crawl) -> Ask:
    asks = msgspec.json.decode(crawl.options, type=CrawlOptions).scrape.asks
    for ask in asks:
        if ask.output == OUTPUT and not crawl.kind.follows_links:
            return ask
    raise NotFound(f"{crawl.uid} is no extract")


def _path(crawl: Crawl) -> str:
    return f"{crawl.id}/0/{OUTPUT}"
