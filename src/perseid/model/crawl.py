"""A crawl as the store knows it: its identity, its status and its counters."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from perseid.model.ids import CrawlId


class CrawlKind(StrEnum):
    """What started the job graph; only a crawl follows links."""

    CRAWL = "crawl"
    BATCH = "batch"
    SCRAPE = "scrape"
    """A batch of one page whose caller waits for it."""
    MAP = "map"
    """A crawl that ends with its start page and its sitemaps: its URLs are wanted, not its pages."""
    SEED = "seed"
    """One run of a seed: tasks read by a site's rule."""

    @property
    def follows_links(self) -> bool:
        return self in (CrawlKind.CRAWL, CrawlKind.MAP)

    @property
    def lists_pages(self) -> bool:
        """Its pages are those that its caller named, each as often as it was named."""
        return self in (CrawlKind.BATCH, CrawlKind.SCRAPE)


class CrawlStatus(IntEnum):
    """`SCRAPING` until the last open job ends; that is the only way to `COMPLETED`."""

    SCRAPING = 0
    COMPLETED = 1
    CANCELLED = 2
    FAILED = 3


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of one crawl. Always: discovered = done + failed + duplicate + denied + cancelled + open pages."""

    open: int = 0
    """Jobs of every kind that have not ended."""
    discovered: int = 0
    """Pages admitted."""
    done: int = 0
    failed: int = 0
    duplicate: int = 0
    """Pages whose redirect ended on a page that the crawl has anyway."""
    denied: int = 0
    """Admitted pages that were refused later (a redirect out of scope, robots.txt of another host)."""
    cancelled: int = 0
    """Pages that somebody cancelled one by one; those of a crawl cancelled as a whole count as open."""
    documents: int = 0
    """Stored documents: the pages done, and failed ones whose body was kept."""
    superseded: int = 0
    """Documents of attempts that were retried since: listed no more, though their numbers stay taken."""
    refused: int = 0
    """Rows of the ledger of refused links."""
    refused_beyond: int = 0
    """Refusals past the ledger's bound: not written down, so that a link met again much later counts again."""
    sitemap_files: int = 0
    sitemap_urls: int = 0
    """Distinct page URLs that sitemaps named, in scope or not."""

    @property
    def open_pages(self) -> int:
        """Pages that have not ended; of a map all but its start page, since it fetches none."""
        return self.discovered - self.done - self.failed - self.duplicate - self.denied - self.cancelled


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl; `options` is the JSON snapshot taken when it was started, times are µs since the epoch."""

    id: CrawlId
    uid: str
    team: int
    kind: CrawlKind
    url: str
    options: bytes
    key_seed: int
    status: CrawlStatus
    counts: Counts
    created_at: int
    ended_at: int | None = None
    expires_at: int | None = None
    error: str | None = None
    note: bytes = b""
    """JSON that the kickoff left for the summary: final start URL, robots findings, sitemap findings."""
    terms: bytes = b""
    """JSON of `perseid.model.terms.Terms`; empty for a crawl on the default terms."""
    erased: bool = False
    """Zero retention: only its counters are left."""
    paused: bool = False
    """Nothing of it is claimed until it is let go."""
