"""Watchers: documents as they come, by WebSocket."""

import asyncio
import contextlib
import threading
from typing import Any

from firecrawl.v2.watcher_async import AsyncWatcher
from talk import HOME, SITE, first, later, sync
from websockets.exceptions import ConnectionClosedOK


class Seen:
    """What a watcher told, and a signal for its end."""

    def __init__(self, watcher: Any) -> None:
        self.documents: list[dict[str, Any]] = []
        self.states: list[str] = []
        self.ended = threading.Event()
        watcher.add_event_listener("document", lambda event: self.documents.append(event["data"]))
        watcher.add_event_listener("done", lambda _: self.ended.set())
        watcher.add_listener(self._state)

    def _state(self, job: Any) -> None:
        self.states.append(job.status)
        if job.status in {"completed", "failed", "cancelled"}:
            self.ended.set()


def test_a_crawl_is_watched_to_its_end() -> None:
    started = sync().start_crawl(f"{SITE}/recipes", limit=30)
    watcher = sync().watcher(started.id, kind="crawl", poll_interval=1, timeout=60)
    seen = Seen(watcher)
    watcher.start()
    assert seen.ended.wait(60)
    watcher.stop()
    assert seen.states[-1] == "completed"
    addresses = [page["metadata"]["sourceURL"] for page in seen.documents]
    assert len(addresses) == len(set(addresses)) == 21


def test_a_batch_is_watched_to_its_end() -> None:
    started = sync().start_batch_scrape([f"{HOME}/about", f"{HOME}/contact"])
    watcher = sync().watcher(started.id, kind="batch", poll_interval=1, timeout=60)
    seen = Seen(watcher)
    watcher.start()
    assert seen.ended.wait(60)
    watcher.stop()
    assert seen.states[-1] == "completed"


async def test_a_crawl_is_watched_without_a_thread() -> None:
    started = await later().start_crawl(f"{SITE}/people", limit=30)
    states = [state async for state in AsyncWatcher(later(), started.id, kind="crawl", poll_interval=1, timeout=60)]
    assert states[-1].status == "completed"
    assert len(states[-1].data) == 21


async def test_a_crawl_of_the_first_version_is_watched() -> None:
    watcher = await asyncio.to_thread(first().crawl_url_and_watch, f"{SITE}/changes", limit=30)
    pages: list[str] = []
    watcher.add_event_listener("document", lambda event: pages.append(event["data"]["metadata"]["sourceURL"]))
    # The server says the end by closing the connection, which newer versions of websockets raise here.
    with contextlib.suppress(ConnectionClosedOK):
        await asyncio.wait_for(watcher.connect(), 60)
    assert len(set(pages)) == 21
