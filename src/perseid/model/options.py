"""What a caller may ask of a crawl, a scrape or a map: one frozen tree, snapshot with the crawl.

Durations end in `_s` (seconds); sizes in `_bytes`; `None` means no bound unless said otherwise.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SitemapMode = Literal["include", "skip", "only"]
Format = Literal["markdown", "html", "rawHtml", "links", "images", "text"]
FORMATS: tuple[Format, ...] = ("markdown", "html", "rawHtml", "links", "images", "text")


class ScopeRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which links belong to a crawl. Patterns are unanchored JavaScript-syntax regexes on the path."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    regex_on_full_url: bool = False
    max_depth: int | None = None
    """Most path segments a URL may have (`/a/b` has 2)."""
    max_discovery_depth: int | None = None
    """Most links between the start page (0) and a page."""
    entire_domain: bool = False
    """Follow siblings and parents of the start path too."""
    subdomains: bool = False
    external: bool = False
    """Fetch pages of other sites that are linked from this one (one hop)."""
    ignore_query: bool = False
    deduplicate_similar: bool = False
    block_social_media: bool = True


class ScrapeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How one page is fetched and what is made of it."""

    formats: tuple[Format, ...] = ("markdown",)
    only_main_content: bool = True
    include_tags: tuple[str, ...] = ()
    """CSS selectors; when given, only what they match is kept."""
    exclude_tags: tuple[str, ...] = ()
    """CSS selectors whose matches are dropped first."""
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    user_agent: str | None = None
    proxy: str | None = None
    """http://, https:// or socks5:// URL; credentials in the URL are masked in logs."""
    timeout_s: float = 30.0
    max_attempts: int = 3
    obey_robots: bool | None = None
    """None: crawls do, single pages and batches don't (the user named each of those)."""
    parse_pdf: bool = True
    revalidate: bool = False
    """Remember each page with its ETag and Last-Modified, and don't have it sent again while it is unchanged."""


class CrawlOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a crawl needs to be run again the same way."""

    scope: ScopeRules = ScopeRules()
    scrape: ScrapeOptions = ScrapeOptions()
    limit: int | None = None
    """Most pages to admit."""
    sitemap: SitemapMode = "include"
    delay_s: float | None = None
    """Pause between two pages of this crawl; makes it one at a time."""
    max_concurrency: int | None = None
    max_sitemap_files: int = 1000
    deadline_s: float | None = None
    max_denied_rows: int = 1_000_000
