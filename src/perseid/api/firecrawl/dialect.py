"""What differs between the versions, as values: the models of their bodies and a few habits."""

from __future__ import annotations

from typing import NamedTuple

from perseid.api.firecrawl.asked import VersionName
from perseid.api.firecrawl.body.batch import Batch, BatchV1, BatchV2
from perseid.api.firecrawl.body.crawl import Crawl, CrawlV1, CrawlV2
from perseid.api.firecrawl.body.extract import Extract, ExtractV1, ExtractV2
from perseid.api.firecrawl.body.map import Map, MapV1, MapV2
from perseid.api.firecrawl.body.scrape import Scrape, ScrapeV1, ScrapeV2
from perseid.api.firecrawl.body.search import Search, SearchV1, SearchV2


class Dialect(NamedTuple):
    name: VersionName
    scrape: type[Scrape]
    batch: type[Batch]
    crawl: type[Crawl]
    map: type[Map]
    search: type[Search]
    extract: type[Extract]
    idempotent_batch: bool
    """Batches honour the idempotency key, as crawls do."""
    links_as_strings: bool
    """A map is a list of URLs, without id."""
    flat_search: bool
    """Search results are one list, not one a source."""
    search_refusal: str | None
    """The words in which any search that does not validate is refused."""
    tells_times: bool
    """A job's state says when it began and ended, and warns."""
    snake_case_usage: bool
    strict_ids: bool
    """Also who calls a job off, or asks for the errors of a crawl, is told when the id can't be one."""
    errors_by_delete: bool
    """The JavaScript client of this version asks for the errors of a job by DELETE: nothing is deleted."""

    @property
    def prefix(self) -> str:
        return f"/{self.name}"


V1 = Dialect(
    name="v1",
    scrape=ScrapeV1,
    batch=BatchV1,
    crawl=CrawlV1,
    map=MapV1,
    search=SearchV1,
    extract=ExtractV1,
    idempotent_batch=True,
    links_as_strings=True,
    flat_search=True,
    search_refusal=None,
    tells_times=False,
    snake_case_usage=True,
    strict_ids=False,
    errors_by_delete=True,
)
V2 = Dialect(
    name="v2",
    scrape=ScrapeV2,
    batch=BatchV2,
    crawl=CrawlV2,
    map=MapV2,
    search=SearchV2,
    extract=ExtractV2,
    idempotent_batch=False,
    links_as_strings=False,
    flat_search=False,
    search_refusal="Invalid request body",
    tells_times=True,
    snake_case_usage=False,
    strict_ids=True,
    errors_by_delete=False,
)
