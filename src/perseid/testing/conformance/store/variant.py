"""Other spellings under one key are tried before the page counts as failed."""

from __future__ import annotations

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.ports.work import Failed, NewUrl
from perseid.testing.conformance.store.desk import HOME, Desk, document, page


def spellings(*urls: str) -> list[NewUrl]:
    """URLs that fold to one key."""
    return [page(url, key=4711) for url in urls]


def gone(status: int) -> Failed:
    return Failed(code=f"http_{status}", message="gone", status=status)


@pytest.mark.parametrize("status", [404, 410])
async def test_the_next_spelling_is_tried(desk: Desk, status: int) -> None:
    crawl = await desk.start(keep_variants=True)
    await desk.finish(await desk.one(), *spellings("p", "p/"))
    first = await desk.one()
    assert first.url == page("p").url
    await desk.finish(first, end=gone(status))
    counts = (await desk.look(crawl)).counts
    assert (counts.failed, counts.open, counts.discovered) == (0, 1, 2)
    second = await desk.one()
    assert (second.url, second.key, second.attempts) == (page("p/").url, 4711, 0)
    await desk.finish(second)
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done, seen.counts.failed) == (CrawlStatus.COMPLETED, 2, 0)
    assert await desk.documents(crawl) == [HOME, page("p/").url]


async def test_when_all_spellings_are_gone_the_page_failed_once(desk: Desk) -> None:
    crawl = await desk.start(keep_variants=True)
    await desk.finish(await desk.one(), *spellings("p", "p/", "p/index.html", "p"))
    tried = []
    while leases := await desk.claim(1):
        tried.append(leases[0].url)
        end = Failed(code="http_404", message="", status=404, document=document(leases[0].url, status=404))
        assert await desk.finish(leases[0], end=end)
    assert tried == [page(name).url for name in ("p", "p/", "p/index.html")]
    counts = (await desk.look(crawl)).counts
    assert (counts.failed, counts.done, counts.discovered, counts.documents) == (1, 1, 2, 2)


async def test_spellings_from_several_pages_are_remembered(desk: Desk) -> None:
    crawl = await desk.start("a", "b", keep_variants=True)
    a, b = await desk.claim_all()
    await desk.finish(a, *spellings("p"))
    await desk.finish(b, *spellings("p/"))
    await desk.finish(await desk.one(), end=gone(404))
    await desk.finish(await desk.one())
    assert (await desk.look(crawl)).counts.done == 3


async def test_a_spelling_seen_while_the_first_runs_is_tried(desk: Desk) -> None:
    await desk.start("a", *spellings("p"), keep_variants=True)
    a, first = await desk.claim_all()
    await desk.finish(a, *spellings("p/"))
    await desk.finish(first, end=gone(404))
    assert (await desk.one()).url == page("p/").url


async def test_other_failures_try_no_spelling(desk: Desk) -> None:
    crawl = await desk.start(*spellings("p", "p/"), keep_variants=True)
    await desk.finish(await desk.one(), end=gone(500))
    assert (await desk.look(crawl)).counts.failed == 1
    assert await desk.claim(5) == []


async def test_without_the_option_spellings_are_forgotten(desk: Desk) -> None:
    crawl = await desk.start(*spellings("p", "p/"))
    await desk.finish(await desk.one(), end=gone(404))
    assert (await desk.look(crawl)).counts.failed == 1
    assert await desk.claim(5) == []


async def test_a_spelling_on_another_host_is_fetched_from_its_host(desk: Desk) -> None:
    await desk.start(*spellings("p", "https://other.example/p"), keep_variants=True)
    await desk.finish(await desk.one(), end=gone(404))
    second = await desk.one()
    assert (second.url, second.host) == ("https://other.example/p", "other.example")


async def test_a_spelling_that_was_tried_is_not_tried_again(desk: Desk) -> None:
    crawl = await desk.start("a", "b", *spellings("p", "p/"), keep_variants=True)
    a, b, first = await desk.claim_all()
    await desk.finish(first, end=gone(404))
    second = await desk.one()
    await desk.finish(a, *spellings("p", "p/"))
    await desk.finish(second, end=gone(404))
    await desk.finish(b, *spellings("p", "p/"))
    assert await desk.claim(5) == []
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.failed) == (CrawlStatus.COMPLETED, 1)
