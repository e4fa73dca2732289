"""Workers that vanish: nothing in flight is lost, nothing is stored twice."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec
import pytest

from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.job import JobKind
from perseid.ports.store import StepResult, Store
from perseid.testing import Answer, Site

WORK = """
import asyncio, pathlib, sys
from perseid.config.settings import Settings
from perseid.runtime import Client
from perseid.testing.ground import Ground

async def main(folder, uid, concurrency, *ground):
    async with await Client.open(pathlib.Path(folder), Ground(*ground).under(Settings())) as client:
        await client.run(uid, concurrency=int(concurrency))

asyncio.run(main(*sys.argv[1:]))
"""


async def _worker(lab: Any, crawl: Crawl, concurrency: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORK, str(lab.place), crawl.uid, str(concurrency), *msgspec.structs.astuple(lab.ground),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


async def test_a_page_in_flight_at_a_kill_is_fetched_again_and_stored_once(site: Site, lab: Any) -> None:
    site.links({"/p1": ["/p2", "/p3"]})
    whole = Answer(body="<p>" + "half " * 100)
    site.sequence("/p2", [Answer(body=whole.body, trickle_s=60, trickle_bytes=250), whole])
    crawl = await lab.start(site.url("/p1"), scope={"entire_domain": True}, sitemap="skip")
    worker = await _worker(lab, crawl, 1)
    await site.wait_for("/p2")
    worker.kill()
    await worker.wait()
    await lab.client.run(crawl.uid)
    found = await lab.outcome(crawl.uid)
    assert site.counts() == {"/robots.txt": 1, "/p1": 1, "/p2": 2, "/p3": 1}
    assert found.paths == ["/p1", "/p2", "/p3"]
    assert found.crawl.status is CrawlStatus.COMPLETED


async def test_kills_at_any_time_lose_and_double_nothing(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(8)]} | {f"/{n}": [f"/{n}/{m}" for m in range(6)] for n in range(8)})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    for requests in (3, 17, 31, 44):
        worker = await _worker(lab, crawl, 4)
        await site.wait_for(n=requests)
        worker.kill()
        await worker.wait()
    await lab.client.run(crawl.uid)
    found = await lab.outcome(crawl.uid)
    assert len(found.paths) == len(set(found.paths)) == found.crawl.counts.done == 57


async def test_the_lease_of_a_vanished_machine_goes_to_another_worker(site: Site, open_lab: Any) -> None:
    lab = await open_lab(worker={"beat_s": 0.1, "dead_after_s": 1.5})
    site.links({"/": ["/a"]})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    store = lab.client._engine.store
    gone = await store.register("a machine that is no more", 1, 1)
    taken = await store.step(gone, [], 5, kinds=tuple(JobKind), crawl=crawl.id)
    assert len(taken.leases) == 1
    async with asyncio.timeout(10):
        ended = await lab.client.run(crawl.uid)
    found = await lab.outcome(crawl.uid)
    assert (ended.status, found.paths) == (CrawlStatus.COMPLETED, ["/", "/a"])
    assert await store.workers() == []


async def test_a_worker_declared_dead_by_mistake_stores_nothing_twice(site: Site, open_lab: Any) -> None:
    lab = await open_lab(worker={"beat_s": 0.1, "dead_after_s": 30.0})
    site.links({"/": [f"/{n}" for n in range(20)]})
    for n in range(20):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.1)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=4))
    await site.wait_for(n=8)
    store = lab.client._engine.store
    await store.reap([worker.id for worker in await store.workers()])
    async with asyncio.timeout(10):
        await running
    found = await lab.outcome(crawl.uid)
    assert len(found.paths) == len(set(found.paths)) == 21


async def test_pages_that_took_processes_down_are_held_one_at_a_time(
    site: Site, open_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each further kill would be blamed on all of them, though one at most was running."""
    lab = await open_lab(politeness={"rate_per_host": 10_000.0, "burst_per_host": 100})
    site.links({f"/{n}": [] for n in range(8)})
    crawl = await lab.client.start_batch([site.url(f"/{n}") for n in range(8)])
    store = lab.client._engine.store
    for process in (1, 2):
        gone = await store.register("a machine that is no more", process, 1)
        assert len((await store.step(gone, [], 8)).leases) == 8
        await store.reap([gone])
    taken: list[list[bool]] = []
    step = type(store).step

    async def noted(self: Store, *arguments: Any, **fields: Any) -> StepResult:
        result: StepResult = await step(self, *arguments, **fields)
        taken.append([lease.alone for lease in result.leases])
        return result

    monkeypatch.setattr(type(store), "step", noted)
    await lab.client.run(crawl.uid, concurrency=4)
    assert [alone for alone in taken if alone] == [[True]] * 8
    assert len((await lab.outcome(crawl.uid)).paths) == 8
