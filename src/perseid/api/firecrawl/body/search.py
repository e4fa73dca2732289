"""POST /search: what a search engine finds, and its pages where they are asked for."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from perseid.api.firecrawl.body.base import Body, Int, refuse
from perseid.api.firecrawl.body.formats import Format, as_object
from perseid.api.firecrawl.body.page import NameV1, PageV1, PageV2, Request

MIXED = "Give all sources as names or all as objects"
BOTH_DOMAINS = "includeDomains and excludeDomains exclude each other"
NOT_IN_SEARCH = "A search has no such format"
NO_HOST = "A domain is written without scheme and path, like example.org"
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]{2,}", re.IGNORECASE)
_FORMATS = frozenset(
    {
        "markdown", "html", "rawHtml", "links", "images", "summary", "product", "menu", "json", "question",
        "highlights", "query", "screenshot",
    }
)  # fmt: skip

SourceName = Literal["web", "images", "news"]
CategoryName = Literal["github", "research", "pdf", "developer", "gov"]
Domains = Annotated[list[str], Field(max_length=100)]


class Source(Body):
    type: SourceName
    tbs: str | None = None
    filter: str | None = None
    lang: str | None = None
    country: str | None = None
    location: str | None = None


class Category(Body):
    type: CategoryName


class Search(Request):
    query: Annotated[str, Field(min_length=1, max_length=2000)]
    tbs: str | None = None
    filter: str | None = None
    lang: str = "en"
    country: str | None = None
    location: str | None = None
    timeout: Annotated[Int, Field(gt=0, le=10**10)] = 60_000
    ignore_invalid_urls: bool = Field(default=False, alias="ignoreInvalidURLs")


class SearchPageV1(PageV1):
    formats: list[NameV1] = Field(default_factory=list)


class SearchPageV2(PageV2):
    formats: list[Format] = Field(default_factory=list)

    @field_validator("formats")
    @classmethod
    def _of_a_search(cls, formats: list[Format]) -> list[Format]:
        if any(as_object(each).type not in _FORMATS for each in formats):
            raise refuse(NOT_IN_SEARCH)
        return formats


class SearchV1(Search):
    limit: Annotated[Int, Field(ge=1, le=100)] = 5
    scrape_options: SearchPageV1 = Field(default_factory=SearchPageV1)


class SearchV2(Search):
    limit: Annotated[Int, Field(ge=1, le=100)] = 10
    sources: list[SourceName | Source] = Field(default=["web"])
    categories: list[CategoryName | Category] | None = None
    include_domains: Domains | None = None
    exclude_domains: Domains | None = None
    safe: bool | str | None = None
    enterprise: list[str] | None = None
    highlights: bool | None = None
    async_scraping: bool | None = None
    scrape_options: SearchPageV2 = Field(default_factory=SearchPageV2)

    @field_validator("sources")
    @classmethod
    def _of_one_kind(cls, sources: list[SourceName | Source]) -> list[SourceName | Source]:
        if len({isinstance(each, str) for each in sources}) > 1:
            raise refuse(MIXED)
        return sources

    @field_validator("include_domains", "exclude_domains")
    @classmethod
    def _bare_hosts(cls, domains: Domains | None) -> Domains | None:
        if any(not _HOST.fullmatch(domain) for domain in domains or ()):
            raise refuse(NO_HOST)
        return domains

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.include_domains and self.exclude_domains:
            raise refuse(BOTH_DOMAINS)
        return self
