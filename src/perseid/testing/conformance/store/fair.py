"""Fair between teams first, then between the crawls of a team: whoever starts more crawls gets no more."""

from __future__ import annotations

from collections import Counter

import pytest

from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.ports.store import HostDefaults
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended, page, sitemap

ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)


async def _claimed(desk: Desk, rounds: int, want: int) -> list[CrawlId]:
    """Crawls in the order they are served, each page done before the next claim."""
    served: list[CrawlId] = []
    for _ in range(rounds):
        leases = await desk.claim(want)
        served += [lease.crawl for lease in leases]
        await desk.step([ended(lease) for lease in leases])
    return served


@pytest.mark.parametrize("want", [1, 10])
async def test_a_team_with_a_thousand_crawls_does_not_delay_ten_pages_of_another(desk: Desk, want: int) -> None:
    for _ in range(1_000):
        await desk.start("a", "b", team=1)
    ours = await desk.start(*(f"p{n}" for n in range(10)), team=2)
    served = await _claimed(desk, 100 // want, want)
    assert served[:40].count(ours) == 10


@pytest.mark.parametrize("want", [1, 10])
async def test_a_small_crawl_beside_a_large_one_of_its_team(desk: Desk, want: int) -> None:
    await desk.start_with([page(f"https://h{n}.example/") for n in range(1_000)])
    small = await desk.start(*(f"p{n}" for n in range(10)))
    served = await _claimed(desk, 100 // want, want)
    assert served[:40].count(small) == 10


@pytest.mark.parametrize("want", [1, 8])
async def test_teams_get_equal_shares_whatever_their_crawls(desk: Desk, want: int) -> None:
    team_of: dict[CrawlId, int] = {}
    for team, crawls in ((1, 12), (2, 3), (3, 1)):
        for _ in range(crawls):
            team_of[await desk.start(*(f"p{n}" for n in range(400 // crawls)), team=team)] = team
    shares = Counter(team_of[crawl] for crawl in await _claimed(desk, 240 // want, want))
    assert all(70 <= shares[team] <= 90 for team in (1, 2, 3)), shares


async def test_a_team_at_its_limit_leaves_its_share_to_others(desk: Desk) -> None:
    await desk.store.set_team_limit(1, 2)
    await desk.start(*(f"p{n}" for n in range(50)), team=1)
    theirs = await desk.start(*(f"q{n}" for n in range(50)), team=2)
    leases = await desk.claim(20)
    assert len(leases) == 20
    assert Counter(lease.crawl == theirs for lease in leases) == {True: 18, False: 2}


async def test_a_team_that_idled_saves_up_no_turns(desk: Desk) -> None:
    await desk.start("x", team=2)
    await desk.drain()
    await desk.start(*(f"p{n}" for n in range(500)), team=1)
    await _claimed(desk, 20, 10)
    late = await desk.start(*(f"q{n}" for n in range(500)), team=2)
    shares = Counter(await _claimed(desk, 40, 1))
    assert 12 <= shares[late] <= 28, shares


async def test_a_team_held_back_by_its_limit_saves_up_no_turns(desk: Desk) -> None:
    await desk.store.set_team_limit(2, 1)
    held = await desk.start(*(f"q{n}" for n in range(500)), team=2)
    await desk.start(*(f"p{n}" for n in range(500)), team=1)
    blocker = next(lease for lease in await desk.claim(2) if lease.crawl == held)
    await _claimed(desk, 20, 10)
    await desk.store.set_team_limit(2, None)
    shares = Counter(await _claimed(desk, 40, 1))
    assert 12 <= shares[held] <= 28, shares
    assert await desk.finish(blocker)


async def test_crawls_held_back_hide_none_behind_them(bench: Bench) -> None:
    """By their own limits, a pause between pages, a full host or a full team: each in numbers beyond any one look."""
    desk = await bench.desk(ONE_A_HOST)
    for n in range(40):
        await desk.start(f"https://limit{n}.example/", f"https://limit{n}.example/b", max_concurrency=1)
        await desk.start(f"https://pause{n}.example/", f"https://pause{n}.example/b", delay_us=60 * SECOND)
        await desk.start("https://host.example/")
        await desk.store.set_team_limit(100 + n, 1)
        await desk.start(f"https://team{n}.example/", f"https://team{n}b.example/", team=100 + n)
    held = await desk.claim_all()
    assert len(held) == 40 + 40 + 1 + 40
    free = await desk.start("https://free.example/")
    assert [lease.crawl for lease in await desk.claim(5)] == [free]


async def test_teams_whose_pages_all_wait_for_a_host_hide_none_behind_them(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    for team in range(2, 60):
        await desk.start("a", "b", team=team)
    busy = await desk.one()
    assert await desk.claim_all() == []
    other = await desk.start("https://other.example/", team=99)
    assert [lease.crawl for lease in await desk.claim(5)] == [other]
    result = await desk.step([ended(busy)], 5)
    assert len(result.leases) == 1


async def test_a_worker_of_few_kinds_sees_past_teams_with_others(desk: Desk) -> None:
    for team in range(2, 60):
        await desk.start(sitemap("map.xml"), team=team)
    crawl = await desk.start("a", team=99)
    assert [lease.crawl for lease in await desk.claim(5, kinds=[JobKind.PAGE])] == [crawl]
    assert len(await desk.claim_all()) == 58


async def test_crawls_share_by_their_priority_and_none_is_left_out(desk: Desk) -> None:
    crawls = {
        priority: await desk.start(*(f"p{priority}-{n}" for n in range(100)), priority=priority)
        for priority in (9, 5, 0, 99)
    }
    got: Counter[int] = Counter()
    for _ in range(69):
        lease = await desk.one()
        got[lease.crawl] += 1
        await desk.finish(lease)
    # By 10, 2, 1 and, of one that asks for more than there is, 10.
    for priority, share in {9: 30, 5: 6, 0: 3, 99: 30}.items():
        assert abs(got[crawls[priority]] - share) <= 2, got


async def test_many_at_once_are_shared_by_priority_too(desk: Desk) -> None:
    urgent = await desk.start(*(f"u{n}" for n in range(100)), priority=9)
    await desk.start(*(f"o{n}" for n in range(100)))
    first = Counter(lease.crawl for lease in await desk.claim(48))
    assert 36 <= first[urgent] <= 44
