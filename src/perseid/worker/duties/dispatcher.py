"""Publish tickets where there is work and workers have slots for it: never more than both, and what already lies there
counts. Each process may dispatch; two that do so at once publish some tickets too many, which nobody minds.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable

from perseid.errors import StoreError
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.delivery import MOST_TICKETS, Delivery, Outlook
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop

_SOONEST_S = 0.005
_QUIET_S = (0.02, 1.0)
"""Between two looks that workers ask for: the longer, the longer all slots have been taken."""


class Dispatcher:
    """One a process. It looks when something began here, and every few seconds; who was first among all the workers
    also when something becomes due.
    """

    def __init__(
        self,
        outlook: Outlook,
        delivery: Delivery,
        *,
        whose: Callable[[], WorkerId],
        clock: Clock,
        telemetry: Telemetry,
        every_s: float = 2.0,
    ) -> None:
        self._outlook = outlook
        self._delivery = delivery
        self._whose = whose
        self._clock = clock
        self._telemetry = telemetry
        self._every_s = every_s
        self._quiet_s = _QUIET_S[0]
        self._looked_at = 0.0
        self._look_at = 0.0
        self._wake = asyncio.Event()

    def begun(self) -> None:
        """Something was begun here: look at once."""
        self._hasten(_SOONEST_S)

    def stirred(self) -> None:
        """There may be more than our own worker wants."""
        self._hasten(self._quiet_s)

    def _hasten(self, after_s: float) -> None:
        at = self._looked_at + after_s
        if at < self._look_at:
            self._look_at = at
            self._wake.set()

    async def run(self, stop: Stop) -> None:
        asked = asyncio.create_task(self._watch(stop))
        try:
            while not stop.asked:
                now = self._clock.monotonic_s()
                if now < self._look_at:
                    await self._rest(self._look_at - now)
                    continue
                self._looked_at = now
                self._look_at = float("inf")
                pause_s = await self.look()
                self._look_at = min(self._look_at, max(now + pause_s, now + _SOONEST_S))
        finally:
            asked.cancel()

    async def round(self) -> float:
        """Publish what is due; how long it makes sense to wait. Raises `StoreError`."""
        pause_s = self._every_s * random.uniform(0.75, 1.25)  # noqa: S311 - so that processes don't look in step
        if not self._delivery.health.up:
            return pause_s
        prospect, waiting = await asyncio.gather(self._outlook.prospect(MOST_TICKETS), self._delivery.waiting())
        due = min(prospect.claimable, prospect.free) - waiting
        if due > 0:
            await self._delivery.publish(due)
        self._quiet_s = _QUIET_S[0] if prospect.free else min(2 * self._quiet_s, _QUIET_S[1])
        if prospect.wait_us is not None and prospect.first == self._whose():
            pause_s = min(pause_s, prospect.wait_us / 1_000_000 + 0.001)
        return pause_s

    async def look(self) -> float:
        """A round, whatever the store says."""
        try:
            return await self.round()
        except StoreError as error:
            self._telemetry.trouble("store.retry", str(error))
            return self._every_s

    async def _rest(self, seconds: float) -> None:
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _watch(self, stop: Stop) -> None:
        await stop.wait()
        self._wake.set()
