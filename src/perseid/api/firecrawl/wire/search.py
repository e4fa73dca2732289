"""What a search found, on the wire: by source in version 2, one list in version 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perseid.crawls.search import Found, WebHit
from perseid.model.document import Document
from perseid.ports.websearch import Hit

NOTHING = "No search results found"
NO_CONTENT = "No content found in search results"

Told = Callable[[Document], dict[str, Any]]
"""A page that was read, as this API tells it."""


def by_source(found: Found, told: Told) -> dict[str, Any]:
    """Sources that found nothing are absent."""
    data = {
        "web": [_web(each, told) | {"position": place} for place, each in enumerate(found.web, 1)],
        "images": [_image(hit, place) for place, hit in enumerate(found.images, 1)],
        "news": [_news(hit, place) for place, hit in enumerate(found.news, 1)],
    }
    return {source: hits for source, hits in data.items() if hits}


def flat(found: Found, told: Told) -> list[dict[str, Any]]:
    return [_web(each, told) for each in found.web]


def hollow(found: Found, *, scraped: bool) -> str | None:
    """The warning of version 1 where there is less than was asked for."""
    if not found.web:
        return NOTHING
    return NO_CONTENT if scraped and not any(each.document for each in found.web) else None


def _web(each: WebHit, told: Told) -> dict[str, Any]:
    hit = {"url": each.hit.url, "title": each.hit.title, "description": each.hit.description}
    if each.category is not None:
        hit["category"] = each.category
    if each.document is not None:
        return told(each.document) | hit
    return hit | ({"warning": f"The page could not be read: {each.failure}"} if each.failure else {})


def _image(hit: Hit, place: int) -> dict[str, Any]:
    known = {"imageUrl": hit.image_url, "imageWidth": hit.width, "imageHeight": hit.height}
    return {"title": hit.title, "url": hit.url, "position": place} | _present(known)


def _news(hit: Hit, place: int) -> dict[str, Any]:
    known = {"date": hit.date, "imageUrl": hit.image_url}
    return {"title": hit.title, "url": hit.url, "snippet": hit.description, "position": place} | _present(known)


def _present(known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if value is not None}


def count(hits: Sequence[WebHit]) -> int:
    """Credits: a page that was read is one."""
    return sum(each.document is not None for each in hits)
