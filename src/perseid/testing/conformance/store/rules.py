"""The operator's word on single hosts: pauses, slots and rates that go before the settings."""

from __future__ import annotations

import pytest

from perseid.errors import NotFound, StoreError
from perseid.ports.inspect import HostView
from perseid.ports.store import HostDefaults
from perseid.ports.work import HostNote
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended

HOST = "site.example"
SLOW = HostDefaults(max_active=2, interval_us=SECOND, burst=1, global_interval_us=0)
TWO_A_HOST = HostDefaults(max_active=2, interval_us=0, global_interval_us=0)


async def shown(desk: Desk) -> HostView:
    return next(view for view in await desk.store.hosts() if view.name == HOST)


async def test_a_paused_host_is_asked_for_nothing(desk: Desk) -> None:
    await desk.start("a", "b", "https://other.example/")
    until = desk.clock.now + 60 * SECOND
    view = await desk.store.set_host(HOST, paused_until=until)
    assert view == await shown(desk)
    assert view.paused_until == until
    assert [lease.host for lease in await desk.claim_all()] == ["other.example"]
    desk.clock.now = until - 1
    result = await desk.step((), 5)
    assert (result.leases, result.wait_us) == ([], 1)
    desk.clock.now = until
    assert len(await desk.claim_all()) == 2


async def test_what_runs_when_a_host_is_paused_runs_on(desk: Desk) -> None:
    await desk.start("a", "b")
    lease = await desk.one()
    await desk.store.set_host(HOST, paused_until=-1)
    assert (await desk.step([ended(lease, "c")], 5)).kept == [True]
    assert await desk.claim_all() == []


async def test_a_pause_without_end_ends_when_the_operator_says_so(desk: Desk) -> None:
    await desk.start("a")
    assert (await desk.store.set_host(HOST, paused_until=-1)).paused_until == -1
    desk.clock.advance(10**15)
    result = await desk.step((), 5)
    assert (result.leases, result.wait_us) == ([], None)
    await desk.sweep_all()
    assert await desk.claim_all() == []
    assert (await desk.store.stats()).hosts_paused == 1
    assert (await desk.store.set_host(HOST, paused_until=desk.clock.now)).paused_until == 0
    assert (await desk.store.stats()).hosts_paused == 0
    assert len(await desk.claim_all()) == 1


async def test_a_pause_does_not_cut_a_back_off_short(desk: Desk) -> None:
    await desk.start("a", "b")
    lease = await desk.one()
    throttled = HostNote(host=HOST, throttled=True, retry_after_us=60 * SECOND)
    await desk.finish(lease, hosts=[throttled])
    await desk.store.set_host(HOST, paused_until=desk.clock.now + SECOND)
    await desk.store.set_host(HOST, paused_until=0)
    desk.clock.advance(2 * SECOND)
    assert await desk.claim_all() == []


async def test_slots_are_the_operators(bench: Bench) -> None:
    desk = await bench.desk(TWO_A_HOST)
    await desk.start(*"abcdef")
    assert len(await desk.claim_all()) == 2
    assert (await desk.store.set_host(HOST, max_active=5)).max_active == 5
    assert len(await desk.claim_all()) == 3
    await desk.store.set_host(HOST, max_active=-1)
    assert await desk.claim_all() == []
    assert (await shown(desk)).max_active == 2


async def test_the_rate_is_the_operators(bench: Bench) -> None:
    desk = await bench.desk(SLOW)
    await desk.start(*"abcd")
    await desk.finish(await desk.one())
    desk.clock.advance(SECOND)
    assert (await desk.store.set_host(HOST, interval_us=10 * SECOND)).interval_us == 10 * SECOND
    await desk.finish(await desk.one())
    desk.clock.advance(9 * SECOND)
    assert await desk.claim_all() == []
    desk.clock.advance(SECOND)
    await desk.finish(await desk.one())
    assert (await desk.store.set_host(HOST, interval_us=-1)).interval_us == SECOND


async def test_a_rate_set_for_a_private_host_holds(bench: Bench) -> None:
    desk = await bench.desk(SLOW)
    await desk.start(*"abcd")
    await desk.finish(await desk.one(), hosts=[HostNote(host=HOST, private=True)])
    await desk.store.set_host(HOST, interval_us=SECOND)
    desk.clock.advance(SECOND)
    assert len(await desk.claim_all()) == 1


async def test_it_holds_for_processes_that_start_later_with_other_settings(bench: Bench) -> None:
    desk = await bench.desk(SLOW)
    await desk.start("a")
    await desk.store.set_host(HOST, max_active=7, interval_us=5)
    other = HostDefaults(max_active=3, interval_us=9, burst=4, global_interval_us=0)
    later = await Desk.open(desk.backend, desk.clock, other)
    try:
        seen = await shown(later)
        assert (seen.max_active, seen.interval_us) == (7, 5)
    finally:
        await later.store.close()


async def test_a_crawl_delay_holds_in_any_case(desk: Desk) -> None:
    await desk.start("a", "b", "c")
    lease = await desk.one()
    await desk.store.set_host(HOST, max_active=5)
    await desk.finish(lease, hosts=[HostNote(host=HOST, gap_us=SECOND, request_age_us=0)])
    desk.clock.advance(SECOND)
    assert len(await desk.claim_all()) == 1


async def test_an_unknown_host_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await desk.store.set_host("nowhere.example", paused_until=-1)


@pytest.mark.parametrize("most", [0, -2])
async def test_no_host_is_stopped_by_its_slots(desk: Desk, most: int) -> None:
    await desk.start("a")
    with pytest.raises(StoreError, match="pause"):
        await desk.store.set_host(HOST, max_active=most)
