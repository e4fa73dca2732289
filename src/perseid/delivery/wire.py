"""What a broker has to offer so that `carried.Carried` makes a delivery of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from perseid.model.ids import CrawlId
from perseid.ports.delivery import Ticket

MOST_KEPT = 100_000
"""Tickets in a queue nobody takes from: more say nothing that fewer don't."""


class BrokerAway(Exception):
    """The broker can't be reached, or doesn't do what was asked: the connection is given up and made anew."""


class Inbox(Protocol):
    """Where a wire puts what comes in, at any time while it is connected. Nothing here waits."""

    def arrived(self, ticket: Ticket) -> None: ...

    def told(self, crawl: CrawlId) -> None: ...

    def lost(self, reason: str) -> None:
        """The connection is no more."""
        ...


class Wire(Protocol):
    """One connection to one broker. All methods raise `BrokerAway`, and nothing else, for trouble that may pass.

    They are called by one task at a time where that is said, else by several. Before each call but `connect` and
    `close`, `connect` has succeeded.
    """

    @property
    def kind(self) -> str: ...

    @property
    def place(self) -> str:
        """Where it connects to, without credentials."""
        ...

    async def connect(self, inbox: Inbox) -> None:
        """Connect, and make what is missing there. Raises `ConfigError` for what no waiting will mend."""
        ...

    async def close(self) -> None:
        """Never raises; may be called at any time, and `connect` after it."""
        ...

    async def check(self) -> None:
        """See that the connection lives, and make anew what somebody deleted. Every few seconds, one task at a time."""
        ...

    async def want(self, most: int) -> None:
        """From now on `most` tickets may arrive, beside those that are held. One task at a time, with `rest`."""
        ...

    async def rest(self) -> None:
        """No more shall arrive. What is under way may."""
        ...

    async def publish(self, count: int) -> None:
        """Returns once the broker has them."""
        ...

    async def waiting(self) -> int: ...

    async def acknowledge(self, tags: Sequence[object]) -> None:
        """Each tag once. Tags of an earlier connection are no error."""
        ...

    async def give_back(self, tags: Sequence[object]) -> None: ...

    async def tell(self, crawls: Sequence[CrawlId]) -> None: ...

    async def listen(self, crawl: CrawlId) -> None: ...

    async def forget(self, crawl: CrawlId) -> None: ...
