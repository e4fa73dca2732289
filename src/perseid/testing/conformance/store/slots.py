"""Limits of crawl, team and host: never exceeded, and no work left behind when a slot frees."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, Failed, Lease
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, page, sitemap

ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)
TWO_A_HOST = HostDefaults(max_active=2, interval_us=0, global_interval_us=0)


async def test_a_crawl_keeps_its_concurrency(desk: Desk) -> None:
    await desk.start("a", "b", "https://other.example/c", "d", max_concurrency=2)
    first = await desk.claim_all()
    assert len(first) == 2
    result = await desk.step([ended(first[0])], 10)
    assert len(result.leases) == 1


async def test_sitemap_work_counts_into_no_other_crawls_concurrency(desk: Desk) -> None:
    await desk.start("a", "b", max_concurrency=1)
    other = await desk.start("a", "b", max_concurrency=1)
    assert {lease.crawl for lease in await desk.claim_all()} >= {other}
    assert len(await desk.claim_all()) == 0


async def test_a_crawls_limit_can_be_raised_lowered_and_lifted(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"p{n}") for n in range(20)], max_concurrency=2)
    held = await desk.claim_all()
    await desk.store.set_crawl_limits(crawl, max_concurrency=5)
    held += await desk.claim_all()
    assert len(held) == 5
    await desk.store.set_crawl_limits(crawl, max_concurrency=1)
    await desk.step([ended(lease) for lease in held[:4]])
    assert await desk.claim_all() == []
    await desk.finish(held[4])
    assert len(await desk.claim_all()) == 1
    await desk.store.set_crawl_limits(crawl, max_concurrency=None)
    assert len(await desk.claim_all()) == 14


async def test_a_team_keeps_its_limit_over_all_its_crawls(desk: Desk) -> None:
    await desk.store.set_team_limit(5, 3)
    for _ in range(3):
        await desk.start("a", "b", team=5)
    stranger = await desk.start("a", "b", team=6)
    held = await desk.claim_all()
    assert Counter(lease.crawl == stranger for lease in held) == {False: 3, True: 2}


async def test_a_freed_team_slot_goes_to_a_waiting_crawl(desk: Desk) -> None:
    await desk.store.set_team_limit(1, 1)
    crawls = [await desk.start() for _ in range(4)]
    (lease,) = await desk.claim_all()
    served = [lease.crawl]
    for _ in range(3):
        (lease,) = (await desk.step([ended(lease)], 5)).leases
        served.append(lease.crawl)
    assert sorted(served) == crawls


async def test_raising_or_lifting_a_teams_limit_wakes_its_crawls(desk: Desk) -> None:
    await desk.store.set_team_limit(1, 1)
    for _ in range(6):
        await desk.start()
    assert len(await desk.claim_all()) == 1
    await desk.store.set_team_limit(1, 3)
    assert len(await desk.claim_all()) == 2
    await desk.store.set_team_limit(1, None)
    assert len(await desk.claim_all()) == 3


async def test_a_host_keeps_its_limit_over_all_crawls(bench: Bench) -> None:
    desk = await bench.desk(TWO_A_HOST)
    for _ in range(3):
        await desk.start("a", "b", "https://other.example/")
    held = await desk.claim_all()
    assert Counter(lease.host for lease in held) == {"site.example": 2, "other.example": 2}


async def test_a_freed_host_slot_goes_to_another_crawl(bench: Bench) -> None:
    desk = await bench.desk(TWO_A_HOST)
    crawls = [await desk.start() for _ in range(6)]
    held = await desk.claim_all()
    served = [lease.crawl for lease in held]
    while held:
        result = await desk.step([ended(held.pop())], 5)
        held += result.leases
        served += [lease.crawl for lease in result.leases]
        assert len(held) <= 2
    assert sorted(served) == crawls


async def test_a_full_host_does_not_hold_back_the_rest_of_a_crawl(bench: Bench) -> None:
    desk = await bench.desk(TWO_A_HOST)
    await desk.start(*(f"p{n}" for n in range(50)), "https://other.example/")
    assert "other.example" in {lease.host for lease in await desk.claim_all()}


async def test_a_failed_refused_or_delayed_job_frees_its_slots_too(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.start("a", "b", "c", max_concurrency=1)
    lease = await desk.one()
    (lease,) = (await desk.step([ended(lease, end=Failed(code="timeout", message=""))], 5)).leases
    (lease,) = (await desk.step([ended(lease, end=Again(delay_us=SECOND))], 5)).leases
    assert lease.url == page("c").url


async def test_a_cancelled_crawl_gives_its_slots_back(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.store.set_team_limit(1, 1)
    cancelled = await desk.start()
    lease = await desk.one()
    other = await desk.start()
    assert await desk.claim(5) == []
    await desk.store.cancel(cancelled)
    result = await desk.step([ended(lease)], 5)
    assert result.kept == [False]
    assert [lease.crawl for lease in result.leases] == [other]


async def test_a_reaped_lease_gives_its_slots_back(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.store.set_team_limit(1, 1)
    await desk.start("a", max_concurrency=1)
    lost = await desk.one(lease_us=SECOND)
    desk.clock.now = lost.expires_at + 1
    assert await desk.store.reap([]) == 1
    (again,) = await desk.claim_all()
    assert not await desk.finish(lost)
    assert await desk.claim_all() == [], "the stale finish freed a slot that was no longer its own"
    assert await desk.finish(again)


async def test_a_crawls_delay_makes_it_one_at_a_time(desk: Desk) -> None:
    await desk.start("a", "b", "https://other.example/c", delay_us=2 * SECOND)
    started = desk.clock.now
    (lease,) = await desk.claim(5)
    desk.clock.advance(SECOND // 2)
    result = await desk.step([ended(lease)], 5)
    assert result.leases == []
    assert result.wait_us is not None
    assert 0 < result.wait_us <= 2 * SECOND
    assert len(await desk.patient_claim(5)) == 1
    assert desk.clock.now >= started + 2 * SECOND


async def test_a_crawls_delay_holds_no_other_crawl(desk: Desk) -> None:
    await desk.start("a", "b", delay_us=10 * SECOND)
    await desk.start("a", "b")
    assert len(await desk.claim_all()) == 3


@pytest.mark.parametrize("seed", range(4))
async def test_tangled_limits_are_kept_and_strand_nothing(bench: Bench, seed: int) -> None:
    """Many crawls, teams and hosts in each other's way, finished in any order, must all come to their end."""
    chance = random.Random(seed)
    desk = await bench.desk(TWO_A_HOST)
    caps: dict[CrawlId, int] = {}
    teams: dict[CrawlId, int] = {}
    for team in (1, 2):
        await desk.store.set_team_limit(team, 4)
    for n in range(12):
        urls = [page(f"https://h{chance.randrange(5)}.example/{m}") for m in range(chance.randint(1, 15))]
        cap = chance.randint(1, 3)
        crawl = await desk.start_with(urls, max_concurrency=cap, team=n % 2 + 1)
        caps[crawl], teams[crawl] = cap, n % 2 + 1
    held: list[Lease] = []
    for _ in range(2_000):
        chance.shuffle(held)
        cut = chance.randint(0, min(3, len(held)))
        result = await desk.step([ended(lease) for lease in held[:cut]], chance.randint(1, 6))
        assert all(result.kept)
        held = held[cut:] + result.leases
        assert all(n <= 2 for n in Counter(lease.host for lease in held).values())
        assert all(n <= 4 for n in Counter(teams[lease.crawl] for lease in held).values())
        assert all(n <= caps[crawl] for crawl, n in Counter(lease.crawl for lease in held).items())
        if not held and not result.leases and not (held := await desk.claim(5)):
            break
    assert {(await desk.look(crawl)).status for crawl in caps} == {CrawlStatus.COMPLETED}


async def test_a_moved_job_takes_the_slot_of_its_new_host(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.start("a")
    await desk.start("https://other.example/x", "https://other.example/y")
    held = {lease.host: lease for lease in await desk.claim_all()}
    await desk.finish(held["site.example"], end=Again(host="other.example"))
    assert await desk.claim_all() == [], "the other host is full"
    result = await desk.step([ended(held["other.example"])], 5)
    assert [lease.host for lease in result.leases] == ["other.example"]


async def test_home_is_not_blocked_by_a_crawl_at_its_limit(desk: Desk) -> None:
    """Blocked crawls must neither be scanned past nor hide those behind them."""
    for _ in range(60):
        await desk.start("a", "b", max_concurrency=1)
    assert len(await desk.claim_all()) == 60
    free = await desk.start(HOME)
    assert [lease.crawl for lease in await desk.claim(1)] == [free]


async def test_lifting_the_concurrency_does_not_lift_the_delay(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c", delay_us=2 * SECOND)
    await desk.store.set_crawl_limits(crawl, max_concurrency=None)
    (lease,) = await desk.claim_all()
    desk.clock.advance(60 * SECOND)
    assert await desk.claim_all() == [], "a crawl with a delay takes one page at a time"
    await desk.finish(lease)
    assert await desk.claim_all() == []
    desk.clock.advance(2 * SECOND)
    assert len(await desk.claim_all()) == 1


async def test_a_waiter_that_another_gate_holds_does_not_keep_a_slot_from_the_next(bench: Bench) -> None:
    """First in line at the host is a crawl whose team is full: the next in line must run."""
    desk = await bench.desk(ONE_A_HOST)
    await desk.start(team=3)
    busy = await desk.one()
    await desk.store.set_team_limit(1, 1)
    await desk.start("https://other.example/", team=1)
    first = await desk.start("a", team=1)
    assert await desk.claim_all(crawl=first) == [], "the host is full"
    assert len(await desk.claim_all()) == 1
    desk.clock.advance(1)
    next_one = await desk.start("b", team=2)
    assert await desk.claim_all() == []
    result = await desk.step([ended(busy)], 5)
    leases = result.leases or await desk.claim(5)
    assert [lease.crawl for lease in leases] == [next_one]


async def test_a_waiter_of_another_kind_does_not_keep_a_slot_from_a_worker(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.start("busy")
    busy = await desk.one()
    await desk.start(sitemap("s1"), sitemap("s2"))
    assert await desk.claim_all() == []
    desk.clock.advance(1)
    await desk.start("x")
    assert await desk.claim_all() == []
    result = await desk.step([ended(busy)], 5, kinds=[JobKind.PAGE])
    leases = result.leases or await desk.claim(5, kinds=[JobKind.PAGE])
    assert [lease.url for lease in leases] == [page("x").url]
