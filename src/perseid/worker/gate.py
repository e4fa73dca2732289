"""What is known of one receiver outside: how much it is being told, and whether it is worth trying now.

After some failures in a row it is left alone for a while, twice as long each time, and then tried with one delivery.
"""

from __future__ import annotations

import asyncio

AT_ONCE = 4
"""Deliveries under way to one receiver."""
MOST_HELD = 16
"""Deliveries that wait here for it; more stay in the store, so that they take no room from others."""
_BREAKS_AFTER = 3
_LONGEST_S = 3_600.0


def pause_s(tries: int, jitter: float) -> float:
    """Before the next try, after `tries` that failed: about 1 s, 2 s, 4 s … up to an hour."""
    return min(max(1.0, 2.0 ** min(tries - 1, 12) * (1 - jitter / 4)), _LONGEST_S)


class Gate:
    """One receiver; times are monotonic seconds."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.held = 0
        self._failures = 0
        self._open_at = 0.0
        self._probing = False

    @property
    def idle(self) -> bool:
        """Nothing is known of it that would be missed."""
        return self.held == 0 and self._failures == 0

    @property
    def full(self) -> bool:
        return self.held >= MOST_HELD

    def closed_s(self, now: float) -> float:
        """For how long it is to be left alone; above 0 too while it is being tried with one delivery."""
        if self._probing:
            return max(1.0, self._open_at - now)
        return max(0.0, self._open_at - now)

    def enter(self) -> None:
        """A delivery begins; while the receiver is in doubt, it is the only one."""
        self._probing = self._failures >= _BREAKS_AFTER

    def leave(self) -> None:
        """It was broken off: nothing was learnt."""
        self._probing = False

    def well(self) -> None:
        self._failures = 0
        self._open_at = 0.0
        self._probing = False

    def away(self, now: float, *, patience_s: float | None, jitter: float) -> bool:
        """It did not answer, or asked for patience; whether it is given up for now by this."""
        self._failures += 1
        self._probing = False
        was_open = self._open_at <= now
        closed = 0.0
        if self._failures >= _BREAKS_AFTER:
            closed = pause_s(self._failures - _BREAKS_AFTER + 1, jitter)
        if patience_s is not None:
            closed = max(closed, min(patience_s, _LONGEST_S))
        self._open_at = max(self._open_at, now + closed)
        return was_open and closed > 0 and self._failures == _BREAKS_AFTER
