"""What tickets are published by: how much could be claimed, how many slots are free, when more becomes due; and which
crawls a step has ended.
"""

from __future__ import annotations

from perseid.model.ids import WorkerId
from perseid.ports.store import Drain, HostDefaults
from perseid.ports.work import Again, HostNote
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended, page

MOST = 500


async def claimable(desk: Desk, most: int = MOST) -> int:
    return (await desk.store.prospect(most)).claimable


async def test_an_empty_store_has_nothing_to_claim(desk: Desk) -> None:
    prospect = await desk.store.prospect(MOST)
    assert (prospect.claimable, prospect.free, prospect.wait_us) == (0, 0, None)
    assert prospect.first == desk.worker


async def test_what_waits_is_counted_and_what_runs_is_not(desk: Desk) -> None:
    await desk.start("a", "b", "c")
    assert await claimable(desk) == 3
    leases = await desk.claim(2)
    assert await claimable(desk) == 1
    await desk.step([ended(leases[0], "d", "e")])
    assert await claimable(desk) == 3


async def test_no_more_is_counted_than_asked_for(desk: Desk) -> None:
    await desk.start_with([page(f"https://h{number}.example/{number}") for number in range(60)])
    await desk.start(*(f"p{number}" for number in range(60)))
    assert await claimable(desk, 50) == 50
    assert await claimable(desk) == 120


async def test_a_crawls_own_limit_bounds_what_can_be_claimed(desk: Desk) -> None:
    await desk.start("a", "b", "c", "d", max_concurrency=2)
    assert await claimable(desk) == 2
    await desk.claim(1)
    assert await claimable(desk) == 1
    await desk.claim(1)
    assert await claimable(desk) == 0


async def test_a_full_team_has_nothing_to_claim(desk: Desk) -> None:
    await desk.store.set_team_limit(1, 1)
    await desk.start("a", "b")
    assert await claimable(desk) >= 1
    lease = await desk.one()
    assert await claimable(desk) == 0
    await desk.finish(lease)
    assert await claimable(desk) == 1


async def test_a_crawl_that_ended_has_nothing_to_claim(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    await desk.store.cancel(crawl)
    assert await claimable(desk) == 0


async def test_a_full_host_has_nothing_to_claim_until_a_slot_is_free(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=1, interval_us=0, global_interval_us=0))
    await desk.start("a", "b", "c")
    lease = await desk.one()
    assert await desk.claim(5) == []
    assert await claimable(desk) == 0
    await desk.finish(lease)
    assert await claimable(desk) >= 1


async def test_what_waits_for_time_is_told_with_the_time(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=8, interval_us=SECOND, burst=1, global_interval_us=0))
    await desk.start("a", "b")
    lease = await desk.one()
    assert await desk.claim(5) == []
    prospect = await desk.store.prospect(MOST)
    assert prospect.claimable == 0
    assert prospect.wait_us is not None
    assert 0 < prospect.wait_us <= SECOND
    desk.clock.advance(prospect.wait_us)
    assert await claimable(desk) >= 1
    await desk.finish(lease)


async def test_a_retry_is_claimable_when_its_time_has_come(desk: Desk) -> None:
    await desk.start("a")
    await desk.finish(await desk.one(), end=Again(delay_us=3 * SECOND, attempted=True))
    prospect = await desk.store.prospect(MOST)
    assert (prospect.claimable, prospect.wait_us) == (0, 3 * SECOND)
    desk.clock.advance(3 * SECOND)
    prospect = await desk.store.prospect(MOST)
    assert (prospect.claimable, prospect.wait_us) == (1, None)


async def test_a_host_that_backs_off_is_waited_for(desk: Desk) -> None:
    await desk.start("a", "b")
    lease = await desk.one()
    note = HostNote(host=lease.host, throttled=True, retry_after_us=5 * SECOND)
    await desk.finish(lease, end=Again(attempted=True), hosts=[note])
    await desk.claim(5)
    prospect = await desk.store.prospect(MOST)
    assert prospect.claimable == 0
    assert prospect.wait_us is not None
    assert 4 * SECOND <= prospect.wait_us <= 10 * SECOND


async def test_slots_are_free_that_no_lease_takes(desk: Desk) -> None:
    await desk.start(*(f"p{number}" for number in range(20)))
    one = await desk.store.register("host", 1, 1, slots=4)
    other = await desk.store.register("host", 2, 1, slots=8)
    assert (await desk.store.prospect(MOST)).free == 12
    await desk.claim(3, worker=one)
    assert (await desk.store.prospect(MOST)).free == 9
    # Claimed ahead: others' slots are none the fewer.
    await desk.claim(5, worker=one)
    assert (await desk.store.prospect(MOST)).free == 8
    await desk.store.drain(other, Drain.LEAVE)
    assert (await desk.store.prospect(MOST)).free == 0


async def test_the_first_worker_is_told(desk: Desk) -> None:
    second = await desk.store.register("host", 2, 1, slots=1)
    assert (await desk.store.prospect(MOST)).first == desk.worker
    await desk.store.reap([desk.worker])
    assert (await desk.store.prospect(MOST)).first == second
    await desk.store.reap([second])
    assert (await desk.store.prospect(MOST)).first == WorkerId(0)
    desk.worker = await desk.store.register("here", 1000, 1)


async def test_a_step_names_the_crawls_that_it_completes(desk: Desk) -> None:
    one, other = await desk.start("a"), await desk.start("b", "c")
    leases = {lease.url: lease for lease in await desk.claim(3)}
    by_name = {url.rpartition("/")[2]: lease for url, lease in leases.items()}
    assert list((await desk.step([ended(by_name["b"])])).ended) == []
    assert list((await desk.step([ended(by_name["a"])])).ended) == [one]
    assert list((await desk.step([ended(by_name["c"])])).ended) == [other]
    assert list((await desk.step()).ended) == []


async def test_a_cancelled_crawl_is_not_completed_by_what_still_ran(desk: Desk) -> None:
    crawl = await desk.start("a")
    lease = await desk.one()
    await desk.store.cancel(crawl)
    assert list((await desk.step([ended(lease)])).ended) == []
