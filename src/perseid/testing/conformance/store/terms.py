"""Under which terms a crawl runs, keys that are used once, and maps, which fetch no pages."""

from __future__ import annotations

import pytest

from perseid.errors import KeyUsed
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.job import JobKind
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, kickoff, page, sitemap

EVER = 2**62


async def test_terms_are_kept_as_they_were_given(desk: Desk) -> None:
    plain = await desk.start()
    own = await desk.start(terms=b'{"ttl_s":5}')
    assert (await desk.look(plain)).terms == b""
    seen = await desk.look(own)
    assert (seen.terms, seen.erased) == (b'{"ttl_s":5}', False)


async def test_a_key_is_used_once(desk: Desk) -> None:
    first = await desk.start(idempotency_key="k")
    with pytest.raises(KeyUsed):
        await desk.start(idempotency_key="k")
    assert [crawl.id for crawl in await desk.store.crawls()] == [first]
    assert len(await desk.claim_all()) == 1, "what was not started left a job behind"


async def test_a_key_is_known_to_all_processes(desk: Desk, bench: Bench) -> None:
    await desk.start(idempotency_key="k")
    with pytest.raises(KeyUsed):
        await (await bench.twin(desk)).start(idempotency_key="k")


async def test_each_team_has_keys_of_its_own(desk: Desk) -> None:
    await desk.start(idempotency_key="k", team=1)
    await desk.start(idempotency_key="k", team=2)
    await desk.start(idempotency_key="K", team=1)
    assert len(await desk.store.crawls()) == 3


async def test_a_key_stays_used_when_its_crawl_has_ended_until_that_is_pruned(desk: Desk) -> None:
    crawl = await desk.start(idempotency_key="k")
    await desk.drain()
    with pytest.raises(KeyUsed):
        await desk.start(idempotency_key="k")
    assert await desk.store.prune(ended_before_us=EVER) == [crawl]
    assert await desk.start(idempotency_key="k") != crawl


async def test_a_map_ends_with_its_start_page_and_sitemaps(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP)
    await desk.finish(await desk.one(), "a", "b", sitemap("map.xml"))
    assert (await desk.look(crawl)).status is CrawlStatus.SCRAPING
    (lease,) = await desk.claim_all()
    assert lease.kind is JobKind.SITEMAP
    await desk.finish(lease, page("c", sitemap=True), page("b", sitemap=True), sitemap("second.xml"))
    await desk.finish(await desk.one())
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.open, seen.counts.discovered) == (CrawlStatus.COMPLETED, 0, 4)
    assert seen.counts.sitemap_urls == 2
    found = [url for _job, url in await desk.store.admitted(crawl)]
    assert found == [HOME, *(page(name).url for name in "abc")]


async def test_pages_of_a_map_are_claimed_by_nobody(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP)
    await desk.finish(await desk.one(), sitemap("map.xml"), *(f"p{n}" for n in range(20)))
    assert await desk.claim_all(kinds=[JobKind.PAGE]) == []
    assert await desk.claim_all(kinds=[JobKind.PAGE], crawl=crawl) == []
    assert await desk.store.open_of(crawl, [JobKind.PAGE]) == 0
    assert len(await desk.claim_all()) == 1


async def test_pages_of_a_map_count_into_its_limit(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP, limit=3)
    await desk.finish(await desk.one(), *"abcdef")
    assert (await desk.look(crawl)).counts.discovered == 3
    assert await desk.store.denied_counts(crawl) == {"LIMIT_REACHED": 4}


async def test_a_map_past_its_deadline_ends(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP, deadline_us=SECOND)
    await desk.finish(await desk.one(), sitemap("map.xml"), "a")
    desk.clock.advance(2 * SECOND)
    await desk.sweep_all()
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered) == (CrawlStatus.COMPLETED, 2)


async def test_a_map_is_pruned_whole(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP, idempotency_key="m")
    await desk.finish(await desk.one(), *"abc")
    assert await desk.store.prune(ended_before_us=EVER) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}
