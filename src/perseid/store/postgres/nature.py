"""What of a crawl decides how its links are taken."""

from __future__ import annotations

from typing import NamedTuple

from perseid.model.crawl import CrawlKind
from perseid.store.seen import Memory, Remembered


class Nature(NamedTuple):
    """Never changes while the crawl lasts."""

    crawl: int
    kind: str
    max_depth: int | None
    keep_variants: bool

    @property
    def is_batch(self) -> bool:
        return CrawlKind(self.kind).lists_pages

    @property
    def is_remembered(self) -> bool:
        """A link found again changes nothing."""
        return not self.is_batch and self.max_depth is None

    def remembered(self, memory: Memory) -> Remembered:
        """Links that need no look into the database."""
        return memory.remembered(self.crawl, keeps_variants=self.keep_variants) if self.is_remembered else Remembered()
