"""The part of the machine that does by hand what people and servers do: scrapes, more URLs, retries, cancelled jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import JobId
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Lease, NewUrl
from perseid.testing.conformance.store.backend import SECOND, HandClock
from perseid.testing.conformance.store.desk import Desk
from perseid.testing.conformance.store.moves import SOME_URLS, UNIVERSE
from perseid.testing.conformance.store.oracle import CrawlModel, Oracle

T = TypeVar("T")
DEFAULTS = HostDefaults(max_active=2, interval_us=0, global_interval_us=0, give_up_after=10**6, give_up_after_us=10**15)
LEASE_US = 120 * SECOND
picks = st.integers(0, 10**6)
sides = st.integers(0, 1)


class ByHand(RuleBasedStateMachine):
    """What both parts of the machine stand on, and the moves of this one."""

    desks: list[Desk]
    clock: HandClock

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.sound = True
        self.oracle = Oracle(DEFAULTS.max_active)
        self.scrapes = 0
        self.over: list[Lease] = []
        """Leases that are no longer anybody's."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        self.sound = False
        result = self.runner.run(work)
        self.sound = True
        return result

    def _pick(self, pick: int) -> CrawlModel:
        return list(self.oracle.crawls.values())[pick % len(self.oracle.crawls)]

    def _numbers(self, crawl: CrawlModel) -> list[int]:
        """Of its jobs that the model does not know yet, in order."""
        return [job.job for job in self.run(self.desks[0].jobs(crawl.id)) if job.job not in crawl.jobs]

    @precondition(lambda self: len(self.oracle.crawls) < 7 and self.oracle.workers)
    @rule(side=sides, pick=picks, url=st.sampled_from(UNIVERSE), team=st.integers(1, 2))
    def take(self, side: int, pick: int, url: NewUrl, team: int) -> None:
        worker = self.oracle.workers[pick % len(self.oracle.workers)]
        self.scrapes += 1
        uid = f"scrape-{id(self)}-{self.scrapes}"
        new = NewCrawl(uid=uid, url=url.url, options=b"{}", key_seed=7, kind=CrawlKind.SCRAPE, team=team, first=(url,))
        crawl, lease = self.run(self.desks[side].store.take(new, worker, lease_us=LEASE_US))
        self.desks[0].uids[crawl] = uid
        model = CrawlModel(crawl, team, None, None, None, 0, is_batch=True)
        model.enlist([url], self._numbers(model))
        self.oracle.crawls[crawl] = model
        self.oracle.begin([url])
        if lease is not None:
            self.oracle.claimed(worker, [lease], self.clock.now)

    @precondition(lambda self: any(crawl.is_batch for crawl in self.oracle.crawls.values()))
    @rule(side=sides, pick=picks, urls=SOME_URLS)
    def append(self, side: int, pick: int, urls: list[NewUrl]) -> None:
        batches = [crawl for crawl in self.oracle.crawls.values() if crawl.is_batch]
        crawl = batches[pick % len(batches)]
        known = {job.url for job in crawl.jobs.values()}
        fresh = [url for url in dict.fromkeys(urls) if url.url not in known and url.key not in crawl.refused]
        if self.run(self.desks[0].look(crawl.id)).kind is CrawlKind.SCRAPE:
            return
        goes_on = crawl.status in {CrawlStatus.SCRAPING, CrawlStatus.COMPLETED}
        admitted = self.run(self.desks[side].store.append(crawl.id, fresh))
        assert admitted == (min(len(fresh), crawl.room) if goes_on else 0)
        if goes_on:
            crawl.enlist(fresh, self._numbers(crawl))
        if admitted:
            if crawl.status is not CrawlStatus.SCRAPING:
                self.oracle.went_on(crawl, self.clock.now)
            crawl.status = CrawlStatus.SCRAPING
            self.oracle.begin(fresh[:admitted])

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks, which=st.sets(st.integers(0, 15), max_size=6))
    def retry_jobs(self, side: int, pick: int, which: set[int]) -> None:
        crawl, chosen = self._choose(pick, which)
        was_over = crawl.status is not CrawlStatus.SCRAPING
        expected = sum(crawl.retry(key) for key in chosen)
        if was_over:
            self.oracle.went_on(crawl, self.clock.now)
        assert self.run(self.desks[side].store.retry_jobs(list(chosen.values()))) == expected

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks, which=st.sets(st.integers(0, 15), max_size=6))
    def cancel_jobs(self, side: int, pick: int, which: set[int]) -> None:
        crawl, chosen = self._choose(pick, which)
        expected = sum(crawl.cancel(key) for key in chosen)
        assert self.run(self.desks[side].store.cancel_jobs(list(chosen.values()))) == expected
        crawl.settle()

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks, paused=st.sampled_from([False, False, True]))
    def pause(self, side: int, pick: int, *, paused: bool) -> None:
        crawl = self._pick(pick)
        expected = crawl.status is CrawlStatus.SCRAPING and crawl.paused is not paused
        assert self.run(self.desks[side].store.pause(crawl.id, paused=paused)) is expected
        if expected:
            crawl.paused = paused

    def _choose(self, pick: int, which: set[int]) -> tuple[CrawlModel, dict[int, JobId]]:
        """Some jobs of a crawl: their numbers by their keys."""
        crawl = self._pick(pick)
        numbers = {job.url: job.job for job in self.run(self.desks[0].jobs(crawl.id))}
        keys = list(crawl.jobs)
        return crawl, {keys[n]: numbers[crawl.jobs[keys[n]].url] for n in sorted(which) if n < len(keys)}
