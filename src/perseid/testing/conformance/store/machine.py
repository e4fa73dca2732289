"""Any sequence of moves, by two processes, leaves the store in agreement with the oracle."""

from __future__ import annotations

import random
from typing import ClassVar
from unittest import TestCase

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.job import JobKind
from perseid.ports.store import Beat
from perseid.ports.work import Done, Finished, HostNote, NewUrl
from perseid.testing.conformance.store.backend import SECOND, HandClock, NewBackend
from perseid.testing.conformance.store.by_hand import DEFAULTS, ByHand, picks, sides
from perseid.testing.conformance.store.desk import Desk, denied, document
from perseid.testing.conformance.store.moves import (
    OUTCOMES,
    PLANS,
    SOME_URLS,
    UNIVERSE,
    Outcome,
    Plan,
    any_outcome,
    bring_home,
)
from perseid.testing.conformance.store.oracle import VISIBLE, CrawlModel


class StoreMachine(ByHand):
    """Moves are made through either of two stores on one database; the invariants are checked after each."""

    new_backend: ClassVar[NewBackend]

    @initialize(plans=st.lists(PLANS, min_size=1, max_size=3))
    def open(self, plans: list[Plan]) -> None:
        async def opened() -> list[Desk]:
            backend, clock = type(self).new_backend(), HandClock()
            return [await Desk.open(backend, clock, DEFAULTS) for _ in range(2)]

        self.desks = self.run(opened())
        self.clock = self.desks[0].clock
        self.desks[1].uids = self.desks[0].uids
        self.oracle.workers = [desk.worker for desk in self.desks]
        for plan in plans:
            self.start(side=0, plan=plan)

    def teardown(self) -> None:
        if not hasattr(self, "desks"):
            self.runner.close()
            return
        try:
            if self.sound:
                self.everything_comes_to_its_end()
        finally:
            for desk in self.desks:
                self.runner.run(desk.store.close())
            self.runner.run(self.desks[0].backend.dispose())
            self.runner.close()

    # Starting and ending crawls

    @precondition(lambda self: len(self.oracle.crawls) < 5)
    @rule(side=sides, plan=PLANS)
    def start(self, side: int, plan: Plan) -> None:
        jobs = plan.jobs()
        started = self.desks[side].start_with(
            jobs,
            kind=plan.kind,
            team=plan.team,
            limit=plan.limit,
            max_discovery_depth=plan.most,
            max_concurrency=plan.concurrency,
            delay_us=plan.delay_us,
        )
        model = CrawlModel(
            self.run(started),
            plan.team,
            plan.limit,
            plan.most,
            plan.concurrency,
            plan.delay_us,
            tuple(url.key for url in jobs),
            is_batch=plan.is_batch,
            is_run=plan.kind is CrawlKind.SEED,
        )
        if plan.is_batch:
            model.enlist(jobs, self._numbers(model))
        else:
            model.offer(jobs)
        model.settle()
        self.oracle.crawls[model.id] = model
        self.oracle.begin(jobs)

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks)
    def cancel(self, side: int, pick: int) -> None:
        crawl = self._pick(pick)
        was_running = crawl.status is CrawlStatus.SCRAPING
        assert self.run(self.desks[side].store.cancel(crawl.id)) is was_running
        if was_running:
            crawl.status = CrawlStatus.CANCELLED

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks, urls=SOME_URLS, refused=SOME_URLS)
    def add(self, side: int, pick: int, urls: list[NewUrl], refused: list[NewUrl]) -> None:
        crawl = self._pick(pick)
        if crawl.most is not None or crawl.is_batch:
            return
        before = len(crawl.jobs)
        refusals = [denied(url.url) for url in refused]
        admitted = self.run(self.desks[side].store.add(crawl.id, urls, denied=refusals))
        if crawl.status is CrawlStatus.SCRAPING:
            crawl.offer(urls)
            crawl.refuse(url.key for url in refused)
        assert admitted == len(crawl.jobs) - before

    @rule(side=sides)
    def sweep(self, side: int) -> None:
        self.run(self.desks[side].store.sweep(chunk=3))

    @rule(side=sides)
    def prune(self, side: int) -> None:
        ended = {crawl.id for crawl in self.oracle.crawls.values() if crawl.status is not CrawlStatus.SCRAPING}
        busy = {held.lease.crawl for held in self.oracle.held.values()}
        gone = set(self.run(self.desks[side].store.prune(ended_before_us=self.clock.now)))
        assert gone == ended - busy, "crawls that ended go, save those whose jobs still run"
        for crawl in gone:
            del self.oracle.crawls[crawl]
            del self.desks[0].uids[crawl]

    # Claiming and finishing

    @rule(side=sides, want=st.integers(1, 6), pick=picks)
    def claim(self, side: int, want: int, pick: int) -> None:
        if not self.oracle.workers:
            self.register(side=side)
        worker = self.oracle.workers[pick % len(self.oracle.workers)]
        while want > 0:
            leases = self.run(self.desks[side].claim(want, worker=worker))
            assert len(leases) <= want
            self.oracle.claimed(worker, leases, self.clock.now)
            want -= len(leases)
            if not leases:
                assert self.oracle.must_run(self.clock.now) == [], "stranded"
                return

    @precondition(lambda self: self.oracle.held)
    @rule(
        side=sides,
        pick=picks,
        ends=st.lists(OUTCOMES, min_size=1, max_size=3),
    )
    def finish(self, side: int, pick: int, ends: list[Outcome]) -> None:
        held = list(self.oracle.held.values())
        turned = held[pick % len(held) :] + held[: pick % len(held)]
        batch = [
            bring_home(one.lease, self.oracle.crawls[one.lease.crawl], outcome)
            for one, outcome in zip(turned, ends, strict=False)
        ]
        self._step(side, batch)

    def _step(self, side: int, batch: list[Finished]) -> None:
        crawls = [self.oracle.crawls[finished.lease.crawl] for finished in batch]
        expected = [crawl.status is CrawlStatus.SCRAPING for crawl in crawls]
        assert self.run(self.desks[side].step(batch)).kept == expected
        for finished, kept in zip(batch, expected, strict=True):
            self.oracle.record(finished, self.clock.now, kept=kept)
            self.over.append(finished.lease)
        for crawl in crawls:
            crawl.settle()

    @precondition(lambda self: self.oracle.held)
    @rule(side=sides, pick=picks, to=st.sampled_from(UNIVERSE))
    def finish_redirected(self, side: int, pick: int, to: NewUrl) -> None:
        lease = list(self.oracle.held.values())[pick % len(self.oracle.held)].lease
        crawl = self.oracle.crawls[lease.crawl]
        if crawl.most is not None or crawl.is_batch or lease.kind is JobKind.SITEMAP:
            return
        note = HostNote(host=lease.host, answered=True, request_age_us=0)
        end = Done(document=document(to.url))
        self._step(side, [Finished(lease=lease, end=end, final_key=to.key, final_url=to.url, hosts=[note])])

    @precondition(lambda self: self.oracle.waiting or self.oracle.held)
    @rule(seed=st.integers(0, 2**32), moves=st.integers(1, 40))
    def a_busy_while(self, seed: int, moves: int) -> None:
        """Many claims and finishes in a row, which single rules seldom come to."""
        chance = random.Random(seed)
        for _ in range(moves):
            side, pick = chance.randrange(2), chance.randrange(1_000)
            move = chance.randrange(12)
            if move < 4:
                self.claim(side=side, want=chance.randint(1, 5), pick=pick)
            elif move < 8 and self.oracle.held:
                self.finish(side=side, pick=pick, ends=[any_outcome(chance) for _ in range(chance.randint(1, 3))])
            elif move < 9 and self.oracle.held:
                self.finish_redirected(side=side, pick=pick, to=chance.choice(UNIVERSE))
            elif move < 10:
                self.retry_jobs(side=side, pick=pick, which={chance.randrange(16) for _ in range(4)})
            elif move < 11:
                self.cancel_jobs(side=side, pick=pick, which={chance.randrange(16) for _ in range(3)})
            else:
                self.time_passes(us=chance.choice((SECOND // 2, 3 * SECOND)))
            self.agrees()

    @precondition(lambda self: self.over)
    @rule(side=sides, pick=picks, urls=SOME_URLS)
    def finish_what_is_over(self, side: int, pick: int, urls: list[NewUrl]) -> None:
        lease = self.over[pick % len(self.over)]
        stale = Finished(lease=lease, end=Done(document=document(lease.url)), urls=urls)
        assert self.run(self.desks[side].step([stale])).kept == [False]

    # Workers, time and limits

    @rule(side=sides)
    def register(self, side: int) -> None:
        self.oracle.workers.append(self.run(self.desks[side].store.register("host", 1, 1)))

    @precondition(lambda self: self.oracle.workers)
    @rule(side=sides, pick=picks, die=st.booleans())
    def reap(self, side: int, pick: int, *, die: bool) -> None:
        now = self.clock.now
        dead = [self.oracle.workers[pick % len(self.oracle.workers)]] if die else []
        lost = [lock for lock, held in self.oracle.held.items() if held.worker in dead or held.lease.expires_at <= now]
        assert self.run(self.desks[side].store.reap(dead)) == len(lost)
        for lock in lost:
            self.over.append(self.oracle.held[lock].lease)
            self.oracle.give_back(lock, now)
        self.oracle.workers = [worker for worker in self.oracle.workers if worker not in dead]

    @precondition(lambda self: self.oracle.workers)
    @rule(side=sides, pick=picks)
    def beat(self, side: int, pick: int) -> None:
        worker = self.oracle.workers[pick % len(self.oracle.workers)]
        ended = {
            held.lease.crawl
            for held in self.oracle.held.values()
            if held.worker == worker and self.oracle.crawls[held.lease.crawl].status is not CrawlStatus.SCRAPING
        }
        assert self.run(self.desks[side].store.beat(worker)) == Beat(ended)

    @rule(us=st.sampled_from([1, SECOND // 2, SECOND, 3 * SECOND, 10 * SECOND, 121 * SECOND]))
    def time_passes(self, us: int) -> None:
        self.clock.advance(us)

    @rule(side=sides, team=st.integers(1, 2), most=st.none() | st.integers(1, 3))
    def limit_a_team(self, side: int, team: int, most: int | None) -> None:
        self.run(self.desks[side].store.set_team_limit(team, most))
        self.oracle.teams[team] = most

    @precondition(lambda self: self.oracle.crawls)
    @rule(side=sides, pick=picks, most=st.none() | st.integers(1, 3))
    def limit_a_crawl(self, side: int, pick: int, most: int | None) -> None:
        crawl = self._pick(pick)
        self.run(self.desks[side].store.set_crawl_limits(crawl.id, max_concurrency=most))
        crawl.concurrency = most

    @precondition(lambda self: not self.oracle.held and self.oracle.waiting)
    @rule(side=sides)
    def what_waits_is_claimed_in_time(self, side: int) -> None:
        if not self.oracle.workers:
            self.register(side=side)
        worker = self.oracle.workers[0]
        for _ in range(20):
            result = self.run(self.desks[side].step((), 1, worker=worker))
            self.oracle.claimed(worker, result.leases, self.clock.now)
            if result.leases:
                return
            assert result.wait_us is not None, "work waits, and nothing says for when"
            self.clock.advance(max(1, result.wait_us))
        raise AssertionError("nothing is leased, yet what waits is not given out")

    def everything_comes_to_its_end(self) -> None:
        """Whatever happened, working on ends every crawl that runs."""
        for crawl in self.oracle.running():
            self.run(self.desks[0].store.pause(crawl.id, paused=False))
            crawl.paused = False
        for _ in range(3_000):
            for held in list(self.oracle.held.values()):
                self.finish(side=0, pick=0, ends=[Outcome("done")])
                assert held.lease.lock not in self.oracle.held
            if not self.oracle.waiting:
                break
            self.what_waits_is_claimed_in_time(side=1)
        assert self.oracle.running() == []
        self.agrees()

    # What always holds

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "desks"):
            self.run(self._agrees())

    async def _agrees(self) -> None:
        self.oracle.learn_hosts()
        desk = self.desks[0]
        assert await desk.store.audit() == []
        assert await desk.store.unpark() == 0
        assert {crawl.id for crawl in await desk.store.crawls(kinds=list(CrawlKind))} == set(self.oracle.crawls)
        for crawl in self.oracle.crawls.values():
            await self._crawl_agrees(desk, crawl)

    async def _crawl_agrees(self, desk: Desk, crawl: CrawlModel) -> None:
        seen = await desk.look(crawl.id)
        counts = seen.counts
        assert seen.status is crawl.status
        assert seen.paused is crawl.paused
        if crawl.status is not CrawlStatus.CANCELLED:
            assert counts.open == crawl.open
        assert counts.discovered == sum(job.is_page for job in crawl.jobs.values())
        assert (counts.done, counts.failed) == (crawl.count("done"), crawl.count("failed"))
        assert (counts.duplicate, counts.denied) == (crawl.count("duplicate"), crawl.count("denied"))
        assert counts.cancelled == crawl.count("cancelled")
        assert await desk.documents(crawl.id) == list(crawl.documents.values())
        ledger = {denied(row.url).key for row in await desk.store.denied(crawl.id)}
        assert ledger - set(crawl.aliases) == crawl.refused - set(crawl.aliases)
        jobs = {job.url: job for job in await desk.jobs(crawl.id)}
        assert set(jobs) == {job.url for job in crawl.jobs.values()}
        for job in crawl.jobs.values():
            if crawl.status is not CrawlStatus.CANCELLED or job.state not in {"waiting", "leased"}:
                assert jobs[job.url].state in VISIBLE[job.state], job.url


def machine_test(backend: NewBackend) -> type[TestCase]:
    """The machine as a test case; how long it runs is up to the profile of Hypothesis that is loaded."""

    class BoundMachine(StoreMachine):
        new_backend = staticmethod(backend)

    case: type[TestCase] = BoundMachine.TestCase
    BoundMachine.TestCase.settings = settings(
        deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
    )
    return case
