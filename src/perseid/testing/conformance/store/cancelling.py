"""Cancelling ends a crawl at once: what runs finishes into nothing, what it has is kept."""

from __future__ import annotations

from perseid.model.crawl import CrawlStatus
from perseid.model.job import JobState
from perseid.ports.store import Beat, HostDefaults
from perseid.ports.work import Again
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, links, page


async def test_what_runs_finishes_into_nothing(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    done, running, _ = await desk.claim_all()
    await desk.finish(done)
    desk.clock.advance(SECOND)
    assert await desk.store.cancel(crawl)
    before = await desk.look(crawl)
    assert (before.status, before.ended_at) == (CrawlStatus.CANCELLED, desk.clock.now)
    result = await desk.step([ended(running, "d", denied=[])], 5)
    assert (result.kept, result.leases) == ([False], [])
    assert await desk.look(crawl) == before
    assert await desk.documents(crawl) == [done.url]


async def test_nothing_is_claimed_afterwards(desk: Desk) -> None:
    crawl = await desk.start(*(f"p{n}" for n in range(20)), "https://other.example/")
    await desk.claim(3)
    await desk.store.cancel(crawl)
    assert await desk.claim_all() == []
    desk.clock.advance(3_600 * SECOND)
    await desk.store.reap([])
    await desk.sweep_all()
    assert await desk.claim_all() == []


async def test_retries_and_moves_of_a_cancelled_crawl_are_dropped(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    a, b, c = await desk.claim_all()
    await desk.finish(a, end=Again(delay_us=SECOND))
    await desk.store.cancel(crawl)
    assert not await desk.finish(b, end=Again(delay_us=SECOND))
    assert not await desk.finish(c, end=Again(host="other.example"))
    assert await desk.patient_claim(5) == []


async def test_cancelling_twice_is_false(desk: Desk) -> None:
    crawl = await desk.start()
    assert await desk.store.cancel(crawl)
    desk.clock.advance(SECOND)
    before = await desk.look(crawl)
    assert not await desk.store.cancel(crawl)
    assert await desk.look(crawl) == before


async def test_a_completed_crawl_cannot_be_cancelled(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.drain()
    assert not await desk.store.cancel(crawl)
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_the_status_stays_whatever_comes_late(desk: Desk) -> None:
    crawl = await desk.start("a")
    lease = await desk.one()
    await desk.store.cancel(crawl)
    await desk.finish(lease)
    await desk.store.add(crawl, links("b"))
    await desk.sweep_all()
    await desk.store.reap([desk.worker])
    assert (await desk.look(crawl)).status is CrawlStatus.CANCELLED


async def test_dropped_urls_are_cancelled_not_failed(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    await desk.finish(await desk.one())
    await desk.store.cancel(crawl)
    await desk.sweep_all()
    assert await desk.store.failures(crawl) == []
    assert (await desk.look(crawl)).counts.failed == 0
    states = await desk.states(crawl)
    assert states.pop(page("a").url) is JobState.COMPLETED
    assert set(states.values()) <= {JobState.CANCELLED}


async def test_a_beat_names_the_crawls_that_ended(desk: Desk) -> None:
    cancelled, running = await desk.start("a", "b"), await desk.start("a")
    await desk.claim_all()
    assert await desk.store.beat(desk.worker) == Beat(set())
    await desk.store.cancel(cancelled)
    assert await desk.store.beat(desk.worker) == Beat({cancelled})
    assert running != cancelled


async def test_other_crawls_go_on(desk: Desk) -> None:
    cancelled, other = await desk.start("a", "b"), await desk.start("a", "b")
    await desk.claim(1, crawl=cancelled)
    await desk.store.cancel(cancelled)
    assert len(await desk.drain()) == 2
    assert (await desk.look(other)).status is CrawlStatus.COMPLETED


async def test_a_sweep_removes_what_waited(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"https://h{n % 40}.example/{n}") for n in range(200)])
    await desk.store.cancel(crawl)
    assert await desk.sweep_all(chunk=10) > 1
    assert (await desk.store.progress(crawl)).queued == 0
    assert all(host.waiting == 0 for host in await desk.store.hosts(limit=1000))


async def test_a_limited_host_is_free_for_others_after_the_sweep(bench: Bench) -> None:
    """Lanes of a cancelled crawl parked at a full host must not swallow the wake-up of a living one."""
    desk = await bench.desk(HostDefaults(max_active=1, interval_us=0, global_interval_us=0))
    busy = await desk.start()
    lease = await desk.one()
    doomed = [await desk.start() for _ in range(5)]
    last = await desk.start()
    assert await desk.claim(9) == []
    for crawl in doomed:
        await desk.store.cancel(crawl)
    result = await desk.step([ended(lease)], 5)
    assert [claimed.crawl for claimed in result.leases] == [last]
    assert (await desk.look(busy)).status is CrawlStatus.COMPLETED


async def test_the_documents_of_a_cancelled_crawl_stay_listed(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), "a", "b")
    await desk.finish(await desk.one())
    await desk.store.cancel(crawl)
    await desk.sweep_all()
    assert await desk.documents(crawl) == [HOME, page("a").url]
