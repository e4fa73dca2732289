"""The clock of the real world."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """`Clock` over the system's clocks."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
