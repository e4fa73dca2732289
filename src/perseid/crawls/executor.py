"""The one executor: a lease in, what it brought home out. Never raises for anything a site or a page does."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import random
from collections.abc import Mapping, Sequence
from typing import Protocol

from perseid.crawls.chain import Chain, FetchPolicy
from perseid.crawls.context import Contexts
from perseid.crawls.outcome import retry_delay_us
from perseid.crawls.page import PageJob
from perseid.crawls.sitemap import SitemapJob
from perseid.errors import ConfigError, NotFound, PerseidError, StoreError
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.clock import Clock
from perseid.ports.fetch import Fetcher, RobotsSource
from perseid.ports.store import NewCrawl
from perseid.ports.telemetry import Run, Telemetry
from perseid.ports.work import Again, End, Failed, Finished, HostNote, Lease

_OWN_TROUBLE_PAUSE_US = 5_000_000


class Work(Protocol):
    """One lease about to run, with what is known of it before anything is asked of a site."""

    @property
    def crawl(self) -> str:
        """Public id."""
        ...

    @property
    def shown(self) -> bool:
        """False under zero retention: nothing of the page may be written down."""
        ...

    @property
    def deadline_s(self) -> float:
        """It may take so long; shorter than any lease."""
        ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def learnt(self) -> Sequence[HostNote]:
        """What is known of its host by now, however the run ends."""
        ...

    async def run(self) -> Finished: ...


class Runner(Protocol):
    """Runs the leases of some kinds; one instance serves a worker."""

    async def begin(self, lease: Lease) -> Work:
        """Raises `NotFound` for what was pruned meanwhile, `ConfigError`, `StoreError`."""
        ...


class Executor:
    """Runs leases of every kind under a deadline that is shorter than the lease."""

    def __init__(  # noqa: PLR0913  # collaborators, each named where it is wired
        self,
        *,
        fetcher: Fetcher,
        robots: RobotsSource,
        contexts: Contexts,
        policy: FetchPolicy,
        pages: PageJob,
        sitemaps: SitemapJob,
        clock: Clock,
        telemetry: Telemetry,
        deadline_s: float,
        runners: Mapping[JobKind, Runner] | None = None,
    ) -> None:
        """`runners` have kinds of their own; all others are pages and sitemaps of crawls."""
        self._fetcher = fetcher
        self._robots = robots
        self._contexts = contexts
        self._policy = policy
        self._pages = pages
        self._sitemaps = sitemaps
        self._clock = clock
        self._telemetry = telemetry
        self._deadline_s = deadline_s
        self._runners = runners or {}

    def serving(self, runners: Mapping[JobKind, Runner]) -> Executor:
        """The same one with runners of further kinds."""
        other = copy.copy(self)
        other._runners = {**self._runners, **runners}  # noqa: SLF001 - one of its own kind
        return other

    def expect(self, crawl: CrawlId, new: NewCrawl) -> None:
        """A crawl that has just begun here, so that nothing need be read of it."""
        with contextlib.suppress(ConfigError):  # told when it runs
            self._contexts.expect(crawl, new)

    async def run(self, lease: Lease) -> Finished:
        started = self._clock.monotonic_s()
        runner = self._runners.get(lease.kind)
        try:
            work = await (self._page(lease) if runner is None else runner.begin(lease))
        except NotFound:
            # Pruned while it waited here; the step will drop whatever comes back.
            return Finished(lease=lease, end=Again())
        except (ConfigError, StoreError) as error:
            return Finished(lease=lease, end=self._put_off(lease, error))
        done = await self._bounded(lease, work)
        finished = done if isinstance(done, Finished) else Finished(lease=lease, end=done, hosts=work.learnt)
        seconds = self._clock.monotonic_s() - started
        self._telemetry.job_finished(Run(finished, work.crawl, work.shown, seconds))
        return finished

    async def _page(self, lease: Lease) -> Work:
        chain = Chain(
            lease,
            await self._contexts.get(lease.crawl),
            fetcher=self._fetcher,
            robots=self._robots,
            contexts=self._contexts,
            policy=self._policy,
            clock=self._clock,
        )
        job = self._sitemaps if lease.kind is JobKind.SITEMAP else self._pages
        return _Page(chain, job, self._contexts, self._deadline_s)

    async def _bounded(self, lease: Lease, work: Work) -> Finished | End:
        try:
            async with asyncio.timeout(work.deadline_s):
                return await work.run()
        except TimeoutError:
            return _overdue(lease, work.max_attempts, work.deadline_s)
        except (ConfigError, StoreError) as error:
            return self._put_off(lease, error)
        except Exception as error:  # noqa: BLE001 - a bug of ours must cost one page, not the crawl
            self._telemetry.internal_error(lease, error)
            return Failed(code=FailureCode.INTERNAL.value, message=f"{type(error).__name__}: {error}"[:500])

    def _put_off(self, lease: Lease, error: PerseidError) -> End:
        """Our own disk, database or block list is in trouble: the page is not to blame, and nothing is written."""
        self._telemetry.trouble("store.failed", f"job {lease.job} is put off: {error}")
        return Again(delay_us=_OWN_TROUBLE_PAUSE_US, code=error.code, message=str(error), hops=lease.hops)


class _Page:
    """A page, a start page or a sitemap of a crawl."""

    def __init__(self, chain: Chain, job: PageJob | SitemapJob, contexts: Contexts, deadline_s: float) -> None:
        self._chain = chain
        self._job = job
        self._contexts = contexts
        self._context = chain.context
        self.deadline_s = deadline_s

    @property
    def crawl(self) -> str:
        return self._context.crawl.uid

    @property
    def shown(self) -> bool:
        return self._context.keeps

    @property
    def max_attempts(self) -> int:
        return self._chain.context.options.scrape.max_attempts

    @property
    def learnt(self) -> Sequence[HostNote]:
        return self._chain.learnt

    async def run(self) -> Finished:
        lease = self._chain.lease
        try:
            return await self._job.run(lease, self._chain)
        finally:
            if lease.kind is JobKind.KICKOFF:
                # Whoever ends the kickoff, here or elsewhere, may move the crawl to another start page.
                self._contexts.forget(lease.crawl)


def _overdue(lease: Lease, max_attempts: int, deadline_s: float) -> End:
    message = f"the job did not end within {deadline_s:g} s"
    if lease.attempts + 1 >= max_attempts:
        return Failed(code=FailureCode.TIMEOUT.value, message=message)
    delay_us = retry_delay_us(lease.attempts, random.random())  # noqa: S311 - spreads retries, guards nothing
    # With the chain as it was: the job stands in the lane of the host it was at.
    return Again(delay_us=delay_us, attempted=True, code=FailureCode.TIMEOUT.value, message=message, hops=lease.hops)
