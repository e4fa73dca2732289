"""Events on their way out. Written in the transaction that made them true; delivered at least once."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from perseid.model.ids import CrawlId, JobId
from perseid.model.terms import EventKind


class Event(NamedTuple):
    """Holds ids, no bodies: the document is read when the event is sent."""

    id: int
    crawl: CrawlId
    kind: EventKind
    job: JobId | None
    """Of a `PAGE` event."""
    attempts: int
    """Deliveries tried before."""
    created_at: int
    uid: str
    """Stable over retries: receivers drop what they have seen."""


class Attempt(NamedTuple):
    """One try to deliver, for the log: `status` is the receiver's answer, `error` why there was none."""

    at: int
    uid: str
    kind: EventKind
    url: str
    attempt: int
    status: int | None
    error: str
    elapsed_us: int
    final: bool
    """Delivered or given up: it is not tried again."""


class Outbox(Protocol):
    """Rows are claimed and deleted, never read by a cursor. Raises `StoreUnavailable` where a retry helps."""

    async def take_events(self, limit: int, *, lease_us: int) -> list[Event]:
        """Claim due events for `lease_us`; unless settled by then they are due again.

        Of one crawl its last event is due only when no earlier one of it is left.
        """
        ...

    async def settle(self, event: Event, attempt: Attempt, *, again_in_us: int | None) -> None:
        """Log the attempt; drop the event, or make it due again."""
        ...

    async def next_event_us(self) -> int | None:
        """Until the next event is due; None when there is none."""
        ...

    async def attempts(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[tuple[int, Attempt]]:
        """The delivery log of a crawl in order, each with its number."""
        ...

    async def expire_attempts(self, before_us: int) -> int: ...
