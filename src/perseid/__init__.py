"""Perseid turns web sites into clean, structured, LLM-ready data and never loses a page.

    import perseid

    async for page in perseid.crawl("https://example.org/docs/"):
        print(page.url, len(page.markdown))

    page = await perseid.scrape("https://example.org/")
    links = await perseid.map_site("https://example.org/")

Each has a synchronous form: `crawl_sync`, `scrape_sync`, `map_site_sync`. `Client` works with a store
that other processes may be working on too. Everything is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perseid._version import __version__

if TYPE_CHECKING:
    from perseid.errors import (
        ConfigError,
        InvalidURL,
        MissingExtra,
        NotFound,
        PerseidError,
        ScrapeFailed,
        StoreCorrupt,
        StoreError,
        StoreUnavailable,
    )
    from perseid.facade import crawl, crawl_sync, map_site, map_site_sync, scrape, scrape_sync
    from perseid.model.document import Document
    from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions
    from perseid.runtime import Client

_HOMES = {
    "Client": "perseid.runtime",
    "ConfigError": "perseid.errors",
    "CrawlOptions": "perseid.model.options",
    "Document": "perseid.model.document",
    "InvalidURL": "perseid.errors",
    "MissingExtra": "perseid.errors",
    "NotFound": "perseid.errors",
    "PerseidError": "perseid.errors",
    "ScopeRules": "perseid.model.options",
    "ScrapeFailed": "perseid.errors",
    "ScrapeOptions": "perseid.model.options",
    "StoreCorrupt": "perseid.errors",
    "StoreError": "perseid.errors",
    "StoreUnavailable": "perseid.errors",
    "crawl": "perseid.facade",
    "crawl_sync": "perseid.facade",
    "map_site": "perseid.facade",
    "map_site_sync": "perseid.facade",
    "scrape": "perseid.facade",
    "scrape_sync": "perseid.facade",
}

__all__ = [
    "Client",
    "ConfigError",
    "CrawlOptions",
    "Document",
    "InvalidURL",
    "MissingExtra",
    "NotFound",
    "PerseidError",
    "ScopeRules",
    "ScrapeFailed",
    "ScrapeOptions",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "__version__",
    "crawl",
    "crawl_sync",
    "map_site",
    "map_site_sync",
    "scrape",
    "scrape_sync",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'perseid' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
