"""Who in this process waits for the end of which crawl."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from perseid.model.ids import CrawlId


async def _nothing(_crawl: CrawlId) -> None:
    pass


class Listeners:
    """Several may wait for one crawl. `first` is awaited before the first of them, `last` after the last."""

    def __init__(
        self,
        first: Callable[[CrawlId], Awaitable[None]] = _nothing,
        last: Callable[[CrawlId], Awaitable[None]] = _nothing,
    ) -> None:
        self._first = first
        self._last = last
        self._events: dict[CrawlId, list[asyncio.Event]] = {}

    @property
    def crawls(self) -> list[CrawlId]:
        return list(self._events)

    @asynccontextmanager
    async def listen(self, crawl: CrawlId) -> AsyncIterator[asyncio.Event]:
        event = asyncio.Event()
        events = self._events.setdefault(crawl, [])
        events.append(event)
        try:
            if len(events) == 1:
                await self._first(crawl)
            yield event
        finally:
            events.remove(event)
            if not events and self._events.get(crawl) is events:
                del self._events[crawl]
                await self._last(crawl)

    def told(self, ended: Iterable[CrawlId]) -> None:
        for crawl in ended:
            for event in self._events.get(crawl, ()):
                event.set()
