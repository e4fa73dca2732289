"""What is made of one page."""

from __future__ import annotations

from typing import Any

import msgspec

Metadata = dict[str, Any]
"""Keys and duplicate rules as in the Firecrawl contract: str, or list[str] where a tag occurs twice."""


class AttributeValues(msgspec.Struct, frozen=True):
    selector: str
    attribute: str
    values: list[str]


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One page as users get it. Formats that were not asked for are absent, not null."""

    url: str
    """Final URL after redirects."""
    source_url: str
    """The URL exactly as it was found or sent."""
    status: int
    content_type: str | None = None
    title: str | None = None
    markdown: str | None = None
    text: str | None = None
    html: str | None = None
    raw_html: str | None = None
    links: list[str] | None = None
    images: list[str] | None = None
    raw_base64: str | None = None
    attributes: list[AttributeValues] | None = None
    answers: dict[str, Any] = {}
    """What a language model made of the page, by the `output` of each `Ask`."""
    tokens: int = 0
    """What the language model used for them."""
    change_tracking: dict[str, Any] | None = None
    """As in the Firecrawl contract: previousScrapeAt, changeStatus, visibility, diff, json."""
    metadata: Metadata = {}
    warnings: list[str] = []
    fetched_at: int = 0
    """Microseconds since the epoch, UTC; of a page from the cache when it was fetched."""
    cached: bool | None = None
    """Came from the cache; None where the cache was neither asked nor filled."""
