"""A process that dies between sending and settling: the event is delivered again, under the same id."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from perseid.testing import Answer, Site
from perseid.testing.ground import open_store

from .conftest import Post, told

TELLER = Path(__file__).with_name("teller.py")


async def test_an_event_whose_sender_was_killed_is_delivered_again(office: Post, site: Site) -> None:
    path = office.folder / "real.db"
    store = await open_store(office.ground, path)
    office.store = store
    office.worker = await store.register("here", 1, 1)
    site.sequence("/hook", [Answer(hang=True)] * 4 + [Answer(status=200)])
    crawl = await office.start(site.url("/hook"), 3)
    await office.fetch(crawl)
    process = await asyncio.create_subprocess_exec(sys.executable, str(TELLER), str(path), office.ground.store_url)
    await site.wait_for("/hook", 4)
    process.kill()
    await process.wait()
    held = {body["webhookId"] for body in told(site)}
    assert await office.log(crawl) == []
    await store.close()

    later = await open_store(office.ground, path, clock=lambda: time.time_ns() // 1_000 + 600_000_000)
    office.store = later
    await office.tell(office.webhooks())
    assert {body["webhookId"] for body in told(site)[4:-1]} == held
    assert told(site)[-1]["type"] == "batch_scrape.completed"
    assert await later.outbox.next_event_us() is None
    await later.close()
