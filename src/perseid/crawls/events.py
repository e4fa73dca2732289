"""What a receiver is told of a crawl: the payload of each event, and to whom it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from perseid.crawls.pack import read, unpack
from perseid.dom import url as urls
from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind
from perseid.model.document import Document
from perseid.model.ids import CrawlId
from perseid.model.terms import EventKind, Terms, Webhook
from perseid.ports.blob import Blobs
from perseid.ports.hook import Delivery
from perseid.ports.inspect import Inspect
from perseid.ports.outbox import Event, EventPage, Outbox

Render = Callable[[Crawl, int, Document], dict[str, Any]]
"""A document of a crawl, by its number, as the clients of the API know it that the crawl was started through."""
JOB_ID = "{{JOB_ID}}"

_NAMES = {
    EventKind.STARTED: "started",
    EventKind.PAGE: "page",
    EventKind.COMPLETED: "completed",
    EventKind.FAILED: "failed",
    EventKind.CANCELLED: "cancelled",
}


class Receiver(NamedTuple):
    """Who is told of a crawl. `name` (scheme, host and port) is what it shares with other crawls."""

    name: str
    hook: Webhook
    trusted: bool
    """The operator's own."""


def event_type(kind: CrawlKind, event: EventKind) -> str:
    """`crawl.page`, `batch_scrape.completed`."""
    group = "crawl" if kind.follows_links else "batch_scrape"
    return f"{group}.{_NAMES[event]}"


def payload(
    crawl: Crawl, event: Event, metadata: dict[str, str], data: list[dict[str, Any]], error: str = ""
) -> dict[str, Any]:
    """The body of a delivery, as JSON has it."""
    told = {
        "success": not error,
        "type": event_type(crawl.kind, event.kind),
        "id": crawl.uid,
        "webhookId": event.uid,
        "data": data,
        "metadata": metadata,
    }
    return {**told, "error": error} if error else told


def receiver_of(crawl: Crawl, operators: str) -> Receiver | None:
    """The receiver that the crawl's caller named, else the operator's (an URL that may hold `{{JOB_ID}}`)."""
    terms = msgspec.json.decode(crawl.terms, type=Terms) if crawl.terms else Terms()
    hook, trusted = terms.webhook, False
    if hook is None and operators:
        hook, trusted = Webhook(url=operators.replace(JOB_ID, crawl.uid)), True
    parsed = urls.parse(hook.url) if hook is not None else None
    if hook is None or parsed is None or not parsed.is_web:
        return None
    return Receiver(parsed.origin, msgspec.structs.replace(hook, url=parsed.href), trusted)


class Courier:
    """Makes deliveries of events."""

    def __init__(self, inspect: Inspect, outbox: Outbox, blobs: Blobs, *, render: Render, operators: str = "") -> None:
        self._inspect = inspect
        self._outbox = outbox
        self._blobs = blobs
        self._render = render
        self._operators = operators

    async def receiver(self, crawl: CrawlId) -> Receiver | None:
        """None where nobody is to be told, or the crawl is gone."""
        try:
            return receiver_of(await self._inspect.crawl_by_id(crawl), self._operators)
        except NotFound:
            return None

    async def delivery(self, event: Event, receiver: Receiver) -> Delivery | None:
        """What is to be sent; None where the crawl or its page is gone by now."""
        try:
            crawl = await self._inspect.crawl_by_id(event.crawl)
        except NotFound:
            return None
        data: list[dict[str, Any]] = []
        error = ""
        if event.kind is EventKind.PAGE:
            page = await self._outbox.event_page(event.job) if event.job is not None else None
            if page is None:
                return None
            data, error = await self._page(crawl, page)
        elif event.kind is EventKind.FAILED:
            error = crawl.error or "the crawl failed"
        body = msgspec.json.encode(payload(crawl, event, receiver.hook.metadata, data, error))
        return Delivery(receiver.hook.url, receiver.hook.headers, body, receiver.trusted)

    async def _page(self, crawl: Crawl, page: EventPage) -> tuple[list[dict[str, Any]], str]:
        """The document where there is one, whatever its status; else where it should have come from, and why not."""
        if page.body is not None and page.seq is not None:
            try:
                body = await self._blobs.get(page.blob) if page.blob else page.body
                return [self._render(crawl, page.seq, read(unpack(body)))], ""
            except NotFound:
                return [_only_source(page)], "the page is no longer kept"
        return [_only_source(page)], page.message or page.code or "the page could not be had"


def _only_source(page: EventPage) -> dict[str, Any]:
    return {"metadata": {"sourceURL": page.url}}
