"""Time as an argument: wall time for what is written down, monotonic time for what is measured."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since the epoch, UTC."""
        ...

    def monotonic_s(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
