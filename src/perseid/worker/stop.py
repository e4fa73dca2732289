"""Asking a worker to stop: gracefully (finish what is in flight) or now (give everything back)."""

from __future__ import annotations

import asyncio
import contextlib


class Stop:
    """Shared by the loops of one event loop; both levels are sticky."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._now = asyncio.Event()

    def ask(self) -> None:
        self._asked.set()

    def now(self) -> None:
        self._asked.set()
        self._now.set()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    @property
    def urgent(self) -> bool:
        return self._now.is_set()

    async def wait(self) -> None:
        await self._asked.wait()

    async def wait_now(self) -> None:
        await self._now.wait()

    async def sleep(self, seconds: float) -> bool:
        """Sleep, or less if a stop is asked for; whether one was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._asked.wait()
        return self._asked.is_set()

    async def rest(self, seconds: float) -> None:
        """Sleep, or less if told to stop now."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._now.wait()
