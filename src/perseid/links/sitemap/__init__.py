"""Sitemaps: which files to ask for, and how to read what comes back (sitemaps.org, RSS, Atom, plain text).

`SitemapParser` is fed bytes as they arrive and never raises on them; `parse_sitemap` reads a whole body.
Fetching, following of nested files and filtering of what is found are the caller's.
"""

from perseid.links.sitemap.candidate import candidates
from perseid.links.sitemap.entry import Sitemap, SitemapEntry, SitemapError, SitemapKind, SitemapWarning
from perseid.links.sitemap.parser import MAX_ENTRIES, MAX_INFLATED_BYTES, SitemapParser, parse_sitemap

__all__ = [
    "MAX_ENTRIES",
    "MAX_INFLATED_BYTES",
    "Sitemap",
    "SitemapEntry",
    "SitemapError",
    "SitemapKind",
    "SitemapParser",
    "SitemapWarning",
    "candidates",
    "parse_sitemap",
]
