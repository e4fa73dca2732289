"""What a sitemap file holds, and what can be wrong with one."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

SitemapKind = Literal["urlset", "index", "text", "rss", "atom"]


class SitemapEntry(NamedTuple):
    """A page, or in an index another sitemap. Both values are as written, trimmed and with entities decoded.

    `url` ought to be absolute, but may be relative: resolve it against the address of its file.
    """

    url: str
    lastmod: str | None


class SitemapError(StrEnum):
    """Why a file was not, or not fully, read; what was read before stays. `http_nnn` stands beside these."""

    NOT_XML = "not_xml"
    """Neither a sitemap, nor a feed, nor a list of URLs: mostly an error page sent with status 200."""
    DECOMPRESSED_TOO_LARGE = "decompressed_too_large"
    """More bytes than allowed, in the whole file or between two of its entries."""
    TOO_MANY_ENTRIES = "too_many_entries"
    NESTING_TOO_DEEP = "sitemap_nesting_too_deep"
    """Given by those who follow indexes."""


class SitemapWarning(StrEnum):
    """What was wrong with a file that could be read all the same."""

    BROKEN_XML = "broken_xml"
    """Not well-formed; read on by the lenient scanner."""
    TRUNCATED = "truncated"
    CORRUPT_GZIP = "corrupt_gzip"
    LONG_URL = "long_url_dropped"
    MIXED_KINDS = "mixed_kinds"
    """Pages in an index, or sitemaps among pages: those of the rarer kind were dropped."""


class Sitemap(NamedTuple):
    """One whole file. `error` and entries exclude each other only for `not_xml`."""

    kind: SitemapKind | None
    entries: list[SitemapEntry]
    error: SitemapError | None
    warnings: tuple[SitemapWarning, ...]
