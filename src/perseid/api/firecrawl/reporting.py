"""The state of a job with a part of its pages, as HTTP tells it page by page and a WebSocket at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.api.firecrawl.asked import Asked, asked_of, terms_of
from perseid.api.firecrawl.wire.document import page_id, wire_document
from perseid.api.firecrawl.wire.status import Slice, has_next, head, hint, times
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.document import Document
from perseid.model.terms import Terms
from perseid.runtime.service import Service

PAGE_BYTES = 10 * 1024 * 1024


class Report(NamedTuple):
    """Which part of a job is wanted."""

    skip: int
    limit: int
    asked: bool = True
    times: bool = True


class Reported(NamedTuple):
    """`last` is the number of the last document told; with `more` there is reason to ask for what follows it."""

    body: dict[str, Any]
    last: int
    more: bool


async def report(service: Service, job: Crawl, part: Report) -> Reported:
    terms = terms_of(job)
    asked = asked_of(terms)
    found = await service.documents(job, after=part.skip, limit=part.limit, max_bytes=PAGE_BYTES)
    if job.status is CrawlStatus.SCRAPING:
        # Its numbers are to cover the documents beside them.
        job = await service.crawl(job.team, job.uid)
        if job.status is not CrawlStatus.SCRAPING:
            # It ended in between: who is told that does not ask again, so it gets what came last, too.
            found = await service.documents(job, after=part.skip, limit=part.limit, max_bytes=PAGE_BYTES)
    now_us = service.engine.clock.now_us()
    told = head(job, asked, ttl_s=terms.ttl_s, now_us=now_us)
    if part.times:
        told |= times(job, now_us)
        warning = await _warning(service, job, terms)
        if warning:
            told["warning"] = warning
    if job.status is CrawlStatus.FAILED:
        told["error"] = job.error or "The crawl could not begin"
    told["data"] = pages(job, asked, terms, found)
    last = found[-1][0] if found else part.skip
    if terms.zero_retention and found:
        await service.delivered(job, last)
    return Reported(told, last, has_next(job, Slice(part.skip, last, part.asked)))


def pages(job: Crawl, asked: Asked, terms: Terms, found: list[tuple[int, Document]]) -> list[dict[str, Any]]:
    return [
        wire_document(document, asked, scrape_id=page_id(job.uid, number), warnings=terms.warnings)
        for number, document in found
    ]


def wire_page(job: Crawl, number: int, document: Document) -> dict[str, Any]:
    """One page as a status would show it, for receivers of webhooks."""
    terms = terms_of(job)
    return pages(job, asked_of(terms), terms, [(number, document)])[0]


async def _warning(service: Service, job: Crawl, terms: Terms) -> str:
    """Once it is over: what makes the result less than it looks."""
    if job.status is CrawlStatus.SCRAPING:
        return ""
    summary = await service.summary(job)
    return " ".join([*terms.warnings, *hint(job), *summary.warnings])
