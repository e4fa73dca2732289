"""The state of a crawl or a batch, a page of its documents, and the address of the next page."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.wire.instant import iso, iso_seconds
from perseid.dom import url as urls
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus

_NAMES = {
    CrawlStatus.SCRAPING: "scraping",
    CrawlStatus.COMPLETED: "completed",
    CrawlStatus.CANCELLED: "cancelled",
    CrawlStatus.FAILED: "failed",
}
_FOREVER_US = 365 * 86_400_000_000


class Slice(NamedTuple):
    """Which documents an answer holds: those after number `skip`, the last of them with number `last`."""

    skip: int
    last: int
    asked: bool
    """The caller named a `skip`: it follows an address we gave."""


def status_name(crawl: Crawl) -> str:
    return _NAMES[crawl.status]


def completed(crawl: Crawl) -> int:
    """Pages that can be read here, answers of 404 among them."""
    return crawl.counts.documents - crawl.counts.superseded


def total(crawl: Crawl) -> int:
    """Those, and pages that have not ended; failed ones are in neither number."""
    open_pages = crawl.counts.open_pages if crawl.status is CrawlStatus.SCRAPING else 0
    return completed(crawl) + open_pages


def expires_at(crawl: Crawl, ttl_s: float | None, now_us: int) -> str:
    """A crawl that runs does not expire: its time begins with its end."""
    if crawl.expires_at is not None:
        return iso_seconds(crawl.expires_at)
    return iso_seconds(now_us + (_FOREVER_US if ttl_s is None else int(ttl_s * 1_000_000)))


def has_next(crawl: Crawl, part: Slice) -> bool:
    """Whether the answer names a further page.

    Clients that follow such addresses do so without a pause until there is none: an address that leads to
    nothing yet is only given to who has not followed one.
    """
    if part.last < crawl.counts.documents:
        return part.last > part.skip
    return crawl.status is CrawlStatus.SCRAPING and (part.last > part.skip or not part.asked)


def head(crawl: Crawl, asked: Asked, *, ttl_s: float | None, now_us: int) -> dict[str, Any]:
    """What every answer about a job begins with."""
    return {
        "success": True,
        "status": status_name(crawl),
        "completed": completed(crawl),
        "total": total(crawl),
        "creditsUsed": completed(crawl) * asked.credits,
        "expiresAt": expires_at(crawl, ttl_s, now_us),
    }


def hint(crawl: Crawl) -> list[str]:
    """What to try where a crawl from within a site came to next to nothing."""
    found, start = completed(crawl), urls.parse(crawl.url)
    at_home = start is None or (start.path == "/" and not start.query)
    if crawl.kind is not CrawlKind.CRAWL or crawl.status is not CrawlStatus.COMPLETED or found > 1 or at_home:
        return []
    return [f"Only {found} result(s) found: crawlEntireDomain, or a start page further up, reaches more of the site."]


def times(crawl: Crawl, now_us: int) -> dict[str, Any]:
    """What version 2 adds."""
    told: dict[str, Any] = {"createdAt": iso(crawl.created_at)}
    if crawl.ended_at is not None:
        told["completedAt"] = iso(crawl.ended_at)
    told["duration"] = round(max(0, (crawl.ended_at or now_us) - crawl.created_at) / 1_000_000, 3)
    return told
