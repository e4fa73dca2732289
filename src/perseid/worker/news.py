"""What a worker hears of work that others begin, and tells of its own: tickets to the loop, notices from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from perseid.model.ids import CrawlId
from perseid.ports.delivery import Delivery
from perseid.ports.store import StepResult
from perseid.worker.stop import Stop

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1
"""After tickets that somebody else had claimed for: a stale queue must not become a storm of claims."""


class News(Protocol):
    """The loop's side. Nothing here waits."""

    @property
    def prompt(self) -> bool:
        """Work that others begin is offered at once: no need to ask for it again and again."""
        ...

    @property
    def timely(self) -> bool:
        """Work that becomes due is offered at once."""
        ...

    def stepped(self, result: StepResult, *, more: bool) -> None:
        """A step is committed; `more` says that there may be more to claim than it wanted."""
        ...


class Taker(Protocol):
    """Who claims: the loop, as the tickets see it."""

    async def hungry(self) -> int:
        """Wait for free slots that there was nothing for; how many."""
        ...

    def offer(self, tickets: int) -> asyncio.Future[int]:
        """Claim for so many slots now. How much was claimed; -1 where none are free any more."""
        ...


class Tickets:
    """`News` by a delivery. One a worker; `dispatch` is called where there may be work for others."""

    def __init__(self, delivery: Delivery, *, takes: bool, dispatch: Callable[[], None] | None) -> None:
        self._delivery = delivery
        self._takes = takes
        self._dispatch = dispatch
        self._ended: list[CrawlId] = []
        self._told = asyncio.Event()

    @property
    def prompt(self) -> bool:
        return self._takes and self._delivery.carries

    @property
    def timely(self) -> bool:
        return self._dispatch is not None and self.prompt

    def stepped(self, result: StepResult, *, more: bool) -> None:
        if result.ended:
            self._ended += result.ended
            self._told.set()
        if more and self._dispatch is not None:
            self._dispatch()

    async def run(self, taker: Taker | None, stop: Stop) -> None:
        """Until stopped. Tickets held then are the delivery's to give back."""
        tasks = [asyncio.create_task(self._tell())]
        if self._takes and taker is not None:
            tasks.append(asyncio.create_task(self._feed(taker)))
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in (*tasks, stopped):
                task.cancel()
            await asyncio.gather(*tasks, stopped, return_exceptions=True)
            if self._ended:
                await self._delivery.tell(self._ended)

    async def _feed(self, taker: Taker) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            tickets = await self._delivery.take(await taker.hungry())
            claimed = await taker.offer(len(tickets))
            if claimed < 0:
                await self._delivery.give_back(tickets)
                continue
            await self._delivery.acknowledge(tickets)
            if claimed:
                pause_s = _FIRST_PAUSE_S
            else:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _tell(self) -> None:
        while True:
            await self._told.wait()
            self._told.clear()
            ended, self._ended = self._ended, []
            await self._delivery.tell(ended)
