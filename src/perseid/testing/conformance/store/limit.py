"""The limit reserves discovered pages: exactly, at once, whoever adds."""

from __future__ import annotations

import asyncio

from perseid.model.crawl import CrawlStatus
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.work import Refused
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, kickoff, links, page, sitemap

LIMIT_REACHED = "LIMIT_REACHED"


async def test_the_limit_reserves_discovered_pages(desk: Desk) -> None:
    crawl = await desk.start(limit=3)
    await desk.drain({HOME: ["a", "b", "c", "d", "e"]})
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered, seen.counts.done) == (CrawlStatus.COMPLETED, 3, 3)
    assert await desk.documents(crawl) == [HOME, page("a").url, page("b").url]


async def test_what_the_limit_refuses_stands_in_the_ledger(desk: Desk) -> None:
    crawl = await desk.start(limit=2)
    await desk.drain({HOME: ["a", "b", "c"]})
    assert await desk.store.denied_counts(crawl) == {LIMIT_REACHED: 2}
    rows = await desk.store.denied(crawl)
    assert [(row.url, row.reason, row.referrer) for row in rows] == [
        (page("b").url, LIMIT_REACHED, HOME),
        (page("c").url, LIMIT_REACHED, HOME),
    ]
    assert {row.message for row in rows} == {"The crawl's limit of 2 pages was already reached."}


async def test_known_urls_need_no_room(desk: Desk) -> None:
    crawl = await desk.start(limit=3)
    await desk.finish(await desk.one(), HOME, "a", HOME, "a", "b", "c")
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.refused) == (3, 1)


async def test_the_limit_holds_for_the_first_urls(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c", "d", limit=2)
    assert (await desk.look(crawl)).counts.discovered == 2
    assert len(await desk.claim_all()) == 2


async def test_the_limit_holds_within_one_batch(desk: Desk) -> None:
    crawl = await desk.start("a", "b", limit=5)
    a, b = await desk.claim_all()
    await desk.step([ended(a, "a1", "a2"), ended(b, "b1", "b2")])
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.refused) == (5, 1)


async def test_the_limit_holds_for_many_adding_at_once(desk: Desk, bench: Bench) -> None:
    crawl = await desk.start(limit=50)
    twin = await bench.twin(desk)
    adds = [
        (desk, twin)[n % 2].store.add(crawl, links(*(f"p{m}" for m in range(n * 7, n * 7 + 10)))) for n in range(12)
    ]
    admitted = await asyncio.gather(*adds)
    assert sum(admitted) == 49
    assert (await desk.look(crawl)).counts.discovered == 50
    assert len(await desk.claim_all()) == 50


async def test_an_uncounted_start_takes_no_place(desk: Desk) -> None:
    crawl = await desk.start(page(HOME, counted=False), limit=2)
    assert (await desk.look(crawl)).counts.open == 1
    start = await desk.one()
    assert not start.counted
    await desk.finish(start, "a", "b", "c")
    await desk.drain()
    seen = await desk.look(crawl)
    assert seen.status is CrawlStatus.COMPLETED
    assert (seen.counts.discovered, seen.counts.done, seen.counts.documents) == (2, 2, 2)
    assert await desk.documents(crawl) == [page("a").url, page("b").url]


async def test_an_uncounted_kickoff_takes_no_place(desk: Desk) -> None:
    crawl = await desk.start(kickoff(counted=False), limit=1)
    await desk.finish(await desk.one(), HOME, "a", "b")
    await desk.drain()
    assert await desk.documents(crawl) == [page("a").url]


async def test_a_start_that_turns_out_refused_gives_its_place_back(desk: Desk) -> None:
    crawl = await desk.start(kickoff(), limit=1)
    desk.uncounted.add(crawl)
    refused = Refused(denial=Denial(DenialReason.INCLUDE_PATTERN, "/a", "/"), uncount=True)
    await desk.finish(await desk.one(), "a", "b", end=refused)
    await desk.drain()
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered, seen.counts.done) == (CrawlStatus.COMPLETED, 1, 1)
    assert seen.counts.denied == 0
    assert await desk.documents(crawl) == [page("a").url]


async def test_sitemaps_take_no_place(desk: Desk) -> None:
    crawl = await desk.start(kickoff(), limit=2)
    await desk.finish(await desk.one(), sitemap("s1"), sitemap("s2"))
    await desk.drain({page("s1").url: ["a", "b"], page("s2").url: ["c"]})
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered, seen.counts.done) == (CrawlStatus.COMPLETED, 2, 2)


async def test_sitemap_jobs_are_admitted_though_the_limit_is_full(desk: Desk) -> None:
    crawl = await desk.start(kickoff(), limit=1)
    await desk.finish(await desk.one(), sitemap("s1"))
    assert len(await desk.claim_all()) == 1
    assert (await desk.look(crawl)).counts.discovered == 1


async def test_nothing_is_added_to_an_ended_crawl(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.drain()
    assert await desk.store.add(crawl, links("a")) == 0
    cancelled = await desk.start()
    await desk.store.cancel(cancelled)
    assert await desk.store.add(cancelled, links("a")) == 0
    assert await desk.claim(5) == []


async def test_nothing_is_added_for_a_lost_lease(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    lease = await desk.one()
    assert await desk.store.add(crawl, links("c"), parent=lease) == 1
    await desk.finish(lease)
    assert await desk.store.add(crawl, links("d"), parent=lease) == 0
    assert (await desk.look(crawl)).counts.discovered == 3


async def test_a_place_given_back_goes_to_a_link_refused_before(desk: Desk) -> None:
    crawl = await desk.start(kickoff(), limit=1)
    desk.uncounted.add(crawl)
    start = await desk.one()
    assert await desk.store.add(crawl, links("a"), parent=start) == 0
    refused = Refused(denial=Denial(DenialReason.INCLUDE_PATTERN, "/a", "/"), uncount=True)
    await desk.finish(start, "a", end=refused)
    await desk.drain()
    assert await desk.documents(crawl) == [page("a").url]
    assert await desk.store.denied(crawl) == []
