"""Discovery depth is the shortest known path: what is admitted depends on no timing and no number of workers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perseid.model.crawl import CrawlStatus
from perseid.ports.store import Failed, Finished, HostDefaults, Lease
from perseid.testing.conformance.store.backend import NewBackend
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, key_of, page

Graph = Mapping[int, Sequence[int]]
ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)


def run(lease: Lease, most: int, *urls: str) -> Finished:
    """A page run as a worker would: it says `cut` where its lease's depth leaves no room for links."""
    return ended(lease, *urls, cut=lease.depth >= most)


async def test_links_are_one_deeper_than_their_page(desk: Desk) -> None:
    await desk.start(max_discovery_depth=5)
    depths = []
    for name in "abc":
        lease = await desk.one()
        depths.append(lease.depth)
        await desk.finish(lease, name)
    assert [*depths, (await desk.one()).depth] == [0, 1, 2, 3]


async def test_links_beyond_the_depth_are_refused(desk: Desk) -> None:
    crawl = await desk.start(max_discovery_depth=1)
    await desk.step([run(await desk.one(), 1, "a")])
    await desk.step([run(await desk.one(), 1, "b", "c", HOME)])
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered, seen.counts.refused) == (CrawlStatus.COMPLETED, 2, 2)
    assert await desk.store.denied_counts(crawl) == {"DISCOVERY_DEPTH": 2}
    told = await desk.store.explain(crawl, [key_of(page("b").url)], page("b").url)
    assert (told.state, told.reason, told.referrers[0]) == ("refused", "DISCOVERY_DEPTH", page("a").url)


async def test_depth_zero_takes_the_start_page_only(desk: Desk) -> None:
    crawl = await desk.start(max_discovery_depth=0)
    await desk.step([run(await desk.one(), 0, "a", "b")])
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered) == (CrawlStatus.COMPLETED, 1)


async def test_a_shorter_path_found_later_admits_what_was_cut(desk: Desk) -> None:
    """HOME → a → b → (c) with room for two links; then HOME's slow sibling shows b nearer."""
    crawl = await desk.start(HOME, "slow", max_discovery_depth=2)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    await desk.step([run(await desk.one(), 2, "c")])
    assert page("c").url not in await desk.states(crawl)
    await desk.step([run(slow, 2, "b")])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("c").url, 2)
    await desk.step([run(lease, 2, "d")])
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered) == (CrawlStatus.COMPLETED, 5)
    assert [row.url for row in await desk.store.denied(crawl)] == [page("d").url]


async def test_a_shorter_path_reaches_on_through_pages_that_are_done(desk: Desk) -> None:
    crawl = await desk.start(HOME, "slow", max_discovery_depth=3)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 3, "a")])
    for name in ("b", "c", "d"):
        await desk.step([run(await desk.one(), 3, name)])
    assert page("d").url not in await desk.states(crawl)
    await desk.step([run(slow, 3, "b")])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("d").url, 3)


async def test_a_waiting_page_is_claimed_with_its_shorter_depth(desk: Desk) -> None:
    await desk.start(HOME, "slow", max_discovery_depth=9)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 9, "a")])
    await desk.step([run(await desk.one(), 9, "b")])
    await desk.step([run(slow, 9, "b")])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("b").url, 1)


async def test_a_page_that_runs_while_its_path_shortens_is_not_cut(desk: Desk) -> None:
    await desk.start(HOME, "slow", max_discovery_depth=2)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    running = await desk.one()
    assert running.depth == 2
    await desk.step([run(slow, 2, "b")])
    await desk.step([run(running, 2, "c")])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("c").url, 2)


async def test_one_batch_shortens_as_two_steps_would(desk: Desk) -> None:
    crawl = await desk.start(HOME, "slow", max_discovery_depth=2)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    running = await desk.one()
    await desk.step([run(running, 2, "c"), run(slow, 2, "b")])
    assert page("c").url in await desk.states(crawl)


async def test_the_limit_holds_for_what_is_admitted_late(desk: Desk) -> None:
    crawl = await desk.start(HOME, "slow", max_discovery_depth=2, limit=5)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    await desk.step([run(await desk.one(), 2, "c1", "c2", "c3")])
    await desk.step([run(slow, 2, "b")])
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.refused) == (5, 2)


def reachable(graph: Graph, most: int, lost: frozenset[int]) -> dict[int, int]:
    """Ground truth: the pages within `most` links of page 0, with their depth; lost pages show no links."""
    depths = {0: 0}
    level = [0]
    for depth in range(1, most + 1):
        pages = (to for node in level if node not in lost for to in graph.get(node, ()))
        level = [to for to in dict.fromkeys(pages) if to not in depths]
        depths |= dict.fromkeys(level, depth)
    return depths


def _url(node: int) -> str:
    return f"https://h{node % 3}.example/{node}"


async def crawl_in_any_order(
    desk: Desk, graph: Graph, most: int, lost: frozenset[int], chance: random.Random
) -> dict[str, int]:
    """Crawl with pages held for any time and finished in any batches; depth by URL at the end."""
    crawl = await desk.start(_url(0), max_discovery_depth=most)
    held: list[Lease] = []
    hold = chance.choice([1, 2, 5, 20])
    for _ in range(1_000):
        chance.shuffle(held)
        cut = chance.randint(0 if len(held) < hold else 1, len(held))
        done = []
        for lease in held[:cut]:
            node = int(lease.url.rpartition("/")[2])
            if node in lost:
                done.append(ended(lease, end=Failed(code="timeout", message="")))
            else:
                done.append(run(lease, most, *(_url(to) for to in graph.get(node, ()))))
        result = await desk.step(done, max(0, hold - len(held) + cut))
        assert all(result.kept)
        held = held[cut:] + result.leases
        if not held and (await desk.look(crawl)).status is not CrawlStatus.SCRAPING:
            break
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED
    return {job.url: job.depth for job in await desk.jobs(crawl)}


def test_what_is_admitted_depends_on_no_timing(new_backend: NewBackend) -> None:
    nodes = st.integers(0, 11)
    graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4), max_size=12)

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        graph=graphs,
        most=st.integers(0, 5),
        lost=st.frozensets(nodes, max_size=2),
        seed=st.integers(0, 2**32),
        one_a_host=st.booleans(),
    )
    def same_as_breadth_first(*, graph: Graph, most: int, lost: frozenset[int], seed: int, one_a_host: bool) -> None:
        async def crawl() -> dict[str, int]:
            bench = Bench(new_backend)
            passed = False
            try:
                desk = await bench.desk(ONE_A_HOST) if one_a_host else await bench.desk()
                found = await crawl_in_any_order(desk, graph, most, lost, random.Random(seed))
                passed = True
                return found
            finally:
                await bench.close(check=passed)

        expected = {_url(node): depth for node, depth in reachable(graph, most, lost).items()}
        assert asyncio.run(crawl()) == expected

    same_as_breadth_first()
