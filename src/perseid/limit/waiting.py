"""Waiting for a slot: ever longer, and not in step with others."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from typing import Any

from perseid.ports.clock import Clock
from perseid.ports.limit import Gate, Permit

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5


def jittered(pause_s: float) -> float:
    return pause_s * random.uniform(0.5, 1.0)  # noqa: S311 - nothing to guess


class Waiting(ABC):
    """Asks again and again for what `try_once` gives at once or not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: set[asyncio.Future[Any]] = set()
        """What still goes on though nobody waits for it any more."""

    @abstractmethod
    async def try_once(self, gate: Gate) -> Permit | None: ...

    @abstractmethod
    async def release(self, permit: Permit) -> None: ...

    async def acquire(self, gate: Gate, *, wait_s: float = 0.0) -> Permit | None:
        until = self._clock.monotonic_s() + wait_s
        pause_s = FIRST_PAUSE_S
        while True:
            permit = await self._try(gate)
            left_s = until - self._clock.monotonic_s()
            if permit is not None or left_s <= 0:
                return permit
            await self._clock.sleep(min(jittered(pause_s), left_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _try(self, gate: Gate) -> Permit | None:
        """Cancelled meanwhile, what it gets goes back."""
        asked = asyncio.ensure_future(self.try_once(gate))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            self._leave(asked)
            asked.add_done_callback(self._unwanted)
            raise

    def _unwanted(self, asked: asyncio.Future[Permit | None]) -> None:
        if asked.cancelled() or asked.exception() is not None:
            return
        if (permit := asked.result()) is not None:
            # Where that fails, its slot is free when its time is up.
            self._leave(asyncio.ensure_future(self.release(permit)))

    def _leave(self, alone: asyncio.Future[Any]) -> None:
        self._left.add(alone)
        alone.add_done_callback(self._over)

    def _over(self, alone: asyncio.Future[Any]) -> None:
        self._left.discard(alone)
        if not alone.cancelled():
            alone.exception()

    async def settle(self) -> None:
        while self._left:
            await asyncio.gather(*self._left, return_exceptions=True)
