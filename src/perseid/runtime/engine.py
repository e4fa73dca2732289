"""One process's engine: store, fetcher and executor wired together from settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from pathlib import Path
from typing import TypeAlias

from perseid.answers.compare import Comparer
from perseid.answers.enrich import Enricher
from perseid.config.settings import DeliverySettings, Settings
from perseid.crawls.cache import CachingFetcher
from perseid.crawls.chain import FetchPolicy
from perseid.crawls.change import ChangeTracker
from perseid.crawls.context import Contexts
from perseid.crawls.convert import Converter
from perseid.crawls.executor import Executor
from perseid.crawls.page import PageJob
from perseid.crawls.revalidate import RevalidatingFetcher
from perseid.crawls.sitemap import SitemapJob
from perseid.errors import PerseidError
from perseid.fetch.guard import Allowance
from perseid.fetch.http import HttpFetcher
from perseid.fetch.pool import PoolOptions
from perseid.fetch.robots_cache import RobotsCache
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.observe import metrics, trace
from perseid.observe.telemetry import LogTelemetry, SeveralTelemetries
from perseid.ports.blob import Blobs
from perseid.ports.store import Drain
from perseid.ports.telemetry import Telemetry
from perseid.ports.truth import Truth
from perseid.runtime.backends import language_model
from perseid.runtime.blocklist import BlockList
from perseid.runtime.clock import SystemClock
from perseid.runtime.collecting import Collecting
from perseid.runtime.delivering import Post, delivering
from perseid.runtime.sinking import write_to_sinks
from perseid.runtime.stores import is_shared, open_store
from perseid.runtime.watching import watch_alarms
from perseid.worker.duties import auditor, checkpointer, heartbeat, sweeper
from perseid.worker.duties.reaper import Reaper
from perseid.worker.enroll import enroll
from perseid.worker.loop import LoopOptions, WorkerLoop
from perseid.worker.stop import Stop

_CHECKPOINT_S = 1.0
_JOB_DEADLINE_S = 180.0
"""Of pages and sitemaps of crawls."""
_LONGEST_JOB_S = 1_200.0
"""Of any kind: a rule may give a request 600 s. Who dies is noticed by his beat, long before his leases are over."""
_LEASE_MARGIN_S = 30.0


_Duty: TypeAlias = Callable[[Stop], Coroutine[None, None, None]]


def _begun(loop: WorkerLoop, post: Post) -> None:
    """Work was begun in this process: its own worker is to look, and whoever is idle elsewhere."""
    loop.nudge()
    post.begun()


def first_planned(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Callers know our errors, not how many tasks it took to meet them: the first of ours, or the whole group."""
    found: BaseException | None = group.subgroup(PerseidError)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found or group


def _telemetry(others: Sequence[Telemetry]) -> Telemetry:
    listeners: list[Telemetry] = [LogTelemetry(), *others]
    if metrics.wanted():
        listeners.append(metrics.metrics())
    if trace.wanted():
        listeners.append(trace.traces())
    return SeveralTelemetries(listeners) if len(listeners) > 1 else listeners[0]


class Engine:
    """Everything one process needs to run jobs of a store. Close it when done."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        store: Truth,
        blobs: Blobs,
        *,
        allow_named_host: bool,
        listeners: Sequence[Telemetry] = (),
    ) -> None:
        self.folder = folder
        self.allow_named_host = allow_named_host
        self.settings = settings
        self.shared = is_shared(settings)
        """The store is that of many folders and machines; else it lies in `folder`, and is all there is."""
        self.drained = Drain.NO
        """What the operator asked of this process."""
        self.store = store
        self.blobs = blobs
        self.clock = SystemClock()
        self.telemetry = _telemetry(listeners)
        self.block_list = BlockList(settings.politeness.block_list, settings.politeness.blocked_hosts)
        fetch = settings.fetch
        self.fetcher = HttpFetcher(
            user_agent=fetch.user_agent,
            allowance=Allowance.parse(fetch.allow_private),
            trusted_proxies=(fetch.proxy,) if fetch.proxy and fetch.trust_proxy else (),
            pool=PoolOptions(connect_timeout_s=fetch.connect_timeout_s),
        )
        self.robots = RobotsCache(
            self.fetcher, self.clock, store=store, agents=settings.robots.agents, ttl_s=settings.robots.ttl_s
        )
        self.converter = Converter()
        self.model = language_model(settings.llm, self.clock)
        self.contexts = Contexts(store, self.robots, self._blocked)
        self.bounds = self._bounds(allow_named_host=allow_named_host)
        self.executor = self._executor()

    @classmethod
    async def open(
        cls,
        folder: Path,
        settings: Settings,
        *,
        allow_named_host: bool = True,
        listeners: Sequence[Telemetry] = (),
    ) -> Engine:
        """Of the store of the settings, or of the one in `folder`; `listeners` hear of what is done.

        Raises `StoreUnavailable`, `StoreCorrupt`, `ConfigError`, `MissingExtra`.
        """
        store, blobs = await open_store(folder, settings)
        try:
            return cls(folder, settings, store, blobs, allow_named_host=allow_named_host, listeners=listeners)
        except BaseException:
            await store.close()
            raise

    def _bounds(self, *, allow_named_host: bool) -> FetchPolicy:
        fetch = self.settings.fetch
        return FetchPolicy(
            max_html_bytes=fetch.max_html_bytes,
            max_document_bytes=fetch.max_document_bytes,
            max_redirects=fetch.max_redirects,
            max_crawl_delay_s=self.settings.robots.max_crawl_delay_s,
            give_up_after=self.settings.politeness.give_up_after,
            proxy=fetch.proxy or None,
            allow_named_host=allow_named_host,
        )

    def _executor(self) -> Executor:
        pages = PageJob(
            converter=self.converter,
            blobs=self.blobs,
            robots=self.robots,
            clock=self.clock,
            blob_bytes=self.settings.store.blob_bytes,
            index=self.store.known,
            changes=ChangeTracker(self.store.known, Comparer(self.model, timeout_s=self.settings.llm.timeout_s)),
            enricher=Enricher(
                self.model,
                timeout_s=self.settings.llm.timeout_s,
                within_s=_JOB_DEADLINE_S - _LEASE_MARGIN_S / 2,
            ),
        )
        return Executor(
            fetcher=CachingFetcher(RevalidatingFetcher(self.fetcher, self.store.pages), self.store.pages, self.clock),
            robots=self.robots,
            contexts=self.contexts,
            policy=self.bounds,
            pages=pages,
            sitemaps=SitemapJob(self.store),
            clock=self.clock,
            telemetry=self.telemetry,
            deadline_s=_JOB_DEADLINE_S,
        )

    @property
    def lease_s(self) -> float:
        """Longer than any job may take."""
        return _LONGEST_JOB_S + _LEASE_MARGIN_S

    def _blocked(self) -> Sequence[str]:
        return self.block_list.entries()

    async def close(self) -> None:
        await self.fetcher.close()
        await self.model.close()
        await self.store.close()

    async def work(
        self,
        stop: Stop,
        over: Callable[[], Awaitable[bool]],
        *,
        concurrency: int,
        only: CrawlId | None = None,
        kinds: tuple[JobKind, ...] = tuple(JobKind),
    ) -> None:
        """Run a worker and its duties until stopped, or until nothing is left to wait for."""
        worker = self.settings.worker
        options = LoopOptions(
            concurrency=concurrency,
            batch_pages=self.settings.store.batch_pages,
            batch_bytes=self.settings.store.batch_bytes,
            poll_s=worker.poll_s if only is None else min(worker.poll_s, 0.25),
            grace_s=worker.grace_s,
            lease_s=self.lease_s,
            only=only,
            kinds=kinds,
        )
        loop: WorkerLoop
        # A crawl in a folder of its own is nobody else's business.
        alone = only is not None and not self.shared
        collecting = Collecting(self, whose=lambda: loop.worker)
        async with (
            aclosing(collecting),
            self.delivering(lambda: loop.worker, takes=only is None, alone=alone) as post,
        ):
            loop = WorkerLoop(
                self.store,
                self.executor.serving(collecting.runners),
                options,
                enroll=lambda: enroll(self.store, slots=concurrency, kinds=kinds),
                clock=self.clock,
                telemetry=self.telemetry,
                news=post.tickets,
            )
            own: list[_Duty] = []
            if only is None:
                scheduler = collecting.scheduler(partial(_begun, loop, post))
                sinks = partial(write_to_sinks, self, lambda: loop.worker)
                own = [scheduler.run, sinks, partial(watch_alarms, self)]
            await self._run(loop, post, stop, over, own)

    async def _run(
        self, loop: WorkerLoop, post: Post, stop: Stop, over: Callable[[], Awaitable[bool]], own: Sequence[_Duty]
    ) -> None:
        ended = Stop()

        def drain(how: Drain) -> None:
            self.drained = how
            stop.ask()

        try:
            async with asyncio.TaskGroup() as group:
                for duty in [*self.duties(loop, ended, on_drain=drain), *post.duties(loop, ended)]:
                    group.create_task(duty)
                for begin in own:
                    group.create_task(begin(ended))
                try:
                    await loop.run(stop, over)
                finally:
                    ended.ask()
        except BaseExceptionGroup as group:
            raise first_planned(group) from group

    def delivering(
        self, whose: Callable[[], WorkerId], *, takes: bool, alone: bool = False
    ) -> AbstractAsyncContextManager[Post]:
        """How this process hears of work and tells of it; `takes` if a worker loop does. See `delivering`."""
        settings = DeliverySettings() if alone else self.settings.delivery
        return delivering(
            settings, self.store, whose=whose, takes=takes, alone=alone, clock=self.clock, telemetry=self.telemetry
        )

    def duties(
        self, loop: heartbeat.Beating, stop: Stop, *, on_drain: Callable[[Drain], None] | None = None
    ) -> list[Coroutine[None, None, None]]:
        store, telemetry, worker = self.store, self.telemetry, self.settings.worker
        reaper = Reaper(store, self.clock, telemetry, every_s=worker.beat_s, dead_after_s=worker.dead_after_s)
        return [
            heartbeat.run(store, loop, telemetry, stop, every_s=worker.beat_s, on_drain=on_drain),
            reaper.run(stop),
            sweeper.run(store, telemetry, stop, every_s=worker.sweep_s),
            checkpointer.run(store, telemetry, stop, every_s=_CHECKPOINT_S),
            auditor.run(store, telemetry, stop, every_s=worker.audit_s),
        ]
