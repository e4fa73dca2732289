"""Events on their way out. Written in the transaction that made them true; delivered at least once."""

from __future__ import annotations

from collections.abc import Sequence
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
    lock: int
    """Proof that it is still ours to settle."""


class EventPage(NamedTuple):
    """How the page of a `PAGE` event ended; without a document `message` says why."""

    url: str
    """As it was sent or found."""
    code: str
    message: str
    body: bytes | None
    blob: str | None
    seq: int | None
    """Number of its document."""


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
    """Rows are claimed and deleted, never read by a cursor. Raises `StoreUnavailable` where a retry helps.

    The events of a crawl go to one receiver. A claim takes several at once, and nobody else is given more of
    that crawl until they are all settled or put back: what a receiver gets at once is bounded over all processes.
    """

    async def take_events(self, limit: int, *, lease_us: int) -> list[Event]:
        """Claim due events for `lease_us`; unless settled by then they are due again.

        Of one crawl its last event is due only when no earlier one of it is left.
        """
        ...

    async def settle(self, event: Event, attempt: Attempt, *, again_in_us: int | None) -> bool:
        """Log the attempt; drop the event, or make it due again. False if it was no longer ours."""
        ...

    async def put_back(self, events: Sequence[Event], *, in_us: int) -> None:
        """They were not tried, since their receiver is away: nothing of their crawls is due before `in_us`."""
        ...

    async def next_event_us(self) -> int | None:
        """Until the next event is due; None when there is none."""
        ...

    async def event_page(self, job: JobId) -> EventPage | None:
        """What a `PAGE` event tells; None once its crawl is gone."""
        ...

    async def attempts(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[tuple[int, Attempt]]:
        """The delivery log of a crawl in order, each with its number."""
        ...

    async def expire_attempts(self, before_us: int) -> int: ...
