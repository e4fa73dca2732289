"""How workers learn, sooner than by polling, that there is work; and callers, that what they wait for has ended.

The store is the truth, and a delivery knows nothing of it. Its message is a **ticket**, which says "there is work",
never a job: who takes a ticket claims from the store, and the lease begins there. So tickets may be lost, doubled,
reordered, trimmed or flushed: each of that costs latency, and a poll every two seconds is the net below it. The same
holds for notices of an end: who waits for one looks at the store when it comes, and now and then without.

All implementations pass `perseid.testing.conformance.delivery`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from perseid.model.ids import CrawlId

MOST_TICKETS = 500
"""Published at a time."""


class Ticket(NamedTuple):
    """There was work for one more job when it was published. `tag` is the delivery's own."""

    tag: object
    again: bool = False
    """Somebody took it before, and neither acknowledged it nor gave it back."""


class Health(NamedTuple):
    """`kind` is the delivery's name in settings: direct, rabbitmq, redis."""

    kind: str
    up: bool
    detail: str = ""
    """For people: where it is connected to, or why it is not. Without credentials."""


class Delivery(Protocol):
    """One a process. Trouble of a broker never reaches the caller: it is told once (`delivery.away`,
    `delivery.back`), `health` shows it, and until it is over tickets neither come nor go.
    """

    @property
    def health(self) -> Health: ...

    @property
    def carries(self) -> bool:
        """Tickets of other processes arrive here now: who finds no work may sleep until one comes."""
        ...

    async def open(self) -> None:
        """Begin to connect; returns once that has succeeded or failed for the first time, which is no error.

        Raises `ConfigError` for what no waiting will mend: an address that is none, a refused password.
        """
        ...

    async def close(self) -> None:
        """Tickets held go back, as far as there is a connection; whoever waits in `take` is cancelled by its owner."""
        ...

    async def publish(self, count: int) -> int:
        """Publish `count` tickets, at most `MOST_TICKETS`; how many the broker has confirmed (0 while it is away)."""
        ...

    async def waiting(self) -> int:
        """Tickets published that nobody has taken yet; 0 while that can't be told."""
        ...

    async def take(self, most: int) -> Sequence[Ticket]:
        """Wait for tickets: between one and `most` (at least 1), the free slots of the caller.

        One caller at a time. Cancelled, it loses none.
        """
        ...

    async def acknowledge(self, tickets: Sequence[Ticket]) -> None:
        """They were used: after the step that claimed for them. Ones that are not held any more are passed over."""
        ...

    async def give_back(self, tickets: Sequence[Ticket]) -> None:
        """They were not used: somebody else shall have them, at once."""
        ...

    async def tell(self, ended: Sequence[CrawlId]) -> None:
        """These crawls have ended: whoever listens, in whatever process, is to look."""
        ...

    def listen(self, crawl: CrawlId) -> AbstractAsyncContextManager[asyncio.Event]:
        """Inside, the event is set when the crawl's end is told. Look at the store after entering: it may have ended
        before. Spurious and missed notices are possible.
        """
        ...


@runtime_checkable
class Signal(Protocol):
    """A bell between processes without a broker: without content, coalesced, best effort (LISTEN/NOTIFY)."""

    def notify(self) -> None:
        """Ring soon, for whoever listens in whatever process. Trouble is swallowed: polling goes on."""
        ...

    async def listen(self, callback: Callable[[], None]) -> None:
        """Call `callback` at each ring, and after each time of deafness, until cancelled. Returns where nothing can
        ever be heard.
        """
        ...


class Prospect(NamedTuple):
    """What the dispatcher is told by the store."""

    claimable: int
    """Jobs that could be claimed now, counted up to the bound that was asked for; an estimate from above."""
    free: int
    """Slots of all workers beyond the leases they hold."""
    wait_us: int | None
    """Until something that waits for time alone becomes claimable; None when nothing does."""
    first: int
    """The lowest id of all workers: of several dispatchers its own one watches the clock. 0 without workers."""


class Outlook(Protocol):
    """The part of a store that knows how much work is waiting."""

    async def prospect(self, most: int) -> Prospect:
        """Reads only, and no lock is waited for. Raises `StoreUnavailable` where a retry helps."""
        ...
