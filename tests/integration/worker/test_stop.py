"""Stopping: gracefully, at once, and for crawls that were cancelled."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.testing import Answer, Site
from perseid.worker.stop import Stop


async def _leases(lab: Any) -> int:
    return int((await lab.client._engine.store._rows.all("SELECT count(*) FROM lease"))[0][0])


async def test_a_graceful_stop_finishes_what_is_in_flight_and_gives_the_rest_back(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    for n in range(20):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.1)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=4, stop=stop))
    await site.wait_for(n=5)
    stop.ask()
    stopped = await running
    assert stopped.status is CrawlStatus.SCRAPING
    assert stopped.counts.done == len(site.requests) - 1, "a page that was fetched was not kept"
    assert await _leases(lab) == 0
    assert await lab.client._engine.store.workers() == []
    await lab.client.run(crawl.uid)
    assert len((await lab.outcome(crawl.uid)).paths) == 21
    assert max(site.counts().values()) == 1


async def test_who_is_declared_dead_while_it_winds_down_leaves_no_row_behind(
    site: Site, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.respond("/", hang=True)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop, store = Stop(), lab.client._engine.store
    running = asyncio.create_task(lab.client.run(crawl.uid, stop=stop))
    await site.wait_for("/")
    register = store.register

    async def slowly(*arguments: Any, **options: Any) -> Any:
        await asyncio.sleep(0.2)  # by then the worker is gone
        return await register(*arguments, **options)

    monkeypatch.setattr(store, "register", slowly)
    stop.ask()
    await store.reap([worker.id for worker in await store.workers()])
    await running
    assert await store.workers() == []
    assert await _leases(lab) == 0


async def test_a_stop_now_waits_for_no_page_and_loses_none(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b", "/c"]})
    site.sequence("/a", [Answer(hang=True), Answer(body="<p>a</p>")])
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, stop=stop))
    await site.wait_for("/a")
    began = time.monotonic()
    stop.now()
    await running
    assert time.monotonic() - began < 1.5
    assert await _leases(lab) == 0
    await lab.client.run(crawl.uid)
    found = await lab.outcome(crawl.uid)
    assert found.paths == ["/", "/a", "/b", "/c"]
    assert (await lab.explain(site.url("/a"), crawl.uid)).attempts == 1


async def test_a_graceful_stop_becomes_urgent_when_asked_again(site: Site, lab: Any) -> None:
    site.respond("/", hang=True)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, stop=stop))
    await site.wait_for("/")
    stop.ask()
    assert not (await asyncio.wait([running], timeout=0.3))[0]
    stop.now()
    async with asyncio.timeout(2):
        await running


async def test_a_graceful_stop_waits_no_longer_than_its_grace(site: Site, open_lab: Any) -> None:
    lab = await open_lab(worker={"grace_s": 0.2})
    site.respond("/", hang=True)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, stop=stop))
    await site.wait_for("/")
    stop.ask()
    async with asyncio.timeout(3):
        await running
    assert await _leases(lab) == 0


async def test_a_worker_lets_go_of_a_cancelled_crawl_for_another(site: Site, lab: Any) -> None:
    other = site.host("other")
    site.links({"/": [f"/{n}" for n in range(50)]})
    for n in range(50):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.1)
    other.links({"/": ["/a"]})
    stop = Stop()
    working = asyncio.create_task(lab.client.work(stop, concurrency=2))
    first = await lab.start(site.url("/"), sitemap="skip")
    await site.wait_for(n=5)
    await lab.client.cancel(first.uid)
    second = await lab.start(other.url("/"), sitemap="skip")
    await site.wait_for("/a")
    asked = sum(request.host == "site" for request in site.requests)
    await lab.until(lambda: lab.ended(second.uid))
    stop.ask()
    await working
    assert asked < 15
    assert await _leases(lab) == 0
    assert (await lab.outcome(first.uid)).failures == {}


async def test_work_that_arrives_later_is_done_soon(site: Site, lab: Any) -> None:
    site.links({"/": []})
    stop = Stop()
    working = asyncio.create_task(lab.client.work(stop))
    await asyncio.sleep(0.3)
    began = time.monotonic()
    await lab.start(site.url("/"), sitemap="skip")
    await site.wait_for("/")
    assert time.monotonic() - began < 1.0
    stop.ask()
    await working


async def test_a_small_crawl_gets_its_turn_beside_a_large_batch(open_lab: Any) -> None:
    names = [f"h{n}" for n in range(30)]
    async with Site(*names) as site:
        lab = await open_lab()
        for name in names:
            site.host(name).otherwise(Answer(body="<p>x</p>"))
        site.links({"/": [f"/mine/{n}" for n in range(9)]})
        await lab.client.start_batch([site.host(name).url(f"/{n}") for n in range(40) for name in names])
        stop = Stop()
        working = asyncio.create_task(lab.client.work(stop, concurrency=8))
        await site.wait_for(n=20)
        crawl = await lab.start(site.url("/"), sitemap="skip")
        began = len(site.requests)
        await lab.until(lambda: lab.ended(crawl.uid))
        needed = len(site.requests) - began
        stop.now()
        await working
    assert (await lab.outcome(crawl.uid)).crawl.counts.done == 10
    assert needed <= 150
