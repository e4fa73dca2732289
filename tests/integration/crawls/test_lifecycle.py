"""Whole crawls from start to end: listings, cancelling, throttling, slow pages, crawling again."""

from __future__ import annotations

import asyncio
import itertools
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from perseid.errors import NotFound
from perseid.model.crawl import CrawlStatus
from perseid.testing import Answer, Site
from perseid.testing.answer import Request
from perseid.worker.stop import Stop


async def test_a_listing_in_pages_skips_and_repeats_nothing(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(249)]})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=8))
    seen: list[int] = []
    while not running.done() or len(seen) < 250:
        seen += [seq async for seq, _line, _document in lab.client.documents(crawl.uid, after=seen[-1] if seen else 0)]
        await asyncio.sleep(0)
    await running
    assert seen == list(range(1, 251))
    assert [seq async for seq, _line, _document in lab.client.documents(crawl.uid)] == seen


async def test_a_listing_goes_on_where_it_was_left(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    rest = [seq async for seq, _line, _document in lab.client.documents(found.crawl.uid, after=15)]
    assert rest == [16, 17, 18, 19, 20, 21]


async def test_cancelling_keeps_results_and_makes_no_failures(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(200)]})
    for n in range(200):
        site.page(f"/{n}", f"<p>{n}</p>", delay_s=0.01)
    crawl = await lab.start(site.url("/"), limit=500, sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=4))
    await site.wait_for(n=50)
    assert await lab.client.cancel(crawl.uid)
    await running
    asked = len(site.requests)
    found = await lab.outcome(crawl.uid)
    assert found.crawl.status is CrawlStatus.CANCELLED
    assert found.failures == {}
    assert len(found.documents) > 20
    assert asked < 80
    assert not await lab.client.cancel(crawl.uid)


async def test_a_crawl_ends_in_this_process_when_it_is_cancelled_in_another(site: Site, open_lab: Any) -> None:
    ours, theirs = await open_lab(), await open_lab()
    site.otherwise(lambda request: Answer(body=f"<a href='{request.path}x'>more</a>", delay_s=0.01))
    crawl = await ours.start(site.url("/a/"), scope={"entire_domain": True}, sitemap="skip")
    running = asyncio.create_task(ours.client.run(crawl.uid))
    await site.wait_for(n=5)
    await theirs.client.cancel(crawl.uid)
    async with asyncio.timeout(5):
        ended = await running
    assert ended.status is CrawlStatus.CANCELLED


async def test_every_url_discovered_is_accounted_for(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b", "/c", "/d", "/e"]})
    site.redirect("/a", "/b")
    site.respond("/c", 404)
    site.redirect("/d", "http://elsewhere.test/")
    counts = (await lab.crawl(site.url("/"), sitemap="skip")).crawl.counts
    assert (counts.discovered, counts.done, counts.failed, counts.duplicate, counts.denied) == (6, 3, 1, 1, 1)


def _gaps(site: Site, path: str) -> list[float]:
    times = [request.at_s for request in site.requests if request.path == path and request.host == "site"]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


async def test_retry_after_in_seconds_is_waited_for(site: Site, lab: Any) -> None:
    other = site.host("other")
    other.links({"/": [f"/{n}" for n in range(5)]})
    retry = [(429, {"Retry-After": value}) for value in ("5", "-5", "soon")]
    site.sequence("/", [*retry, (200, {}, "<p>ok</p>")])
    busy, free = await lab.start(site.url("/"), sitemap="skip"), await lab.start(other.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(busy.uid))
    await lab.client.run(free.uid)
    assert site.counts("site").get("/", 0) <= 1, "the other host had to wait"
    await running
    found = await lab.outcome(busy.uid)
    first, second, third = _gaps(site, "/")
    assert found.paths == ["/"]
    assert first >= 5
    assert 0.9 < second < 5
    assert 0.9 < third < 8
    assert (await lab.explain(site.url("/"), busy.uid)).attempts == 1


async def test_retry_after_as_a_date_is_waited_for(site: Site, lab: Any) -> None:
    def busy(request: Request) -> Answer:
        return Answer(status=503, headers={"Retry-After": formatdate(time.time() + 2, usegmt=True)})

    site.sequence("/", [busy, (200, {}, "<p>ok</p>")])
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/"]
    assert 0.9 < _gaps(site, "/")[0] < 4


@pytest.mark.parametrize("value", ["999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_absurd_times_to_wait_are_capped(site: Site, open_lab: Any, value: str) -> None:
    lab = await open_lab(politeness={"max_backoff_s": 0.3})
    site.sequence("/", [(429, {"Retry-After": value}), (200, {}, "<p>ok</p>")])
    async with asyncio.timeout(5):
        found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/"]


async def test_a_host_that_only_throttles_is_given_up(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"max_backoff_s": 0.05, "give_up_after": 3})
    site.links({"/": ["/a", "/b", "/c"]})
    for path in ("/a", "/b", "/c"):
        site.respond(path, 429)
    found = await lab.crawl(site.url("/"), sitemap="skip", concurrency=1)
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert len(found.codes) == 3
    # But for a page that was itself refused as often.
    assert {"rate_limited"} <= set(found.codes.values()) <= {"rate_limited", "http_429"}
    assert found.paths[0] == "/"


@pytest.mark.parametrize("status", [429, 503])
async def test_a_page_that_is_always_refused_is_kept_as_it_answers(site: Site, open_lab: Any, status: int) -> None:
    lab = await open_lab(politeness={"max_backoff_s": 0.05, "give_up_after": 5})
    site.links({"/": ["/a", "/always", "/b"]})
    site.page("/always", "<p>come back another day</p>", status=status)
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/always"): f"http_{status}"}
    assert found.crawl.counts.documents == 4, "the body that it came with was not kept"


async def test_a_page_that_trickles_times_out_and_holds_nobody_up(site: Site, lab: Any) -> None:
    site.links({"/": [*(f"/fast{n}" for n in range(8)), "/slow"]})
    site.page("/slow", "<p>" + "x" * 500, trickle_s=0.05)
    began = time.monotonic()
    scrape = {"timeout_s": 0.5, "max_attempts": 1}
    found = await lab.crawl(site.url("/"), scrape=scrape, sitemap="skip", concurrency=2)
    assert len(found.documents) == 9
    assert found.codes == {site.url("/slow"): "timeout"}
    assert time.monotonic() - began < 5


async def test_filters_apply_to_a_later_crawl_of_the_same_site(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b/1"]})
    await lab.crawl(site.url("/"), sitemap="skip")
    second = await lab.crawl(site.url("/"), scope={"exclude": ("b/.*",)}, sitemap="skip")
    assert second.paths == ["/", "/a"]


async def test_an_identical_crawl_fetches_all_anew(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b"]})
    first = await lab.crawl(site.url("/"), sitemap="skip")
    site.page("/a", "<p>changed</p>")
    second = await lab.crawl(site.url("/"), sitemap="skip")
    assert second.paths == first.paths
    assert site.counts() == {"/robots.txt": 1, "/": 2, "/a": 2, "/b": 2}
    assert any(document.markdown == "changed" for document in second.documents)


async def test_two_workers_that_finish_one_job_count_it_once(site: Site, open_lab: Any) -> None:
    labs = [await open_lab() for _ in range(3)]
    site.links({"/": [f"/{n}" for n in range(60)]})
    crawl = await labs[0].start(site.url("/"), sitemap="skip")
    await asyncio.gather(*[lab.client.run(crawl.uid, concurrency=4) for lab in labs])
    found = await labs[0].outcome(crawl.uid)
    assert found.crawl.counts.done == len(set(found.paths)) == len(found.paths) == 61
    assert max(site.counts().values()) == 1


async def test_errors_of_the_server_are_tried_three_times(site: Site, lab: Any) -> None:
    site.links({"/": ["/flaky"]})
    site.sequence("/flaky", [(500,), (502,), (200, {}, "<p>at last</p>")])
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/flaky"]
    assert (await lab.explain(site.url("/flaky"), found.crawl.uid)).attempts == 3


@pytest.mark.parametrize("status", [404, 410, 401, 451])
async def test_final_answers_are_asked_for_once(site: Site, lab: Any, status: int) -> None:
    site.links({"/": ["/a"]})
    site.respond("/a", status)
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/a"): f"http_{status}"}
    assert site.counts()["/a"] == 1


async def test_a_host_that_goes_away_for_good_ends_the_crawl(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"max_backoff_s": 0.05, "give_up_after": 3})
    site.links({"/": [f"/{n}" for n in range(40)]})
    for n in range(40):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.02)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=2))
    await site.wait_for(n=8)
    await site.stop()
    async with asyncio.timeout(20):
        await running
    found = await lab.outcome(crawl.uid)
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert set(found.codes.values()) <= {"host_down", "connection_error"}
    assert "host_down" in found.codes.values()
    assert len(found.paths) + len(found.failures) == 41


async def test_a_host_that_comes_back_loses_nothing(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"max_backoff_s": 0.4})
    site.links({"/": [f"/{n}" for n in range(20)]})
    for n in range(20):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.02)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=2))
    await site.wait_for(n=8)
    await site.stop()
    await asyncio.sleep(0.3)
    await site.start()
    async with asyncio.timeout(20):
        await running
    found = await lab.outcome(crawl.uid)
    assert (len(found.paths), found.failures) == (21, {})


async def test_a_refusal_by_403_is_tried_again(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.sequence("/a", [(403,), (200, {}, "<p>well then</p>")])
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/a"]


@pytest.mark.folder
async def test_a_pruned_crawl_is_gone_with_its_bodies(site: Site, open_lab: Any, tmp_path: Path) -> None:
    lab = await open_lab(store={"blob_bytes": 1024})
    site.page("/", "<p>" + " ".join(f"word{n * 7919 % 100003}" for n in range(5_000)))
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert any((tmp_path / "store" / "blobs").rglob("document"))
    assert await lab.client.prune(older_than_s=0) == 1
    assert not any((tmp_path / "store" / "blobs").rglob("document"))
    with pytest.raises(NotFound):
        await lab.client.crawl(found.crawl.uid)


async def test_a_crawl_pruned_while_it_is_listed_ends_the_listing(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(150)]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    listing = lab.client.documents(found.crawl.uid)
    await anext(listing)
    await lab.client.prune(older_than_s=0)
    assert len([document async for document in listing]) <= 150


async def test_ten_crawls_at_once_keep_to_themselves(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b", "/c"]})
    crawls = [await lab.start(site.url("/"), limit=n, sitemap="skip") for n in (1, 2, 3, 4) * 2]
    stop = Stop()
    working = asyncio.create_task(lab.client.work(stop))
    for crawl in crawls:
        await lab.until(lambda uid=crawl.uid: lab.ended(uid))
    stop.ask()
    await working
    assert [len((await lab.outcome(crawl.uid)).paths) for crawl in crawls] == [1, 2, 3, 4] * 2
