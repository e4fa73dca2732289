"""Pages of a month: what a team has used of them, what its running crawls may yet bring, and whether more may begin.

Every store asks in the transaction that begins a crawl, so that however many begin at once, no page is promised twice.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from perseid.errors import QuotaExceeded
from perseid.model.crawl import CrawlKind
from perseid.ports.store import NewCrawl

RESERVED = (
    "SELECT coalesce(sum(coalesce(max_pages, discovered) - done - failed - duplicate - denied - cancelled), 0)"
    " FROM crawl WHERE team = $1 AND status = 0 AND kind <> 'map'"
)
"""Pages that the running crawls of a team may yet bring: those of their limit, or those they were told."""
USED = "SELECT pages FROM usage WHERE team = $1 AND period = $2"
QUOTA = "SELECT quota FROM team WHERE id = $1"


def period_of(now_us: int) -> str:
    """The calendar month (UTC) that `usage` counts by."""
    return datetime.fromtimestamp(now_us / 1_000_000, UTC).strftime("%Y-%m")


def wanted(new: NewCrawl) -> int | None:
    """Pages that a crawl may bring; None where nothing bounds them."""
    if new.kind is CrawlKind.MAP:
        return 0
    if new.limit is not None or new.kind.follows_links:
        return new.limit
    if new.kind is CrawlKind.SEED:
        return 1  # nobody knows how many it finds; with nothing left none begins
    return sum(url.counted for url in new.first)


class Balance(NamedTuple):
    """Of one team in one month."""

    quota: int
    used: int
    reserved: int

    def afford(self, pages: int | None, now_us: int) -> None:
        """Raises `QuotaExceeded` where so many more are too many; None is without end."""
        left = self.quota - self.used - self.reserved
        if pages is not None and pages <= max(left, 0):
            return
        promised = f" and {self.reserved} promised to what runs" if self.reserved else ""
        more = "as many as there are" if pages is None else str(pages)
        raise QuotaExceeded(
            f"{self.used} of the {self.quota} pages of {period_of(now_us)} are used{promised};"
            f" {more} more would be needed",
            left=max(left, 0),
        )
