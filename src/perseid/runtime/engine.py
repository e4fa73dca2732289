"""One process's engine: store, fetcher and executor wired together from settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path

from perseid.answers.compare import Comparer
from perseid.answers.enrich import Enricher
from perseid.config.settings import Settings
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
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.observe import metrics, trace
from perseid.observe.telemetry import LogTelemetry, SeveralTelemetries
from perseid.ports.store import HostDefaults
from perseid.ports.telemetry import Telemetry
from perseid.runtime.backends import language_model
from perseid.runtime.blocklist import BlockList
from perseid.runtime.clock import SystemClock
from perseid.store.blobs import FileBlobs
from perseid.store.sqlite.store import SqliteStore
from perseid.worker.duties import auditor, checkpointer, heartbeat, sweeper
from perseid.worker.duties.reaper import Reaper
from perseid.worker.enroll import enroll
from perseid.worker.loop import LoopOptions, WorkerLoop
from perseid.worker.stop import Stop

DATABASE = "perseid.db"
_CHECKPOINT_S = 1.0
_JOB_DEADLINE_S = 180.0
_LEASE_MARGIN_S = 30.0


def host_defaults(settings: Settings) -> HostDefaults:
    politeness = settings.politeness
    return HostDefaults(
        max_active=politeness.per_host,
        interval_us=int(1_000_000 / politeness.rate_per_host),
        burst=politeness.burst_per_host,
        give_up_after=politeness.give_up_after,
        give_up_after_us=int(politeness.give_up_after_s * 1_000_000),
        max_backoff_us=int(politeness.max_backoff_s * 1_000_000),
        global_interval_us=int(1_000_000 / politeness.global_rate),
        global_burst=politeness.global_burst,
    )


def first_planned(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Callers know our errors, not how many tasks it took to meet them: the first of ours, or the whole group."""
    found: BaseException | None = group.subgroup(PerseidError)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found or group


def _telemetry() -> Telemetry:
    listeners: list[Telemetry] = [LogTelemetry()]
    if metrics.wanted():
        listeners.append(metrics.metrics())
    if trace.wanted():
        listeners.append(trace.traces())
    return SeveralTelemetries(listeners) if len(listeners) > 1 else listeners[0]


class Engine:
    """Everything one process needs to run jobs of a store's folder. Close it when done."""

    def __init__(self, folder: Path, settings: Settings, store: SqliteStore, *, allow_named_host: bool) -> None:
        self.folder = folder
        self.allow_named_host = allow_named_host
        self.settings = settings
        self.store = store
        self.blobs = FileBlobs(folder / "blobs")
        self.clock = SystemClock()
        self.telemetry = _telemetry()
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
        self.executor = self._executor(allow_named_host=allow_named_host)

    @classmethod
    async def open(cls, folder: Path, settings: Settings, *, allow_named_host: bool = True) -> Engine:
        """Raises `StoreUnavailable`, `StoreCorrupt`, `ConfigError`."""
        store = await SqliteStore.open(
            folder / DATABASE,
            defaults=host_defaults(settings),
            busy_timeout_s=settings.store.busy_timeout_s,
            wal_limit_bytes=settings.store.wal_limit_bytes,
        )
        return cls(folder, settings, store, allow_named_host=allow_named_host)

    def _executor(self, *, allow_named_host: bool) -> Executor:
        fetch = self.settings.fetch
        contexts = Contexts(self.store, self.robots, self._blocked)
        policy = FetchPolicy(
            max_html_bytes=fetch.max_html_bytes,
            max_document_bytes=fetch.max_document_bytes,
            max_redirects=fetch.max_redirects,
            max_crawl_delay_s=self.settings.robots.max_crawl_delay_s,
            proxy=fetch.proxy or None,
            allow_named_host=allow_named_host,
        )
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
            contexts=contexts,
            policy=policy,
            pages=pages,
            sitemaps=SitemapJob(self.store),
            clock=self.clock,
            telemetry=self.telemetry,
            deadline_s=_JOB_DEADLINE_S,
        )

    @property
    def lease_s(self) -> float:
        """Longer than any job may take."""
        return _JOB_DEADLINE_S + _LEASE_MARGIN_S

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
        loop = WorkerLoop(
            self.store,
            self.executor,
            options,
            enroll=lambda: enroll(self.store),
            clock=self.clock,
            telemetry=self.telemetry,
        )
        ended = Stop()
        try:
            async with asyncio.TaskGroup() as group:
                for duty in self.duties(loop, ended):
                    group.create_task(duty)
                try:
                    await loop.run(stop, over)
                finally:
                    ended.ask()
        except BaseExceptionGroup as group:
            raise first_planned(group) from group

    def duties(self, loop: heartbeat.Beating, stop: Stop) -> list[Coroutine[None, None, None]]:
        store, telemetry, worker = self.store, self.telemetry, self.settings.worker
        reaper = Reaper(store, self.clock, telemetry, every_s=worker.beat_s, dead_after_s=worker.dead_after_s)
        return [
            heartbeat.run(store, loop, telemetry, stop, every_s=worker.beat_s),
            reaper.run(stop),
            sweeper.run(store, telemetry, stop, every_s=worker.sweep_s),
            checkpointer.run(store, telemetry, stop, every_s=_CHECKPOINT_S),
            auditor.run(store, telemetry, stop, every_s=worker.audit_s),
        ]
