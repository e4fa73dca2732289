"""The library in a few functions: crawl, scrape and map a site without thinking of a store."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from perseid.config.settings import Settings
from perseid.crawls.mapping import MapLink, rank
from perseid.crawls.start import part_credentials, web_url
from perseid.errors import ConfigError
from perseid.model.crawl import CrawlStatus
from perseid.model.document import Document
from perseid.model.options import FORMATS, CrawlOptions, ScopeRules, ScrapeOptions, SitemapMode
from perseid.runtime.client import Client
from perseid.worker.stop import Stop

T = TypeVar("T")
_POLL_S = 0.1


async def crawl(  # noqa: PLR0913 - the keywords people reach for; the rest is in CrawlOptions
    url: str,
    options: CrawlOptions | None = None,
    *,
    limit: int | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_depth: int | None = None,
    max_discovery_depth: int | None = None,
    entire_domain: bool = False,
    subdomains: bool = False,
    sitemap: SitemapMode = "include",
    formats: Sequence[str] = ("markdown",),
    folder: Path | str | None = None,
    concurrency: int = 16,
    processes: int = 1,
    settings: Settings | None = None,
) -> AsyncIterator[Document]:
    """Pages of a site as they are finished.

    With `folder` the crawl is durable: the same call goes on where an earlier one was cut off, and yields
    every page, those of the earlier run first. Without, it lives in a temporary folder. `options` replaces
    all the keyword arguments above `folder`. Raises `InvalidURL` and `ConfigError` at the first step.
    """
    if options is None:
        if not formats:
            raise ConfigError(f"no format chosen; choose from {', '.join(FORMATS)}")
        scope = ScopeRules(
            include=tuple(include),
            exclude=tuple(exclude),
            max_depth=max_depth,
            max_discovery_depth=max_discovery_depth,
            entire_domain=entire_domain,
            subdomains=subdomains,
        )
        scrape_options = ScrapeOptions(formats=tuple(formats))  # type: ignore[arg-type] # checked by start_crawl
        options = CrawlOptions(scope=scope, scrape=scrape_options, limit=limit, sitemap=sitemap)
    with _folder(folder) as home:
        async with await Client.open(home, settings) as client:
            uid = await _resumable(client, url, options, new=folder is None)
            stop = Stop()
            running = asyncio.create_task(client.run(uid, concurrency=concurrency, processes=processes, stop=stop))
            try:
                after = 0
                while True:
                    ended = running.done()
                    async for seq, _line, document in client.documents(uid, after=after):
                        after = seq
                        yield document
                    if ended:
                        break
                    await asyncio.wait({running}, timeout=_POLL_S)
                running.result()
            finally:
                # What a temporary folder holds is lost anyway: don't wait for pages in flight.
                (stop.ask if folder is not None else stop.now)()
                await asyncio.wait({running})
                if not running.cancelled():
                    running.exception()
                if folder is None:
                    await client.discard(uid)


async def _resumable(client: Client, url: str, options: CrawlOptions, *, new: bool) -> str:
    """The unfinished crawl of the same URL and options, or a new one."""
    if new:
        return (await client.start_crawl(url, options)).uid
    start, scrape_options = part_credentials(web_url(url), options.scrape)
    wanted = msgspec.json.encode(msgspec.structs.replace(options, scrape=scrape_options))
    for known in await client.crawls(limit=1000):
        if known.status is CrawlStatus.SCRAPING and known.options == wanted and known.url == start:
            return known.uid
    return (await client.start_crawl(url, options)).uid


async def scrape(url: str, options: ScrapeOptions | None = None, *, settings: Settings | None = None) -> Document:
    """One page. Raises `ScrapeFailed`, `InvalidURL`, `ConfigError`."""
    with _folder(None) as home:
        async with await Client.open(home, settings) as client:
            return await client.scrape(url, options, keep=False)


async def map_site(
    url: str,
    *,
    search: str | None = None,
    limit: int = 5_000,
    options: CrawlOptions | None = None,
    settings: Settings | None = None,
) -> list[MapLink]:
    """The URLs of a site, from its sitemaps and its start page, without fetching each of them.

    With `search` the best matches come first.
    """
    base = options or CrawlOptions(scope=ScopeRules(entire_domain=True, subdomains=True))
    with _folder(None) as home:
        async with await Client.open(home, settings) as client:
            links = await client.map(url, base, keep=False)
    return rank(links, search)[:limit]


def crawl_sync(url: str, options: CrawlOptions | None = None, **keywords: Any) -> Iterator[Document]:
    """`crawl` for code without an event loop: pages as they are finished."""
    pages = crawl(url, options, **keywords)
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    yield runner.run(_next(pages))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(_close(pages))


def scrape_sync(url: str, options: ScrapeOptions | None = None, *, settings: Settings | None = None) -> Document:
    """`scrape` for code without an event loop."""
    return _run(scrape(url, options, settings=settings))


def map_site_sync(url: str, **keywords: Any) -> list[MapLink]:
    """`map_site` for code without an event loop."""
    return _run(map_site(url, **keywords))


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def _next(pages: AsyncIterator[Document]) -> Document:
    return await anext(pages)


async def _close(pages: AsyncIterator[Document]) -> None:
    await pages.aclose()  # type: ignore[attr-defined] # an async generator has it


@contextlib.contextmanager
def _folder(folder: Path | str | None) -> Iterator[Path]:
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory(prefix="perseid-") as temporary:
        yield Path(temporary)
