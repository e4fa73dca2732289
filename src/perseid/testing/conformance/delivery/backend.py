"""What a delivery's test module has to bring along, and what the suite makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, Self

from perseid.model.ids import CrawlId
from perseid.ports.delivery import Delivery, Ticket
from perseid.ports.telemetry import Run, Telemetry, Trouble
from perseid.ports.work import Lease

SOON_S = 8.0
"""Everything happens within that, however busy the machine is."""
NEVER_S = 0.4
"""For what must not happen: longer than tickets lie at who doesn't take them."""


class DeliveryBackend(Protocol):
    """One place of its own at the broker; each delivery stands for a process."""

    async def begin(self) -> None:
        """Called once, before all else."""
        ...

    def make(self, telemetry: Telemetry) -> Delivery:
        """One more process, not opened yet."""
        ...

    async def dispose(self) -> None:
        """Take away all that was made there."""
        ...


NewDelivery = Callable[[], DeliveryBackend]
"""A place of its own at each call."""


class Brokered(DeliveryBackend, Protocol):
    """A backend whose broker can be lost. All processes of it reach it through what is cut here."""

    async def cut(self) -> None:
        """End all connections; new ones are refused until `mend`."""
        ...

    async def blink(self) -> None:
        """End all connections; new ones are fine."""
        ...

    def mute(self) -> None:
        """Nothing passes any more, until `mend`, and nobody is told."""
        ...

    async def mend(self) -> None: ...

    async def wipe(self) -> None:
        """Somebody deletes there all that is ours."""
        ...


class Heard:
    """A `Telemetry` that remembers trouble."""

    def __init__(self) -> None:
        self.events: list[Trouble] = []

    def job_finished(self, run: Run) -> None:
        raise AssertionError(f"a delivery runs no job: {run}")

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        raise AssertionError(f"a delivery runs no job: {lease}") from error

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        raise AssertionError(f"a delivery takes no step: {finished}, {claimed}, {seconds}")

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        raise AssertionError(f"a delivery writes to no sink: {sink}, {items}, {seconds}")

    def trouble(self, event: Trouble, message: str) -> None:
        assert message
        self.events.append(event)


class Bench:
    """A backend and the processes that were opened on it; closes what a test leaves."""

    def __init__(self, backend: DeliveryBackend) -> None:
        self.backend = backend
        self.heard = Heard()
        self._opened: list[Delivery] = []

    async def begin(self) -> Self:
        await self.backend.begin()
        return self

    async def process(self) -> Delivery:
        delivery = self.backend.make(self.heard)
        self._opened.append(delivery)
        await delivery.open()
        return delivery

    async def close(self) -> None:
        for delivery in self._opened:
            await delivery.close()
        await self.backend.dispose()


async def take(delivery: Delivery, most: int) -> Sequence[Ticket]:
    """Tickets, soon."""
    async with asyncio.timeout(SOON_S):
        tickets = await delivery.take(most)
    assert 1 <= len(tickets) <= most
    return tickets


async def take_all(delivery: Delivery, count: int) -> list[Ticket]:
    """So many, in as many rounds as it takes; none is acknowledged."""
    tickets: list[Ticket] = []
    while len(tickets) < count:
        tickets += await take(delivery, count - len(tickets))
    return tickets


async def takes_nothing(delivery: Delivery, *, for_s: float = NEVER_S) -> bool:
    """Whether nothing comes. What does come is given back."""
    try:
        async with asyncio.timeout(for_s):
            tickets = await delivery.take(1)
    except TimeoutError:
        return True
    await delivery.give_back(tickets)
    return False


async def becomes(what: Callable[[], bool]) -> None:
    """Wait until it is so."""
    async with asyncio.timeout(SOON_S):
        while not what():
            await asyncio.sleep(0.01)


async def waiting_becomes(delivery: Delivery, count: int) -> None:
    """Brokers count a moment later."""
    found = -1
    try:
        async with asyncio.timeout(SOON_S):
            while (found := await delivery.waiting()) != count:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"{found} tickets wait, not {count}") from None


async def is_told(event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(SOON_S):
            await event.wait()
    except TimeoutError:
        return False
    return True


def crawl(number: int) -> CrawlId:
    return CrawlId(number)
