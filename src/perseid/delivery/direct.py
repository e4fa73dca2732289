"""Tickets inside this process, and a bell to the others where the database has one. Nobody has to be connected to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from perseid.delivery.listeners import Listeners
from perseid.model.ids import CrawlId
from perseid.ports.delivery import MOST_TICKETS, Health, Signal, Ticket


class Direct:
    """`Delivery` without a broker. What it holds, and whoever listens, is of this process."""

    def __init__(self, signal: Signal | None = None) -> None:
        self._signal = signal
        self._waiting = 0
        self._taken = 0
        self._held: set[object] = set()
        self._arrived = asyncio.Event()
        self._listeners = Listeners()
        self.listen = self._listeners.listen
        self._hearing: asyncio.Task[None] | None = None

    @property
    def health(self) -> Health:
        return Health("direct", up=True, detail="the database's notices" if self.carries else "this process")

    @property
    def carries(self) -> bool:
        return self._hearing is not None and not self._hearing.done()

    async def open(self) -> None:
        if self._signal is not None and self._hearing is None:
            self._hearing = asyncio.create_task(self._signal.listen(self._rung))

    async def close(self) -> None:
        hearing, self._hearing = self._hearing, None
        if hearing is not None:
            hearing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await hearing

    async def publish(self, count: int) -> int:
        count = max(0, min(count, MOST_TICKETS))
        self._put(count)
        if count and self._signal is not None:
            self._signal.notify()
        return count

    async def waiting(self) -> int:
        return self._waiting

    async def take(self, most: int) -> Sequence[Ticket]:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        count = min(most, self._waiting)
        # Of a ring each process hears, and claims whatever it has slots for: what is left of it is told already.
        self._waiting = 0 if self.carries else self._waiting - count
        tickets = [Ticket(self._taken + number) for number in range(count)]
        self._taken += count
        self._held.update(ticket.tag for ticket in tickets)
        return tickets

    async def acknowledge(self, tickets: Sequence[Ticket]) -> None:
        self._let_go(tickets)

    async def give_back(self, tickets: Sequence[Ticket]) -> None:
        count = self._let_go(tickets)
        self._put(0 if self.carries else count)

    async def tell(self, ended: Sequence[CrawlId]) -> None:
        self._listeners.told(ended)

    def _let_go(self, tickets: Sequence[Ticket]) -> int:
        before = len(self._held)
        self._held.difference_update(ticket.tag for ticket in tickets)
        return before - len(self._held)

    def _put(self, count: int) -> None:
        if count:
            self._waiting = min(self._waiting + count, MOST_TICKETS)
            self._arrived.set()

    def _rung(self) -> None:
        self._put(MOST_TICKETS)
