"""A search engine on the web."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import msgspec

Source = Literal["web", "images", "news"]


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    limit: int = 10
    source: Source = "web"
    language: str | None = None
    country: str | None = None
    time_range: str | None = None
    """`day`, `week`, `month` or `year`."""
    timeout_s: float = 60.0


class Hit(NamedTuple):
    url: str
    title: str
    description: str
    image_url: str | None = None
    date: str | None = None
    width: int | None = None
    height: int | None = None
    """Of the image, in pixels."""


class WebSearch(Protocol):
    async def search(self, query: SearchQuery) -> list[Hit]:
        """Raises `Unavailable`: no engine is configured, or it did not answer."""
        ...

    async def close(self) -> None: ...
