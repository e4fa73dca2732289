"""`Client`: a store's folder, and everything one can ask of it. The CLI and the library are thin over this."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from perseid.config.settings import Settings
from perseid.crawls import explain as explaining
from perseid.crawls.mapping import MapLink
from perseid.crawls.pack import read, unpack
from perseid.crawls.start import new_batch, new_crawl
from perseid.crawls.summary import Summary, summarize
from perseid.errors import NotFound, ScrapeFailed
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.document import Document
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind, JobState
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.model.terms import DEFAULT_TEAM
from perseid.ports.inspect import DeniedRow, DocumentRow, Explanation, FailureRow, HostView, JobView, Progress
from perseid.runtime.engine import Engine
from perseid.runtime.uid import new_uid
from perseid.worker.stop import Stop

if TYPE_CHECKING:
    from perseid.ports.store import NewCrawl
    from perseid.ports.truth import Check
    from perseid.runtime.crew import Crew
    from perseid.runtime.delivering import Post
    from perseid.runtime.sites import Sites

_PAGE_OF_DOCUMENTS = 100
_PAGE_OF_ROWS = 1_000
_MAP_CONCURRENCY = 8
_SEED_BITS = 62
_EVER_US = 1 << 62


class Client:
    """Works on the store in one folder, alone or beside other processes.

    `async with await Client.open(Path("out/.perseid")) as client: …`
    """

    def __init__(self, engine: Engine, crew: Crew | None = None) -> None:
        self._engine = engine
        self._crew = crew
        self._store = engine.store
        self._told = AsyncExitStack()
        self._post: Post | None = None

    @classmethod
    async def open(
        cls,
        folder: Path,
        settings: Settings | None = None,
        *,
        crew: Crew | None = None,
        allow_named_host: bool = True,
    ) -> Client:
        """Open or create the store in `folder`. Raises `StoreUnavailable`, `StoreCorrupt`, `ConfigError`.

        `allow_named_host` lets a crawl of a private host fetch from that host: right where the caller is a
        person at this machine, wrong where URLs come from strangers.
        """
        engine = await Engine.open(folder, settings or Settings(), allow_named_host=allow_named_host)
        return cls(engine, crew)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._told.aclose()
        await self._engine.close()

    @property
    def shared(self) -> bool:
        """The store is that of many folders and machines: it holds crawls of others."""
        return self._engine.shared

    async def start_crawl(self, url: str, options: CrawlOptions | None = None) -> Crawl:
        """Write the crawl down; it runs as soon as a worker does. Raises `InvalidURL`, `ConfigError`."""
        return await self._start(url, options or CrawlOptions(), CrawlKind.CRAWL)

    async def _start(self, url: str, options: CrawlOptions, kind: CrawlKind) -> Crawl:
        new = new_crawl(
            url,
            options,
            uid=new_uid(),
            key_seed=secrets.randbits(_SEED_BITS),
            blocked_hosts=self._engine.block_list.entries(),
        )
        return await self._begin(msgspec.structs.replace(new, kind=kind))

    async def start_batch(self, urls: Sequence[str], options: ScrapeOptions | None = None) -> Crawl:
        """The same for pages named one by one; no links are followed."""
        new = new_batch(urls, options or ScrapeOptions(), uid=new_uid(), key_seed=secrets.randbits(_SEED_BITS))
        return await self._begin(new)

    async def _begin(self, new: NewCrawl) -> Crawl:
        """Write it down, and tell those who work on a store of many."""
        number = await self._store.start(new)
        if self._engine.shared and self._engine.settings.delivery.url:
            if self._post is None:
                self._post = await self._told.enter_async_context(
                    self._engine.delivering(lambda: WorkerId(0), takes=False)
                )
            await self._post.look()
        return await self._store.crawl_by_id(number)

    async def run(self, uid: str, *, concurrency: int = 16, processes: int = 1, stop: Stop | None = None) -> Crawl:
        """Work on one crawl until it has ended, or until `stop` is asked for. Other processes may help.

        `processes` counts this one; further ones are started for it and end with it.
        """
        crawl = await self._store.crawl(uid)
        stop = stop or Stop()

        async def over() -> bool:
            return (await self._store.crawl_by_id(crawl.id)).status is not CrawlStatus.SCRAPING

        # A crew takes one order; a further run has to make its own.
        crew, self._crew = self._crew, None
        if processes <= 1:
            await self._engine.work(stop, over, concurrency=concurrency, only=crawl.id)
            return await self._store.crawl(uid)
        from perseid.runtime.crew import Crew, Order  # noqa: PLC0415 - only where more processes are asked for

        order = Order(
            folder=str(self._engine.folder),
            settings=self._engine.settings,
            uid=uid,
            concurrency=concurrency,
            allow_named_host=self._engine.allow_named_host,
        )
        async with (crew or Crew.started(processes - 1)).at_work(order, stop):
            await self._engine.work(stop, over, concurrency=concurrency, only=crawl.id)
        return await self._store.crawl(uid)

    async def work(self, stop: Stop, *, concurrency: int = 16) -> None:
        """Work on whatever the store holds until `stop` is asked for."""

        async def never() -> bool:
            return False

        await self._engine.work(stop, never, concurrency=concurrency)

    async def scrape(self, url: str, options: ScrapeOptions | None = None, *, keep: bool = True) -> Document:
        """One page, through the store's own queue: its host's pauses hold for this too.

        Unless `keep`, a store of many forgets it afterwards. Raises `ScrapeFailed` with the failure's code.
        """
        crawl = await self.start_batch([url], options)
        try:
            return await self._scrape(crawl)
        finally:
            if not keep:
                await self.discard(crawl.uid)

    async def _scrape(self, crawl: Crawl) -> Document:
        url = crawl.url
        await self.run(crawl.uid, concurrency=1)
        async for _seq, _line, document in self.documents(crawl.uid):
            return document
        async for failure in self.failures(crawl.uid):
            raise ScrapeFailed(url, failure.code, failure.message)
        explanation = await explaining.explain(self._store, await self._store.crawl(crawl.uid), crawl.url)
        raise ScrapeFailed(url, explanation.reason.lower() or explanation.state, explanation.message)

    async def map(self, url: str, options: CrawlOptions, *, keep: bool = True) -> list[MapLink]:
        """The URLs that the start page and the sitemaps name, by the same rules as a crawl; no page is fetched.

        Unless `keep`, a store of many forgets it afterwards. Raises `ScrapeFailed` when neither the start page nor
        any sitemap could be had.
        """
        crawl = await self._start(url, options, CrawlKind.MAP)
        try:
            return await self._map(crawl)
        finally:
            if not keep:
                await self.discard(crawl.uid)

    async def _map(self, crawl: Crawl) -> list[MapLink]:
        kinds = (JobKind.KICKOFF, JobKind.SITEMAP)

        async def over() -> bool:
            return not await self._store.open_of(crawl.id, kinds)

        await self._engine.work(Stop(), over, concurrency=_MAP_CONCURRENCY, only=crawl.id, kinds=kinds)
        links: list[MapLink] = []
        after = 0
        while rows := await self._store.admitted(crawl.id, after=after, limit=_PAGE_OF_ROWS):
            links += [MapLink(url=found) for _job, found in rows]
            after = rows[-1][0]
        await self._store.cancel(crawl.id)
        if len(links) <= 1:
            await self._raise_failure(crawl)
        return links

    async def _raise_failure(self, crawl: Crawl) -> None:
        """Raise what kept the start page from us, if anything did."""
        explanation = await explaining.explain(self._store, crawl, crawl.url)
        if explanation.state in {JobState.FAILED, JobState.DENIED}:
            code = explanation.reason if explanation.state == JobState.FAILED else explanation.reason.lower()
            raise ScrapeFailed(crawl.url, code, explanation.message)

    async def crawl(self, uid: str) -> Crawl:
        """Raises `NotFound`."""
        return await self._store.crawl(uid)

    async def crawls(self, *, limit: int = 100) -> list[Crawl]:
        """Newest first."""
        return await self._store.crawls(limit=limit)

    async def progress(self, uid: str) -> Progress:
        return await self._store.progress((await self._store.crawl(uid)).id)

    async def documents(self, uid: str, *, after: int = 0) -> AsyncIterator[tuple[int, bytes, Document]]:
        """Pages in finishing order from number `after` on: (number, JSON line, document).

        Bodies of pages that failed with a 4xx or 5xx are not among them: numbers may have gaps.
        """
        crawl = await self._store.crawl(uid)
        while rows := await self._store.documents(crawl.id, after=after, limit=_PAGE_OF_DOCUMENTS):
            for row in rows:
                after = row.seq
                if row.state is JobState.COMPLETED:
                    line = await self._line(row)
                    yield row.seq, line, read(line)

    async def _line(self, row: DocumentRow) -> bytes:
        return unpack(await self._engine.blobs.get(row.blob) if row.blob else row.body)

    async def failures(self, uid: str) -> AsyncIterator[FailureRow]:
        crawl = await self._store.crawl(uid)
        after = 0
        while rows := await self._store.failures(crawl.id, after=after, limit=_PAGE_OF_ROWS):
            for row in rows:
                yield row
            after = rows[-1].job

    async def failure_counts(self, uid: str) -> dict[str, int]:
        return await self._store.failure_counts((await self._store.crawl(uid)).id)

    async def denied(self, uid: str) -> AsyncIterator[DeniedRow]:
        crawl = await self._store.crawl(uid)
        after = 0
        while rows := await self._store.denied(crawl.id, after=after, limit=_PAGE_OF_ROWS):
            for row in rows:
                yield row
            after = rows[-1].id

    async def denied_counts(self, uid: str) -> dict[str, int]:
        return await self._store.denied_counts((await self._store.crawl(uid)).id)

    async def summary(self, uid: str) -> Summary:
        return await summarize(self._store, uid, now_us=time.time_ns() // 1_000)

    async def jobs(
        self, uid: str | None = None, *, state: JobState | None = None, after: int = 0, limit: int = 100
    ) -> list[JobView]:
        crawl = None if uid is None else (await self._store.crawl(uid)).id
        return await self._store.jobs(crawl=crawl, state=state, after=after, limit=limit)

    async def hosts(self, *, limit: int = 100) -> list[HostView]:
        return await self._store.hosts(limit=limit)

    async def explain(self, url: str, uid: str | None = None) -> list[Explanation]:
        """Why `url` is, or is not, among the pages of a crawl, or of each crawl of this store."""
        crawls = [await self._store.crawl(uid)] if uid else await self._store.crawls(limit=100)
        found = [await explaining.explain(self._store, crawl, url) for crawl in crawls]
        told = [explanation for explanation in found if explanation.state != "unknown"]
        return told or found

    async def cancel(self, uid: str) -> bool:
        """End a running crawl and keep what it has; False if it had ended."""
        return await self._store.cancel((await self._store.crawl(uid)).id)

    async def prune(self, *, older_than_s: float) -> int:
        """Forget crawls that ended longer ago than this, with all their rows and bodies; how many."""
        before = time.time_ns() // 1_000 - int(older_than_s * 1_000_000)
        gone = await self._store.prune(ended_before_us=before)
        await self._store.pages.expire(before)
        await self._drop_orphans()
        return len(gone)

    async def discard(self, uid: str) -> None:
        """End a crawl whose caller has what it wanted, and take it out of a store of many; a folder's own stays."""
        if self.shared:
            await self.cancel(uid)
            await self.forget(uid)

    async def forget(self, uid: str) -> bool:
        """Take one crawl that has ended out of the store, with its bodies; False while jobs of it run. `NotFound`."""
        crawl = await self._store.crawl(uid)
        gone = await self._store.prune(crawl=crawl.id, ended_before_us=_EVER_US)
        for number in gone:
            await self._engine.blobs.delete_prefix(str(number))
        return crawl.id in gone

    async def _drop_orphans(self) -> None:
        """Delete bodies whose crawl is gone: of this pruning, and of one that was cut off."""
        for number in await self._engine.blobs.prefixes():
            try:
                await self._store.crawl_by_id(CrawlId(number))
            except NotFound:
                await self._engine.blobs.delete_prefix(str(number))

    async def audit(self) -> list[str]:
        """What the store counts differently from what it holds; empty when all is well."""
        return [
            f"{finding.what}: expected {finding.expected}, found {finding.found}"
            for finding in await self._store.audit()
        ]

    def sites(self, team: int = DEFAULT_TEAM, *, author: str = "") -> Sites:
        """Rules, seeds, items and sinks of a team; `author` is who publishes."""
        from perseid.runtime.sites import Sites  # noqa: PLC0415 - crawls need none of it

        return Sites(self._engine, team, author=author)

    async def doctor(self) -> list[Check]:
        from perseid.runtime.doctor import examine  # noqa: PLC0415 - few ask, and all would wait for it

        return await examine(self._engine)
