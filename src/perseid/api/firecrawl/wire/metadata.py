"""The metadata of a page on the wire: what the page says of itself, and what is known of its fetch on top.

Clients hold some names to a type and drop a whole document over one that breaks it: a page can't be let
have its say about those.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from perseid.api.firecrawl.wire.instant import iso
from perseid.model.document import Document

# Names that are ours to say, in both spellings that clients take for one.
_OURS = (
    "sourceURL",
    "sourceUrl",
    "statusCode",
    "scrapeId",
    "contentType",
    "proxyUsed",
    "timezone",
    "cacheState",
    "cachedAt",
    "creditsUsed",
    "concurrencyLimited",
    "concurrencyQueueDurationMs",
    "error",
    "url",
)
_NUMBERS = ("numPages", "totalPages")
_LISTS = ("ogLocaleAlternate",)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).replace("_u_r_l", "_url")


_RESERVED = frozenset(_OURS) | {_snake(name) for name in _OURS}
_NUMBER_NAMES = frozenset(_NUMBERS) | {_snake(name) for name in _NUMBERS}
_LIST_NAMES = frozenset(_LISTS) | {_snake(name) for name in _LISTS}


def of_page(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of itself, without what is not its to say."""
    said: dict[str, Any] = {}
    for name, value in metadata.items():
        if name in _RESERVED or (name in _NUMBER_NAMES and not isinstance(value, int)):
            continue
        said[name] = [value] if name in _LIST_NAMES and isinstance(value, str) else value
    return said


def of_fetch(document: Document, *, source_url: str, scrape_id: str, counted: int) -> dict[str, Any]:
    """What is known of how the page came."""
    known: dict[str, Any] = {"sourceURL": source_url, "url": document.url, "statusCode": document.status}
    if document.content_type is not None:
        known["contentType"] = document.content_type
    if document.status >= 400:
        known["error"] = _phrase(document.status)
    if document.cached is not None:
        known["cacheState"] = "hit" if document.cached else "miss"
        if document.cached:
            known["cachedAt"] = iso(document.fetched_at)
    known["proxyUsed"] = "basic"
    known["scrapeId"] = scrape_id
    known["creditsUsed"] = counted
    return known


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"
