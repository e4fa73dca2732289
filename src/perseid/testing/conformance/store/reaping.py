"""Workers die and leases expire: jobs come back once, and one that kills its workers fails at last."""

from __future__ import annotations

from perseid.model.crawl import CrawlStatus
from perseid.model.job import JobKind, JobState
from perseid.ports.store import Beat, Drain
from perseid.ports.work import Again
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Desk, ended, links, page


async def test_the_jobs_of_a_dead_worker_come_back_once(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    dead = await desk.store.register("there", 7, 1)
    lost = await desk.claim(2, worker=dead)
    assert await desk.store.reap([dead]) == 2
    assert await desk.store.reap([dead]) == 0
    back = await desk.claim_all()
    assert sorted(lease.url for lease in back) == [page(name).url for name in "abc"]
    stalls = {lease.url: (lease.stalls, lease.attempts) for lease in back}
    assert stalls == {page("a").url: (1, 0), page("b").url: (1, 0), page("c").url: (0, 0)}
    assert {lease.lock for lease in lost}.isdisjoint(lease.lock for lease in back)
    await desk.step([ended(lease) for lease in back])
    assert (await desk.look(crawl)).counts.done == 3


async def test_a_worker_can_ask_what_it_holds(desk: Desk) -> None:
    await desk.start("a", "b", "c")
    other = await desk.store.register("there", 7, 1)
    leases = await desk.claim(2)
    await desk.claim(1, worker=other)
    assert await desk.store.held(desk.worker) == sorted(leases, key=lambda lease: lease.job)
    await desk.step([ended(leases[0])])
    assert await desk.store.held(desk.worker) == leases[1:]


async def test_a_reaped_worker_writes_nothing_more(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    (lost,) = await desk.claim(1)
    dead = desk.worker
    await desk.store.reap([dead])
    result = await desk.step([ended(lost, "c")], 5)
    assert result.kept == [False]
    assert result.leases == [], "a worker declared dead must register anew"
    assert await desk.store.add(crawl, links("d"), parent=lost) == 0
    assert (await desk.look(crawl)).counts.discovered == 2


async def test_a_reaped_worker_learns_it_from_its_beat(desk: Desk) -> None:
    assert await desk.store.beat(desk.worker) == Beat(set())
    await desk.store.reap([desk.worker])
    assert await desk.store.beat(desk.worker) is None
    assert desk.worker not in {seen.id for seen in await desk.store.workers()}


async def test_a_stale_finish_after_the_job_was_claimed_anew(desk: Desk) -> None:
    crawl = await desk.start()
    dead = await desk.store.register("there", 7, 1)
    (lost,) = await desk.claim(1, worker=dead)
    await desk.store.reap([dead])
    again = await desk.one()
    stale = await desk.step([ended(lost, "x")])
    assert stale.kept == [False]
    assert await desk.finish(again, "y")
    assert set(await desk.states(crawl)) == {HOME, page("y").url}


async def test_reaping_leaves_the_living_alone(desk: Desk) -> None:
    await desk.start("a", "b")
    dead = await desk.store.register("there", 7, 1)
    await desk.claim(1, worker=dead)
    mine = await desk.one()
    await desk.store.reap([dead])
    assert await desk.finish(mine)


async def test_an_expired_lease_is_reaped_whoever_holds_it(desk: Desk) -> None:
    await desk.start()
    lease = await desk.one(lease_us=10 * SECOND)
    desk.clock.now = lease.expires_at - 1
    assert await desk.store.reap([]) == 0
    desk.clock.now = lease.expires_at + 1
    assert await desk.store.reap([]) == 1
    assert not await desk.finish(lease)
    assert (await desk.one()).stalls == 1
    assert await desk.store.beat(desk.worker) == Beat(set()), "its worker is not dead"


async def test_a_job_that_came_back_to_the_end_of_its_lane_is_found_there(desk: Desk) -> None:
    crawl = await desk.start(*(f"page-{number}" for number in range(1200)))
    dead = await desk.store.register("there", 7, 1)
    lost = {lease.url for lease in await desk.claim(3, worker=dead)}
    for _ in range(4):
        await desk.step([ended(lease) for lease in await desk.claim(200)])
    assert await desk.store.reap([dead]) == 3
    seen: set[str] = set()
    while leases := await desk.claim(7):
        seen |= {lease.url for lease in leases}
        await desk.step([ended(lease) for lease in leases])
    assert lost <= seen
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_worker_asked_to_go_learns_it_from_its_beat_and_is_given_no_more(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    here = await desk.store.register("there", 7, 1, slots=4, version="1.2", kinds=(JobKind.PAGE,))
    lease = await desk.one(worker=here)
    assert await desk.store.drain(here, Drain.REPLACE)
    seen = next(seen for seen in await desk.store.workers() if seen.id == here)
    assert (seen.slots, seen.version, seen.kinds, seen.drain) == (4, "1.2", 1 << JobKind.PAGE, Drain.REPLACE)
    assert await desk.claim(5, worker=here) == []
    assert await desk.store.beat(here) == Beat(set(), Drain.REPLACE)
    assert await desk.finish(lease), "what it has begun it finishes"
    assert (await desk.look(crawl)).counts.done == 1
    assert await desk.store.drain(here, Drain.NO)
    assert await desk.store.beat(here) == Beat(set())
    assert len(await desk.claim(5, worker=here)) == 2


async def test_who_is_no_worker_can_not_be_asked_to_go(desk: Desk) -> None:
    gone = await desk.store.register("there", 7, 1, slots=4)
    await desk.store.reap([gone])
    assert not await desk.store.drain(gone, Drain.LEAVE)
    assert not await desk.store.drain(desk.worker, Drain.LEAVE), "it has no slots: it runs what its callers wait for"


async def test_an_expired_lease_nobody_took_may_still_finish(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one(lease_us=10 * SECOND)
    desk.clock.now = lease.expires_at + SECOND
    assert await desk.finish(lease)
    assert await desk.store.reap([]) == 0
    assert (await desk.look(crawl)).counts.done == 1


async def test_a_lease_of_an_ended_crawl_is_dropped_not_returned(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one(lease_us=SECOND)
    await desk.store.cancel(crawl)
    desk.clock.now = lease.expires_at + 1
    await desk.store.reap([])
    assert await desk.claim(5) == []
    assert (await desk.store.progress(crawl)).active == 0


async def test_a_job_that_stalled_twice_runs_alone(desk: Desk) -> None:
    await desk.start()
    alone = []
    for _ in range(3):
        lease = await desk.one()
        alone.append(lease.alone)
        desk.clock.now = lease.expires_at + 1
        await desk.store.reap([])
    assert alone == [False, False, True]


async def test_a_job_that_stalls_on_and_on_fails_at_last(desk: Desk) -> None:
    crawl = await desk.start()
    runs = 0
    while leases := await desk.claim(1):
        runs += 1
        assert runs <= 10, "the stall cap is 9"
        desk.clock.now = leases[0].expires_at + 1
        await desk.store.reap([])
    assert runs >= 9
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.failed, seen.counts.open) == (CrawlStatus.COMPLETED, 1, 0)
    (failure,) = await desk.store.failures(crawl)
    assert (failure.code, failure.attempts) == ("stalled", 0)


async def test_stalls_survive_a_retry(desk: Desk) -> None:
    await desk.start()
    lease = await desk.one()
    desk.clock.now = lease.expires_at + 1
    await desk.store.reap([])
    await desk.finish(await desk.one(), end=Again(attempted=True))
    lease = await desk.one()
    assert (lease.stalls, lease.attempts) == (1, 1)


async def test_a_reaped_retry_keeps_its_attempts(desk: Desk) -> None:
    await desk.start()
    await desk.finish(await desk.one(), end=Again(attempted=True))
    lease = await desk.one()
    desk.clock.now = lease.expires_at + 1
    await desk.store.reap([])
    lease = await desk.one()
    assert (lease.stalls, lease.attempts) == (1, 1)


async def test_a_reaped_job_shows_as_waiting(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one()
    assert await desk.states(crawl) == {HOME: JobState.ACTIVE}
    desk.clock.now = lease.expires_at + 1
    await desk.store.reap([])
    assert await desk.states(crawl) == {HOME: JobState.QUEUED}


async def test_workers_are_listed_with_their_beats(desk: Desk) -> None:
    other = await desk.store.register("there", 4242, 99)
    before = {seen.id: seen for seen in await desk.store.workers()}
    assert (before[other].host, before[other].pid, before[other].pid_started) == ("there", 4242, 99)
    await desk.store.beat(other)
    await desk.store.beat(other)
    after = {seen.id: seen.beat for seen in await desk.store.workers()}
    assert after[other] > before[other].beat
    assert after[desk.worker] == before[desk.worker].beat


async def test_a_dead_worker_among_unknown_ones_is_reaped(desk: Desk) -> None:
    await desk.start()
    await desk.one()
    unknown = [type(desk.worker)(desk.worker + n) for n in (1000, 2000)]
    assert await desk.store.reap([*unknown, desk.worker]) == 1
