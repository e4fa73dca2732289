"""Everything the server's skins ask for, on behalf of a team. HTTP and MCP are thin over this."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from perseid.config.settings import Settings
from perseid.crawls import explain as explaining
from perseid.crawls.events import Render
from perseid.crawls.extract import ExtractRequest, start_extract
from perseid.crawls.mapping import MapLink, rank
from perseid.crawls.start import new_batch, new_crawl, tell_operator
from perseid.errors import Busy, ConfigError, NotFound, QuotaExceeded
from perseid.model.crawl import Crawl, CrawlKind
from perseid.model.document import Document
from perseid.model.job import JobKind, JobState
from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions
from perseid.model.terms import DEFAULT_TEAM, Terms
from perseid.model.verdict import FailureCode
from perseid.observe import trace
from perseid.ports.limit import Limits
from perseid.ports.store import NewCrawl
from perseid.ports.teams import Key, Load, Team, Usage
from perseid.ports.work import Done, Failed, Refused
from perseid.runtime.asking import Asking
from perseid.runtime.delivering import Post
from perseid.runtime.engine import Engine, first_planned
from perseid.runtime.housekeeping import Duty, housekeeping
from perseid.runtime.keys import digest, hint, new_key
from perseid.runtime.limiting import limiting, tending
from perseid.runtime.sites import Sites
from perseid.runtime.uid import new_uid
from perseid.worker.desk import Desk, Served
from perseid.worker.enroll import enroll
from perseid.worker.stop import Stop

_SEED_BITS = 62
_DEFAULT_NAME = "default"
_SLOT_WAIT_S = 40.0
_MAP_DEADLINE_S = 300.0
_MAP_CONCURRENCY = 8
_EXTRACT_LINKS = 5_000
_PAGE_OF_ROWS = 1_000
_FEW_URLS = 1_000
_REMEMBERED_S = 2.0
_LOWERED = 10
"""Times that a limit is lowered to what others of the team have left."""
_MAP_KINDS = (JobKind.KICKOFF, JobKind.SITEMAP)


class Scraped(NamedTuple):
    """A page that somebody waited for: a document, or a `code` (of a failure, or of a refusal in lower case)."""

    uid: str
    document: Document | None
    code: str = ""
    message: str = ""
    status: int | None = None
    waited_s: float = 0.0
    """For a slot of the team or the host."""


class Mapped(NamedTuple):
    uid: str
    links: list[MapLink]
    warning: str | None


class Service(Asking):
    """One process's server half: scrapes and maps run here, crawls and batches by whoever works on the store."""

    def __init__(self, engine: Engine, desk: Desk, post: Post, limits: Limits) -> None:
        super().__init__(engine)
        self.limits = limits
        self._desk = desk
        self._post = post
        self._known_teams: dict[int, tuple[float, int | None]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path, settings: Settings, *, render: Render | None = None) -> AsyncIterator[Service]:
        """Open or create the store in `folder`, with the duties of one process running.

        With `render`, which makes of a document what receivers of webhooks expect, those of a server as well.
        """
        engine = await Engine.open(folder, settings, allow_named_host=False)
        stop = Stop()
        try:
            async with _at_work(engine, stop, render) as (desk, post, limits):
                await engine.store.put_team(_standard_team(settings))
                service = cls(engine, desk, post, limits)
                try:
                    yield service
                finally:
                    await service.close()
        except BaseExceptionGroup as group_error:
            raise first_planned(group_error) from group_error
        finally:
            await engine.close()

    # Beginning

    async def start_crawl(self, url: str, options: CrawlOptions, terms: Terms) -> Crawl:
        """Raises `InvalidURL`, `ConfigError`, `KeyUsed`, `QuotaExceeded`."""
        warned = terms
        for _ in range(_LOWERED):
            try:
                return await self._start(self._new_crawl(url, options, warned))
            except QuotaExceeded as error:
                if error.left < 1:
                    raise
                options = msgspec.structs.replace(options, limit=error.left)
                sentence = f"the limit was lowered to {error.left} pages: that is what is left of the team's quota"
                warned = msgspec.structs.replace(terms, warnings=(*terms.warnings, sentence))
        raise Busy("others of the team begin crawls faster than their quota can be told", retry_after_s=1)

    async def start_batch(
        self, urls: Sequence[str], options: ScrapeOptions, terms: Terms, *, max_concurrency: int | None = None
    ) -> Crawl:
        """Raises `InvalidURL`, `ConfigError`, `KeyUsed`, `QuotaExceeded`."""
        make = partial(
            new_batch,
            urls,
            options,
            uid=new_uid(),
            key_seed=secrets.randbits(_SEED_BITS),
            terms=self._kept(terms),
            max_concurrency=max_concurrency,
        )
        # Others are served meanwhile.
        return await self._start(make() if len(urls) <= _FEW_URLS else await asyncio.to_thread(make))

    async def start_extract(self, request: ExtractRequest, scrape: ScrapeOptions, terms: Terms) -> Crawl:
        """Its uid is that of the extract. Raises `ConfigError`, `InvalidURL`, `Unavailable`, `QuotaExceeded`."""

        async def map_site(url: str) -> list[MapLink]:
            options = CrawlOptions(scope=ScopeRules(entire_domain=True))
            mapped = await self.map(url, options, terms, limit=_EXTRACT_LINKS, search=None, timeout_s=_MAP_DEADLINE_S)
            return mapped.links

        async def start(urls: Sequence[str], options: ScrapeOptions) -> Crawl:
            return await self.start_batch(urls, options, terms)

        return await start_extract(request, scrape, map_site=map_site, search=self._search, start_batch=start)

    async def append(self, crawl: Crawl, urls: Sequence[str]) -> int:
        """Further pages for a batch, which goes on if it had completed; the number admitted."""
        more = new_batch(urls, ScrapeOptions(), uid=crawl.uid, key_seed=crawl.key_seed)
        admitted = await self.store.append(crawl.id, more.first)
        self._post.begun()
        return admitted

    def _new_crawl(self, url: str, options: CrawlOptions, terms: Terms) -> NewCrawl:
        return new_crawl(
            url,
            options,
            uid=new_uid(),
            key_seed=secrets.randbits(_SEED_BITS),
            blocked_hosts=self.engine.block_list.entries(),
            terms=self._kept(terms),
        )

    def _kept(self, terms: Terms) -> Terms:
        return msgspec.structs.replace(terms, ttl_s=terms.ttl_s or self.settings.retention.crawl_ttl_s)

    async def _start(self, new: NewCrawl) -> Crawl:
        if self.settings.webhook.url:
            new = tell_operator(new)
        number = await self.store.start(new)
        self._post.begun()
        crawl = await self.store.crawl_by_id(number)
        self._trace(new)
        return crawl

    def _trace(self, new: NewCrawl) -> None:
        if trace.wanted():
            trace.traces().crawl_started(new.uid, new.kind.value, None if new.zero_retention else new.url)

    async def _most(self, team: int) -> int | None:
        """Pages it may have in flight, as it was at most two seconds ago."""
        now = self.engine.clock.monotonic_s()
        known = self._known_teams.get(team)
        if known is None or now - known[0] >= _REMEMBERED_S:
            known = self._known_teams[team] = (now, (await self.store.team(team)).max_active)
        return known[1]

    # Waiting for one page

    async def scrape(self, url: str, options: ScrapeOptions, terms: Terms, *, timeout_s: float | None) -> Scraped:
        """One page, now. Raises `Busy`, `InvalidURL`, `ConfigError`, `QuotaExceeded`."""
        new = new_batch(
            [url],
            options,
            uid=new_uid(),
            key_seed=secrets.randbits(_SEED_BITS),
            terms=self._kept(terms),
            kind=CrawlKind.SCRAPE,
        )
        self._trace(new)
        wait_s = _SLOT_WAIT_S if timeout_s is None else timeout_s * 2 / 3
        try:
            most = await self._most(terms.team)
            served = await self._desk.serve(new, timeout_s=timeout_s, wait_s=wait_s, most=most)
        except TimeoutError:
            message = f"the page was not ready within {timeout_s:g} s"
            return Scraped(new.uid, None, FailureCode.TIMEOUT.value, message)
        outcome = await self._outcome(new.uid, served)
        if terms.zero_retention:
            await self.store.mark_delivered(served.crawl, 1)
        return outcome

    async def scraped(self, team: int, uid: str) -> Scraped:
        """The outcome of an earlier scrape. Raises `NotFound`."""
        crawl = await self.crawl(team, uid)
        if crawl.kind is not CrawlKind.SCRAPE:
            raise NotFound(f"{uid} is no scrape")
        return await self._outcome(uid, Served(crawl.id, None, 0.0))

    async def _outcome(self, uid: str, served: Served) -> Scraped:
        if served.finished is None:
            return await self._stored_outcome(uid, served)
        match served.finished.end:
            case Done(document=stored) | Failed(document=stored) if stored is not None:
                document = stored.whole or await self._read(stored.body, stored.blob)
                return Scraped(uid, document, status=document.status, waited_s=served.waited_s)
            case Failed() as failed:
                return Scraped(uid, None, failed.code, failed.message, failed.status, served.waited_s)
            case Refused() as refused:
                denial = refused.denial
                return Scraped(uid, None, denial.reason.value.lower(), denial.message, waited_s=served.waited_s)
        return Scraped(uid, None, FailureCode.INTERNAL.value, "the page ended without an outcome")

    async def _stored_outcome(self, uid: str, served: Served) -> Scraped:
        for row in await self.store.documents(served.crawl, limit=1):
            document = await self._read(row.body, row.blob)
            return Scraped(uid, document, status=document.status, waited_s=served.waited_s)
        for failure in await self.store.failures(served.crawl, limit=1):
            return Scraped(uid, None, failure.code, failure.message, failure.status, served.waited_s)
        crawl = await self.store.crawl_by_id(served.crawl)
        told = await explaining.explain(self.store, crawl, crawl.url)
        return Scraped(uid, None, told.reason.lower() or told.state, told.message, told.status, served.waited_s)

    # Mapping

    async def map(
        self,
        url: str,
        options: CrawlOptions,
        terms: Terms,
        *,
        limit: int,
        search: str | None,
        timeout_s: float | None,
    ) -> Mapped:
        """The URLs of a site from its sitemaps, its start page and, by the terms, what the team knows of it.

        Raises `TimeoutError`, `InvalidURL`, `ConfigError`, `QuotaExceeded`.
        """
        new = self._new_crawl(url, options, terms)
        deadline_us = int((timeout_s or _MAP_DEADLINE_S) * 1_000_000)
        crawl = await self._start(msgspec.structs.replace(new, kind=CrawlKind.MAP, deadline_us=deadline_us))
        try:
            async with asyncio.timeout(timeout_s):
                await self._desk.drain(crawl.id, _MAP_KINDS, concurrency=_MAP_CONCURRENCY)
        finally:
            await asyncio.shield(self.store.cancel(crawl.id))
        links = await self._admitted(crawl)
        warning = await self._why_little(crawl) if len(links) <= 1 else None
        return Mapped(crawl.uid, rank(links, search)[:limit], warning)

    async def _admitted(self, crawl: Crawl) -> list[MapLink]:
        links: list[MapLink] = []
        after = 0
        while rows := await self.store.admitted(crawl.id, after=after, limit=_PAGE_OF_ROWS):
            links += [MapLink(url=found) for _job, found in rows]
            after = rows[-1][0]
        return links

    async def _why_little(self, crawl: Crawl) -> str | None:
        told = await explaining.explain(self.store, crawl, crawl.url)
        if told.state in {JobState.FAILED, JobState.DENIED}:
            return f"The start page could not be read: {told.message} ({told.reason})"
        return None

    def sites(self, team: int, *, author: str = "", team_name: str = "") -> Sites:
        """Rules, seeds, items and sinks of a team; `author` is who publishes."""
        own = team == DEFAULT_TEAM
        return Sites(self.engine, team, author=author, team_name=None if own else team_name)

    # Teams

    async def create_key(self, team: str, name: str, limits: dict[str, int]) -> tuple[str, Key]:
        """A new key for the team of that name, which is made, or given these limits, if need be: (secret, key).

        Raises `ConfigError` for limits of the default team.
        """
        if limits and team == _DEFAULT_NAME:
            raise ConfigError(
                "the limits of the default team are settings: PERSEID_TEAM__MAX_ACTIVE,"
                " PERSEID_TEAM__REQUESTS_PER_MINUTE, PERSEID_TEAM__PAGES_PER_PERIOD"
            )
        known = next((found for found in await self.store.teams() if found.name == team), None)
        if known is None:
            standard = msgspec.structs.replace(_standard_team(self.settings), id=0, name=team)
            known = await self.store.put_team(msgspec.structs.replace(standard, **limits))
        elif limits:
            known = await self.store.put_team(msgspec.structs.replace(known, **limits))
        secret = new_key()
        return secret, await self.store.add_key(known.id, name=name, hint=hint(secret), digest=digest(secret))

    async def team(self, team: int) -> Team:
        return await self.store.team(team)

    async def load(self, team: int) -> Load:
        return await self.store.load(team)

    async def usage(self, team: int) -> list[Usage]:
        return await self.store.usage(team)


@asynccontextmanager
async def _at_work(engine: Engine, stop: Stop, render: Render | None) -> AsyncIterator[tuple[Desk, Post, Limits]]:
    """The desk, the limits and all duties of this process, which end with it."""
    desk: Desk
    async with engine.delivering(lambda: desk.worker, takes=False) as post:
        desk = Desk(
            engine.store,
            engine.store,
            engine.executor,
            enroll=lambda: enroll(engine.store),
            clock=engine.clock,
            lease_s=engine.lease_s,
            listen=post.delivery.listen,
        )
        await desk.open()
        async with (
            limiting(
                engine.settings.limit,
                engine.store,
                whose=lambda: desk.worker,
                clock=engine.clock,
                shared=engine.shared,
            ) as limits,
            _server_duties(engine, stop, render) as own,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(desk.run(stop))
            group.create_task(tending(limits, stop))
            for duty in [*engine.duties(desk, stop), *post.duties(None, stop), *own]:
                group.create_task(duty)
            try:
                yield desk, post, limits
            finally:
                stop.ask()


def _server_duties(engine: Engine, stop: Stop, render: Render | None) -> AbstractAsyncContextManager[list[Duty]]:
    return nullcontext([]) if render is None else housekeeping(engine, stop, render=render)


def _standard_team(settings: Settings) -> Team:
    """The default team, with the operator's settings as its limits."""
    return Team(
        id=DEFAULT_TEAM,
        name=_DEFAULT_NAME,
        max_active=settings.team.max_active,
        requests_per_minute=settings.team.requests_per_minute or None,
        pages_per_period=settings.team.pages_per_period or None,
    )
