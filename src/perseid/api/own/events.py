"""A crawl as a stream of Server-Sent Events (WHATWG HTML, 9.2): `document`, `progress`, `done`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson

from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.runtime.service import Service

_LOOK_S = 0.5
_KEEP_ALIVE_S = 15.0
_BATCH = 100
_LARGEST_ID = 2**62


async def stream(service: Service, crawl: Crawl, *, after: int) -> AsyncIterator[bytes]:
    """Documents above number `after` as they come; the number is the event's id, so that a client can go on."""
    after = min(after, _LARGEST_ID)
    quiet_s = 0.0
    told: dict[str, Any] = {}
    yield b"retry: 2000\n\n"
    while True:
        try:
            # Before the documents: an end that is seen here has all of them behind it.
            crawl = await service.crawl(crawl.team, crawl.uid)
        except NotFound:
            return
        rows = await service.documents(crawl, after=after, limit=_BATCH)
        for number, document in rows:
            after = number
            fields = {"number": number, "url": document.url, "status": document.status, "title": document.title}
            yield _event("document", fields, number)
        progress = _progress(crawl)
        if progress != told:
            told = progress
            yield _event("progress", progress)
            quiet_s = 0.0
        if rows:
            quiet_s = 0.0
            continue
        if crawl.status is not CrawlStatus.SCRAPING:
            yield _event("done", progress)
            return
        await asyncio.sleep(_LOOK_S)
        quiet_s += _LOOK_S
        if quiet_s >= _KEEP_ALIVE_S:
            quiet_s = 0.0
            yield b": still here\n\n"


def _progress(crawl: Crawl) -> dict[str, Any]:
    counts = crawl.counts
    return {
        "status": crawl.status.name.lower(),
        "done": counts.done,
        "failed": counts.failed,
        "open": counts.open_pages,
        "discovered": counts.discovered,
    }


def _event(name: str, fields: dict[str, Any], number: int | None = None) -> bytes:
    identity = b"" if number is None else b"id: %d\n" % number
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), identity, orjson.dumps(fields))
