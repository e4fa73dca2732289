"""What a caller may ask of a crawl, a scrape or a map: one frozen tree, snapshot with the crawl.

Durations end in `_s` (seconds); sizes in `_bytes`; `None` means no bound unless said otherwise.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SitemapMode = Literal["include", "skip", "only"]
Format = Literal["markdown", "html", "rawHtml", "links", "images", "text", "rawBase64"]
FORMATS: tuple[Format, ...] = ("markdown", "html", "rawHtml", "links", "images", "text")


class AttributeQuery(msgspec.Struct, frozen=True):
    """The values of one attribute on all elements that a CSS selector matches."""

    selector: str
    attribute: str


class ChangeTracking(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Compare the page with the last version that this team has seen of it under `tag`."""

    modes: tuple[Literal["git-diff", "json"], ...] = ()
    tag: str | None = None
    prompt: str | None = None
    schema: dict[str, Any] | None = None


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a language model is to make of the page; the answer stands under `output` in the document."""

    kind: Literal["json", "summary", "question", "highlights", "clean"]
    output: str
    """`json`, `extract`, `summary`, `answer`, `highlights`; `markdown` for `clean`."""
    prompt: str | None = None
    schema: dict[str, Any] | None = None


class CachePolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a page may be read from, and whether it is kept, in the team's cache of answers."""

    max_age_s: float | None = None
    """A kept answer younger than this is as good as a new one; None asks the site."""
    min_age_s: float | None = None
    """Only a kept answer of at least this age will do; nothing is fetched."""
    only: bool = False
    """Nothing is fetched, whatever the age (up to `max_age_s`)."""
    store: bool = False

    @property
    def reads(self) -> bool:
        return bool(self.max_age_s) or self.offline

    @property
    def offline(self) -> bool:
        """Nothing may be fetched: what is not kept is not to be had."""
        return self.only or self.min_age_s is not None


class ScopeRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    external_homes: bool = True
    """Among them the home pages of those sites."""
    ignore_query: bool = False
    deduplicate_similar: bool = False
    block_social_media: bool = True


class ScrapeOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    robots_agent: str | None = None
    """Product token whose group of robots.txt is obeyed instead of ours."""
    parse_pdf: bool = True
    """Turn documents (PDF) into text; without, their bytes come in Base64 as the markdown."""
    pdf_max_pages: int | None = None
    verify_tls: bool = True
    remove_base64_images: bool | None = None
    """Images whose bytes stand in the page are in markdown a placeholder (True), what they are (False), or left out."""
    links_of_content: bool = False
    """`links` lists those of the chosen content rather than of the whole page."""
    attributes: tuple[AttributeQuery, ...] = ()
    asks: tuple[Ask, ...] = ()
    change_tracking: ChangeTracking | None = None
    cache: CachePolicy = CachePolicy()
    revalidate: bool = False
    """Remember each page with its ETag and Last-Modified, and don't have it sent again while it is unchanged."""


class CrawlOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
