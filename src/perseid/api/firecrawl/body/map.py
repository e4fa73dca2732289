"""POST /map: the URLs of a site."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from perseid.api.firecrawl.body.base import Int
from perseid.api.firecrawl.body.crawl import Crawler, CrawlerV1, CrawlerV2
from perseid.api.firecrawl.body.page import Location, Request
from perseid.api.firecrawl.body.url import WebUrl
from perseid.model.options import SitemapMode

_MOST_LINKS = 100_000
_DEFAULT_LINKS = 5_000


class Map(Crawler, Request):
    url: WebUrl
    search: Annotated[str, Field(max_length=10_000)] | None = None
    include_subdomains: bool = True
    ignore_query_parameters: bool = True
    limit: Annotated[Int, Field(ge=1, le=_MOST_LINKS)] = _DEFAULT_LINKS
    timeout: Annotated[Int, Field(gt=0, le=10**10)] | None = None
    filter_by_path: bool = True
    use_index: bool = True
    ignore_cache: bool = False
    location: Location | None = None
    headers: dict[str, str] | None = None
    use_mock: str | None = None


class MapV1(Map, CrawlerV1):
    ignore_sitemap: bool = False
    sitemap_only: bool = False

    @property
    def sitemaps(self) -> SitemapMode:
        if self.sitemap_only:
            return "only"
        return "skip" if self.ignore_sitemap else "include"


class MapV2(Map, CrawlerV2):
    pass
