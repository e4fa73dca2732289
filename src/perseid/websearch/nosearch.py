"""The search engine of an installation that has none."""

from __future__ import annotations

from perseid.errors import Unavailable
from perseid.ports.websearch import Hit, SearchQuery


class NoSearch:
    """Implements `WebSearch` by saying what is missing."""

    async def search(self, query: SearchQuery) -> list[Hit]:  # noqa: ARG002  # the port's signature
        raise Unavailable("no search engine is configured; set PERSEID_SEARCH__SEARXNG_URL to a SearXNG of yours")

    async def close(self) -> None:
        return
