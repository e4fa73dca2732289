"""Discovery depth is the shortest known path: what is admitted depends on no timing and no number of workers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.ports.store import HostDefaults
from perseid.ports.work import Done, Failed, Finished, Lease, NewUrl
from perseid.testing.conformance.store.backend import NewBackend
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, document, ended, key_of, kickoff, page, sitemap

Graph = Mapping[int, Sequence[int]]
ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)


def run(lease: Lease, most: int, *urls: str | NewUrl) -> Finished:
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


async def test_a_redirect_brings_the_page_it_ends_on_nearer(desk: Desk) -> None:
    """HOME → a → b → x, where links of x are cut; then a page beside HOME redirects to x."""
    crawl = await desk.start(HOME, "moved", max_discovery_depth=3)
    home, moved = await desk.claim(2)
    await desk.step([run(home, 3, "a")])
    for name in ("b", "x", "y"):
        await desk.step([run(await desk.one(), 3, name)])
    assert page("y").url not in await desk.states(crawl)
    final = page("x")
    await desk.step([ended(moved, "y", final_key=final.key, final_url=final.url)])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("y").url, 1)


async def test_a_shorter_path_to_a_duplicate_leads_on_to_its_page(desk: Desk) -> None:
    """HOME → a → b → moved and x, where moved ends on x; then the slow sibling shows moved nearer."""
    crawl = await desk.start(HOME, "slow", max_discovery_depth=3)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 3, "a")])
    await desk.step([run(await desk.one(), 3, "b")])
    await desk.step([run(await desk.one(), 3, "x", "moved")])
    x, moved = await desk.claim(2)
    await desk.step([run(x, 3, "y")])
    await desk.step([ended(moved, final_key=x.key, final_url=x.url)])
    assert page("y").url not in await desk.states(crawl)
    await desk.step([run(slow, 3, "moved")])
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("y").url, 2)


async def test_one_batch_shortens_as_two_steps_would(desk: Desk) -> None:
    crawl = await desk.start(HOME, "slow", max_discovery_depth=2)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    running = await desk.one()
    await desk.step([run(running, 2, "c"), run(slow, 2, "b")])
    assert page("c").url in await desk.states(crawl)


async def test_the_depth_cuts_links_not_sitemaps(desk: Desk) -> None:
    """Pages of a sitemap are as near as the start page, so its files are read however small the depth."""
    crawl = await desk.start(kickoff(), max_discovery_depth=0)
    await desk.step([run(await desk.one(), 0, "a", "b", sitemap("map.xml"))])
    file = await desk.one()
    assert file.kind is JobKind.SITEMAP
    await desk.finish(file, page("b", sitemap=True), page("c", sitemap=True))
    assert sorted(lease.url for lease in await desk.claim_all()) == [page("b").url, page("c").url]
    assert await desk.store.denied_counts(crawl) == {"DISCOVERY_DEPTH": 1}


async def test_pages_of_a_sitemap_are_as_near_as_the_start(desk: Desk) -> None:
    crawl = await desk.start(page(HOME), sitemap("map.xml"), max_discovery_depth=1)
    home = await desk.one(kinds=[JobKind.PAGE])
    await desk.step([run(home, 1, "a")])
    a = await desk.one(kinds=[JobKind.PAGE])
    await desk.step([run(a, 1, "b")])
    await desk.finish(await desk.one(), page("a", sitemap=True))
    lease = await desk.one()
    assert (lease.url, lease.depth) == (page("b").url, 1)
    assert {job.url: job.depth for job in await desk.jobs(crawl) if job.kind is JobKind.PAGE} == {
        HOME: 0,
        page("a").url: 0,
        page("b").url: 1,
    }


async def test_the_limit_holds_for_what_is_admitted_late(desk: Desk) -> None:
    crawl = await desk.start(HOME, "slow", max_discovery_depth=2, limit=5)
    home, slow = await desk.claim(2)
    await desk.step([run(home, 2, "a")])
    await desk.step([run(await desk.one(), 2, "b")])
    await desk.step([run(await desk.one(), 2, "c1", "c2", "c3")])
    await desk.step([run(slow, 2, "b")])
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.refused) == (5, 2)


def reachable(graph: Graph, most: int, lost: frozenset[int], moved: Mapping[int, int] | None = None) -> dict[int, int]:
    """Ground truth: the pages within `most` links of page 0, with their depth.

    Lost pages show no links; one that moved shows another's, and brings it as near as itself.
    """
    moved = moved or {}
    depths: dict[int, int] = {}
    level = [0]
    for depth in range(most + 1):
        level = [node for node in dict.fromkeys(moved.get(node, node) for node in level) if node not in depths]
        depths |= dict.fromkeys(level, depth)
        level = [to for node in level if node not in lost for to in graph.get(node, ())]
    return depths


def _url(node: int) -> str:
    return f"https://h{node % 3}.example/{node}"


@dataclass
class Site:
    """What a worker finds."""

    graph: Graph
    most: int
    lost: frozenset[int] = frozenset()
    moved: Mapping[int, int] = field(default_factory=dict)

    def visit(self, lease: Lease) -> Finished:
        node = int(lease.url.rpartition("/")[2])
        if node in self.lost:
            return ended(lease, end=Failed(code="timeout", message=""))
        final = self.moved.get(node, node)
        urls = [page(_url(to)) for to in self.graph.get(final, ())]
        return Finished(
            lease=lease,
            end=Done(document=document(_url(final))),
            urls=urls,
            cut=lease.depth >= self.most,
            final_key=key_of(_url(final)) if final != node else None,
            final_url=_url(final) if final != node else "",
        )


async def crawl_in_any_order(desk: Desk, site: Site, chance: random.Random) -> CrawlId:
    """Crawl to the end, with pages held for any time and finished in any batches."""
    crawl = await desk.start(_url(0), max_discovery_depth=site.most)
    held: list[Lease] = []
    hold = chance.choice([1, 2, 5, 20])
    for _ in range(1_000):
        chance.shuffle(held)
        cut = chance.randint(0 if len(held) < hold else 1, len(held))
        result = await desk.step([site.visit(lease) for lease in held[:cut]], max(0, hold - len(held) + cut))
        assert all(result.kept)
        held = held[cut:] + result.leases
        if not held and (await desk.look(crawl)).status is not CrawlStatus.SCRAPING:
            break
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED
    return crawl


Asked = Callable[[Desk, CrawlId], Awaitable[Any]]


def crawl_once(new_backend: NewBackend, site: Site, seed: int, asked: Asked, *, one_a_host: bool) -> Any:
    """What a crawl of the site comes to, on an empty database."""

    async def crawled() -> Any:
        bench = Bench(new_backend)
        passed = False
        try:
            desk = await bench.desk(ONE_A_HOST) if one_a_host else await bench.desk()
            answer = await asked(desk, await crawl_in_any_order(desk, site, random.Random(seed)))
            passed = True
            return answer
        finally:
            await bench.close(check=passed)

    return asyncio.run(crawled())


NODES = st.integers(0, 11)
GRAPHS = st.dictionaries(NODES, st.lists(NODES, max_size=4), max_size=12)


def test_what_is_admitted_depends_on_no_timing(new_backend: NewBackend) -> None:
    async def depths(desk: Desk, crawl: CrawlId) -> dict[str, int]:
        return {job.url: job.depth for job in await desk.jobs(crawl)}

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(GRAPHS, st.integers(0, 5), st.frozensets(NODES, max_size=2), st.integers(0, 2**32), st.booleans())
    def same_as_breadth_first(graph: Graph, most: int, lost: frozenset[int], seed: int, one_a_host: bool) -> None:
        found = crawl_once(new_backend, Site(graph, most, lost), seed, depths, one_a_host=one_a_host)
        assert found == {_url(node): depth for node, depth in reachable(graph, most, lost).items()}

    same_as_breadth_first()


def test_what_is_brought_home_through_redirects_depends_on_no_timing(new_backend: NewBackend) -> None:
    async def documents(desk: Desk, crawl: CrawlId) -> list[str]:
        return sorted(await desk.documents(crawl))

    moves = st.dictionaries(st.integers(6, 11), st.integers(0, 5), max_size=6)

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(GRAPHS, st.integers(0, 5), moves, st.integers(0, 2**32))
    def same_as_breadth_first(graph: Graph, most: int, moved: Mapping[int, int], seed: int) -> None:
        site = Site(graph, most, frozenset(), moved)
        found = crawl_once(new_backend, site, seed, documents, one_a_host=False)
        assert found == sorted(map(_url, reachable(graph, most, frozenset(), moved)))

    same_as_breadth_first()
