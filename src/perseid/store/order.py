"""An order for a page that somebody waits for. Those given at the same moment are carried out in one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from perseid.model.ids import CrawlId, WorkerId
from perseid.ports.store import NewCrawl
from perseid.ports.work import Lease

Taken = tuple[CrawlId, Lease | None]


@dataclass(slots=True, eq=False)
class Order:
    """One call of `take`, and how it went."""

    new: NewCrawl
    worker: WorkerId
    lease_us: int
    taken: Taken | None = None
    error: Exception | None = None

    @property
    def over(self) -> bool:
        return self.taken is not None or self.error is not None

    def outcome(self) -> Taken:
        if self.error is not None:
            raise self.error
        assert self.taken is not None
        return self.taken
