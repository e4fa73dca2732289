"""A clock that moves only when told to."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

_SETTLE = 20
"""Rounds of the event loop that woken tasks get before time goes on."""


class FakeClock:
    """Implements `perseid.ports.clock.Clock`; sleepers wake in the order of their times, ties as they came.

    >>> clock = FakeClock(start_us=1_000_000)
    >>> clock.now_us(), clock.monotonic_s()
    (1000000, 0.0)
    """

    def __init__(self, start_us: int = 1_767_225_600_000_000) -> None:
        self._start_us = start_us
        self._elapsed_us = 0
        self._order = count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._watchers: list[tuple[int, asyncio.Future[None]]] = []

    def now_us(self) -> int:
        return self._start_us + self._elapsed_us

    def monotonic_s(self) -> float:
        return self._elapsed_us / 1_000_000

    @property
    def sleeping(self) -> int:
        """How many tasks sleep by this clock."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        due_us = self._elapsed_us + max(1, round(seconds * 1_000_000))
        heapq.heappush(self._sleepers, (due_us, next(self._order), future))
        for number, watcher in self._watchers:
            if self.sleeping >= number and not watcher.done():
                watcher.set_result(None)
        await future

    async def wait_for_sleepers(self, number: int = 1) -> None:
        """Return once at least `number` tasks sleep: the signal to wait for before `advance`."""
        if self.sleeping >= number:
            return
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watchers.append((number, watcher))
        try:
            await watcher
        finally:
            self._watchers.remove((number, watcher))

    async def advance(self, seconds: float) -> None:
        """Let time pass, stopping at each sleeper's moment so that it wakes at its own time.

        Tasks that sleep again within the span wake again within it.
        """
        end_us = self._elapsed_us + round(seconds * 1_000_000)
        while self._sleepers and self._sleepers[0][0] <= end_us:
            due_us, _, future = heapq.heappop(self._sleepers)
            if future.done():
                continue
            self._elapsed_us = due_us
            future.set_result(None)
            await self._settle()
        self._elapsed_us = end_us
        await self._settle()

    def shift_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an administrator does; monotonic time doesn't notice."""
        self._start_us += round(seconds * 1_000_000)

    @staticmethod
    async def _settle() -> None:
        for _ in range(_SETTLE):
            await asyncio.sleep(0)
