"""Gaps, rates and private hosts: what a host is spared, over all crawls together."""

from __future__ import annotations

import pytest

from perseid.ports.store import HostDefaults
from perseid.ports.work import Done, HostNote
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, document, ended, host_of, page

MANY = 1_000_000


def rate(**fields: int) -> HostDefaults:
    """Ten requests a second, ten at once at most, no other bound; fields override."""
    return HostDefaults(**{"max_active": MANY, "global_interval_us": 0, **fields})


async def _with_gap(desk: Desk, gap_us: int, *urls: str) -> None:
    """A crawl whose first page taught the store the host's gap, long ago."""
    await desk.start()
    note = HostNote(host=host_of(HOME), gap_us=gap_us, answered=True)
    await desk.finish(await desk.one(), *urls, hosts=[note])
    desk.clock.advance(10 * gap_us)


async def test_a_host_with_a_gap_is_one_at_a_time(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a", "b", "c")
    (lease,) = await desk.claim_all()
    assert lease.gap_us == 2 * SECOND
    desk.clock.advance(60 * SECOND)
    assert await desk.claim(5) == [], "the first one still runs"


async def test_a_gap_runs_from_the_last_request(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a", "b")
    (lease,) = await desk.claim_all()
    desk.clock.advance(SECOND)
    note = HostNote(host=lease.host, answered=True, request_age_us=SECOND // 2)
    result = await desk.step([ended(lease, hosts=[note])], 5)
    assert result.leases == []
    assert result.wait_us == 3 * SECOND // 2
    desk.clock.advance(3 * SECOND // 2 - 1)
    assert await desk.claim(5) == []
    desk.clock.advance(1)
    assert len(await desk.claim(5)) == 1


async def test_a_gap_that_has_passed_holds_nothing_up(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a", "b")
    (lease,) = await desk.claim_all()
    desk.clock.advance(5 * SECOND)
    note = HostNote(host=lease.host, answered=True, request_age_us=5 * SECOND)
    assert len((await desk.step([ended(lease, hosts=[note])], 5)).leases) == 1


async def test_a_gap_is_kept_after_a_page_that_could_not_be_stored(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a", "b")
    (lease,) = await desk.claim_all()
    note = HostNote(host=lease.host, answered=True, request_age_us=0)
    poisoned = Done(document=document(lease.url, status=10**30))
    result = await desk.step([ended(lease, end=poisoned, hosts=[note])], 5)
    assert result.leases == []
    desk.clock.advance(2 * SECOND)
    assert len(await desk.claim(5)) == 1


async def test_a_gap_reaches_all_crawls_of_the_host(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a")
    await desk.start("x")
    (lease,) = await desk.claim_all()
    note = HostNote(host=lease.host, answered=True, request_age_us=0)
    assert (await desk.step([ended(lease, hosts=[note])], 5)).leases == []
    desk.clock.advance(2 * SECOND)
    (other,) = await desk.claim_all()
    assert other.crawl != lease.crawl
    assert other.gap_us == 2 * SECOND


async def test_a_gap_holds_no_other_host(desk: Desk) -> None:
    await _with_gap(desk, 60 * SECOND, "a", "b", "https://other.example/1", "https://other.example/2")
    hosts = sorted(lease.host for lease in await desk.claim_all())
    assert hosts == ["other.example", "other.example", "site.example"]


async def test_a_gap_learnt_late_waits_for_those_that_run(desk: Desk) -> None:
    await desk.start(*"abcdef")
    held = await desk.claim(4)
    note = HostNote(host=held[0].host, gap_us=SECOND, answered=True, request_age_us=0)
    for number, lease in enumerate(held):
        desk.clock.advance(5 * SECOND)
        if number:
            assert await desk.claim(5) == [], "others still run"
        claimed = (await desk.step([ended(lease, hosts=[note])], 5)).leases
        assert claimed == []
    desk.clock.advance(SECOND)
    assert len(await desk.claim_all()) == 1


@pytest.mark.parametrize("private", [True, False])
async def test_a_host_above_its_lowered_limit_takes_no_newcomer(desk: Desk, *, private: bool) -> None:
    await desk.start(*"abcd")
    first, *others = await desk.claim(4)
    note = HostNote(host=first.host, gap_us=SECOND, answered=True, request_age_us=0, private=private)
    await desk.finish(first, hosts=[note])
    desk.clock.advance(5 * SECOND)
    newcomer = await desk.start("z")
    assert await desk.claim_all() == []
    for lease in others:
        await desk.finish(lease)
    desk.clock.advance(5 * SECOND)
    assert [lease.crawl for lease in await desk.claim_all()] == [newcomer]


async def test_a_reaped_host_waits_its_gap(desk: Desk) -> None:
    await _with_gap(desk, 2 * SECOND, "a", "b")
    (lease,) = await desk.claim_all(lease_us=SECOND)
    desk.clock.now = lease.expires_at + 1
    assert await desk.store.reap([]) == 1
    assert await desk.claim(5) == []
    desk.clock.advance(2 * SECOND)
    assert len(await desk.claim(5)) == 1


async def test_a_burst_is_bounded(bench: Bench) -> None:
    desk = await bench.desk(rate())
    await desk.start_with([page(f"p{n}") for n in range(50)])
    assert len(await desk.claim_all()) == 10
    result = await desk.step((), 10)
    assert result.leases == []
    assert result.wait_us is not None
    assert 0 < result.wait_us <= 100_000


@pytest.mark.parametrize("pause_us", [7_000, 37_000, 100_000, 250_000])
async def test_the_rate_of_a_host_is_kept_and_used(bench: Bench, pause_us: int) -> None:
    desk = await bench.desk(rate())
    await desk.start_with([page(f"p{n}") for n in range(200)])
    await desk.start_with([page(f"q{n}") for n in range(200)])
    started, claimed = desk.clock.now, 0
    while (elapsed := desk.clock.now - started) <= 8 * SECOND:
        leases = await desk.claim(20)
        claimed += len(leases)
        assert claimed <= 10 + elapsed / 100_000
        await desk.step([ended(lease) for lease in leases])
        desk.clock.advance(pause_us)
    assert claimed >= 75, "the rate was not made use of"


async def test_an_idle_host_saves_no_more_than_its_burst(bench: Bench) -> None:
    desk = await bench.desk(rate())
    await desk.start_with([page(f"p{n}") for n in range(100)])
    await desk.claim_all()
    desk.clock.advance(3_600 * SECOND)
    assert len(await desk.claim_all()) <= 11


async def test_a_rate_holds_no_other_host(bench: Bench) -> None:
    desk = await bench.desk(rate(burst=1))
    await desk.start_with([page(f"https://h{n % 5}.example/{n}") for n in range(20)])
    assert len({lease.host for lease in await desk.claim_all()}) == 5


async def test_a_private_host_is_not_throttled(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=1, burst=1, global_burst=5, global_interval_us=1_000))
    await desk.start()
    note = HostNote(host=host_of(HOME), private=True, answered=True)
    found = [f"p{n}" for n in range(100)]
    await desk.finish(await desk.one(), *found, hosts=[note])
    desk.clock.advance(SECOND)
    assert len(await desk.claim_all()) == 100


async def test_all_public_hosts_share_one_rate(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(global_interval_us=10_000, global_burst=5))
    await desk.start_with([page(f"https://h{n}.example/") for n in range(40)])
    assert len(await desk.claim_all()) == 5
    desk.clock.advance(100_000)
    assert len(await desk.patient_claim(1)) == 1
    held = await desk.claim_all()
    assert len(held) <= 5


async def test_all_public_hosts_together_are_served_in_time(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(global_interval_us=10_000, global_burst=5))
    await desk.start_with([page(f"https://h{n}.example/") for n in range(40)])
    started, claimed = desk.clock.now, 0
    while claimed < 40:
        leases = await desk.patient_claim(5)
        assert leases, "work waits, yet nothing says when to come back"
        claimed += len(leases)
        assert claimed <= 5 + 1 + (desk.clock.now - started) / 10_000
    assert desk.clock.now - started <= SECOND


async def test_hosts_without_a_rate_of_their_own_share_the_rate_of_all(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(interval_us=0, global_interval_us=10_000, global_burst=5))
    await desk.start_with([page(f"https://h{n}.example/") for n in range(40)])
    assert len(await desk.claim_all()) == 5


async def test_a_gap_taken_back_leaves_the_hosts_own_limit(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=2, interval_us=0, global_interval_us=0))
    await _with_gap(desk, SECOND, *"abcdef")
    note = HostNote(host=host_of(HOME), gap_us=0, answered=True)
    await desk.finish(await desk.one(), hosts=[note])
    desk.clock.advance(SECOND)
    assert len(await desk.claim_all()) == 2


async def test_a_private_host_that_turns_out_public_is_throttled_again(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=2, burst=10, global_interval_us=0))
    await desk.start()
    private = HostNote(host=host_of(HOME), private=True, answered=True)
    await desk.finish(await desk.one(), *"abcdefgh", hosts=[private])
    desk.clock.advance(SECOND)
    lease = await desk.one()
    await desk.finish(lease, hosts=[HostNote(host=lease.host, private=False, answered=True)])
    assert len(await desk.claim_all()) == 2


async def test_a_request_from_the_future_shuts_no_host(desk: Desk) -> None:
    await _with_gap(desk, SECOND, "a", "b")
    note = HostNote(host=host_of(HOME), answered=True, request_age_us=-(10**15))
    await desk.finish(await desk.one(), hosts=[note])
    desk.clock.advance(2 * SECOND)
    assert len(await desk.claim_all()) == 1
