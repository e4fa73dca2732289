"""POST /crawl, and the fields that a map has in common with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from perseid.api.firecrawl.body.base import Body, Int, Prompt
from perseid.api.firecrawl.body.page import Page, PageV1, PageV2, Request
from perseid.api.firecrawl.body.url import WebUrl
from perseid.api.firecrawl.body.webhook import Webhook
from perseid.model.options import SitemapMode

DEFAULT_LIMIT = 10_000
_DEPTH_V1 = 10
_MOST = 10**9

Count = Annotated[Int, Field(ge=1, le=_MOST)]
Depth = Annotated[Int, Field(ge=0, le=_MOST)]
Patterns = Annotated[list[str], Field(max_length=1000)]


class Crawler(Body):
    """Which pages belong to a crawl: what both versions have."""

    include_paths: Patterns = Field(default_factory=list)
    exclude_paths: Patterns = Field(default_factory=list)
    max_discovery_depth: Depth | None = None
    crawl_entire_domain: bool | None = None
    allow_external_links: bool = False
    allow_subdomains: bool = False
    ignore_robots_txt: bool = False
    deduplicate_similar_urls: bool = Field(default=True, alias="deduplicateSimilarURLs")
    ignore_query_parameters: bool = False
    regex_on_full_url: bool = Field(default=False, alias="regexOnFullURL")
    delay: Annotated[float, Field(gt=0, le=60)] | None = None

    @property
    def depth(self) -> int | None:
        return None

    @property
    def backward(self) -> bool:
        """Whether pages outside the start URL's path belong to it."""
        return bool(self.crawl_entire_domain)

    @property
    def sitemaps(self) -> SitemapMode:
        return "include"

    @property
    def agent(self) -> str | None:
        return None


class CrawlerV1(Crawler):
    max_depth: Depth = _DEPTH_V1
    allow_backward_links: bool = False

    @property
    def depth(self) -> int | None:
        return self.max_depth

    @property
    def backward(self) -> bool:
        return self.allow_backward_links if self.crawl_entire_domain is None else self.crawl_entire_domain


class CrawlerV2(Crawler):
    sitemap: Literal["include", "skip", "only"] = "include"
    robots_user_agent: Annotated[str, Field(min_length=1, max_length=256)] | None = None

    @property
    def sitemaps(self) -> SitemapMode:
        return self.sitemap

    @property
    def agent(self) -> str | None:
        return self.robots_user_agent


class Crawl(Crawler, Request):
    url: WebUrl
    limit: Count = DEFAULT_LIMIT
    max_concurrency: Annotated[Int, Field(gt=0, le=10_000)] | None = None
    webhook: Webhook | None = None
    zero_data_retention: bool = False
    use_index: bool = False
    """Begin with what the team knows of the site, too (ours: the contract has it for maps)."""
    ignore_cache: bool = False

    @property
    def page(self) -> Page:
        raise NotImplementedError

    @property
    def question(self) -> str | None:
        """What the options are to be made from, in the caller's words."""
        return None

    def with_options(self, _found: dict[str, Any]) -> Crawl:
        """The same with options that a model chose, wherever the caller chose none."""
        return self


class CrawlV1(CrawlerV1, Crawl):
    ignore_sitemap: bool = False
    scrape_options: PageV1 = Field(default_factory=PageV1)

    @property
    def sitemaps(self) -> SitemapMode:
        return "skip" if self.ignore_sitemap else "include"

    @property
    def page(self) -> Page:
        return self.scrape_options


class CrawlV2(CrawlerV2, Crawl):
    scrape_options: PageV2 = Field(default_factory=PageV2)
    prompt: Prompt | None = None

    @property
    def page(self) -> Page:
        return self.scrape_options

    @property
    def question(self) -> str | None:
        # A form sends an empty field as it stands.
        return self.prompt or None

    def with_options(self, found: dict[str, Any]) -> Crawl:
        sent = self.model_dump(by_alias=True, exclude_unset=True)
        proposed = {name: value for name, value in found.items() if name in self.wire_names()}
        return CrawlV2.model_validate({**proposed, **sent}, context=self.reading).read_as(self.reading)
