"""The one executor: a lease in, what it brought home out. Never raises for anything a site or a page does."""

from __future__ import annotations

import asyncio
import random

from perseid.crawls.chain import Chain, FetchPolicy
from perseid.crawls.context import Contexts, CrawlContext
from perseid.crawls.outcome import retry_delay_us
from perseid.crawls.page import PageJob
from perseid.crawls.sitemap import SitemapJob
from perseid.errors import ConfigError, NotFound, PerseidError, StoreError
from perseid.model.job import JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.clock import Clock
from perseid.ports.fetch import Fetcher, RobotsSource
from perseid.ports.store import Again, End, Failed, Finished, Lease
from perseid.ports.telemetry import Run, Telemetry

_OWN_TROUBLE_PAUSE_US = 5_000_000


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
    ) -> None:
        self._fetcher = fetcher
        self._robots = robots
        self._contexts = contexts
        self._policy = policy
        self._pages = pages
        self._sitemaps = sitemaps
        self._clock = clock
        self._telemetry = telemetry
        self._deadline_s = deadline_s

    async def run(self, lease: Lease) -> Finished:
        started = self._clock.monotonic_s()
        try:
            context = await self._contexts.get(lease.crawl)
        except NotFound:
            # Pruned while it waited here; the step will drop whatever comes back.
            return Finished(lease=lease, end=Again())
        except (ConfigError, StoreError) as error:
            return Finished(lease=lease, end=self._put_off(lease, error))
        finished = await self._run(lease, context)
        seconds = self._clock.monotonic_s() - started
        self._telemetry.job_finished(Run(finished, context.crawl.uid, context.keeps, seconds))
        return finished

    async def _run(self, lease: Lease, context: CrawlContext) -> Finished:
        chain = Chain(
            lease,
            context,
            fetcher=self._fetcher,
            robots=self._robots,
            contexts=self._contexts,
            policy=self._policy,
            clock=self._clock,
        )
        done = await self._work(lease, chain)
        return done if isinstance(done, Finished) else Finished(lease=lease, end=done, hosts=chain.learnt)

    async def _work(self, lease: Lease, chain: Chain) -> Finished | End:
        try:
            async with asyncio.timeout(self._deadline_s):
                if lease.kind is JobKind.SITEMAP:
                    return await self._sitemaps.run(lease, chain)
                return await self._pages.run(lease, chain)
        except TimeoutError:
            return _overdue(lease, chain.context.options.scrape.max_attempts, self._deadline_s)
        except (ConfigError, StoreError) as error:
            return self._put_off(lease, error)
        except Exception as error:  # noqa: BLE001 - a bug of ours must cost one page, not the crawl
            self._telemetry.internal_error(lease, error)
            return Failed(code=FailureCode.INTERNAL.value, message=f"{type(error).__name__}: {error}"[:500])
        finally:
            if lease.kind is JobKind.KICKOFF:
                # Whoever ends the kickoff, here or elsewhere, may move the crawl to another start page.
                self._contexts.forget(lease.crawl)

    def _put_off(self, lease: Lease, error: PerseidError) -> End:
        """Our own disk, database or block list is in trouble: the page is not to blame, and nothing is written."""
        self._telemetry.trouble("store.failed", f"job {lease.job} is put off: {error}")
        return Again(delay_us=_OWN_TROUBLE_PAUSE_US, code=error.code, message=str(error), hops=lease.hops)


def _overdue(lease: Lease, max_attempts: int, deadline_s: float) -> End:
    message = f"the job did not end within {deadline_s:g} s"
    if lease.attempts + 1 >= max_attempts:
        return Failed(code=FailureCode.TIMEOUT.value, message=message)
    delay_us = retry_delay_us(lease.attempts, random.random())  # noqa: S311 - spreads retries, guards nothing
    # With the chain as it was: the job stands in the lane of the host it was at.
    return Again(delay_us=delay_us, attempted=True, code=FailureCode.TIMEOUT.value, message=message, hops=lease.hops)
