"""Who comes next: breadth first within a crawl, fair between crawls, classes weighted."""

from __future__ import annotations

from collections import Counter

from perseid.model.job import JobKind
from perseid.testing.conformance.store.desk import HOME, Desk, ended, page, sitemap


async def test_one_lane_is_first_in_first_out(desk: Desk) -> None:
    await desk.start("a", "b", "c", "d")
    assert [lease.url for lease in await desk.claim(4)] == [page(name).url for name in "abcd"]


async def test_lanes_are_claimed_in_order_of_discovery(desk: Desk) -> None:
    found = [f"https://{host}.example/{n}" for n, host in enumerate("bacabcddab")]
    await desk.start()
    await desk.finish(await desk.one(), *found)
    assert [(await desk.one()).url for _ in found] == found


async def test_a_level_is_claimed_before_the_next(desk: Desk) -> None:
    site = {HOME: [f"https://{host}.example/1" for host in "abc"]}
    for host in "abc":
        site[f"https://{host}.example/1"] = [f"https://{to}.example/2{host}" for to in "abc"]
    await desk.start()
    order = await desk.drain(site, want=1)
    levels = [url.rpartition("/")[2][:1] for url in order]
    assert levels == ["", *"111", *"222222222"]


async def test_external_hosts_do_not_starve_the_own_site(desk: Desk) -> None:
    await desk.start()
    found = ["own1", *(f"https://h{n}.example/" for n in range(300)), "own2"]
    await desk.finish(await desk.one(), *found)
    first = [lease.url for lease in await desk.claim(20)]
    assert page("own1").url in first


async def test_a_long_lane_does_not_hide_the_others(desk: Desk) -> None:
    await desk.start()
    await desk.finish(await desk.one(), *(f"own{n}" for n in range(500)), "https://other.example/")
    claimed = [(await desk.claim(50)) for _ in range(11)]
    assert "https://other.example/" in {lease.url for leases in claimed for lease in leases}


async def _shares(desk: Desk, want: int, rounds: int) -> Counter[JobKind]:
    await desk.start_with([page(f"p{n}") for n in range(400)] + [sitemap(f"s{n}") for n in range(400)])
    shares: Counter[JobKind] = Counter()
    for _ in range(rounds):
        leases = await desk.claim(want)
        assert len(leases) == want
        shares.update(lease.kind for lease in leases)
        await desk.step([ended(lease) for lease in leases])
    return shares


async def test_classes_are_weighted_not_strict_one_by_one(desk: Desk) -> None:
    shares = await _shares(desk, 1, 100)
    assert 8 <= shares[JobKind.PAGE] < shares[JobKind.SITEMAP]


async def test_classes_are_weighted_not_strict_in_batches(desk: Desk) -> None:
    shares = await _shares(desk, 10, 20)
    assert 16 <= shares[JobKind.PAGE] < shares[JobKind.SITEMAP]


async def test_a_small_crawl_is_not_starved_by_a_huge_one(desk: Desk) -> None:
    huge = await desk.start_with([page(f"https://h{n}.example/") for n in range(3_000)])
    small = await desk.start_with([page(f"p{n}") for n in range(10)])
    first = [lease.crawl for _ in range(10) for lease in await desk.claim(10)]
    assert len(first) == 100
    assert first.count(small) == 10
    assert first.count(huge) == 90


async def test_a_small_crawl_is_not_starved_when_claims_come_one_by_one(desk: Desk) -> None:
    await desk.start_with([page(f"https://h{n}.example/") for n in range(1_000)])
    small = await desk.start_with([page(f"p{n}") for n in range(10)])
    first = [(await desk.one()).crawl for _ in range(100)]
    assert first.count(small) == 10


async def test_every_crawl_gets_its_turn(desk: Desk) -> None:
    crawls = [await desk.start_with([page(f"p{n}") for n in range(20)]) for _ in range(20)]
    turns = Counter([lease.crawl for _ in range(8) for lease in await desk.claim(5)])
    assert set(turns) == set(crawls)
    assert max(turns.values()) <= 4


async def test_a_crawl_that_idled_saves_up_no_turns(desk: Desk) -> None:
    await desk.start_with([page(f"p{n}") for n in range(500)])
    idle = await desk.start()
    waiting = await desk.one(crawl=idle)
    for _ in range(30):
        await desk.step([ended(lease) for lease in await desk.claim(10)])
    await desk.finish(waiting, *(f"late{n}" for n in range(200)))
    turns = Counter([(await desk.one()).crawl == idle for _ in range(40)])
    assert 10 <= turns[True] <= 30
