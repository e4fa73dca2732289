"""How often a team may ask: a token bucket a team, in this process (one process serves HTTP)."""

from __future__ import annotations

from collections.abc import Callable


class RateLimiter:
    """The generic cell rate algorithm: a minute's worth may come at once, then they come evenly."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._free_at: dict[int, float] = {}

    def take(self, team: int, per_minute: int | None) -> float:
        """0 if it may go on now, else the seconds until it may."""
        if not per_minute:
            return 0.0
        now, each_s = self._now_s(), 60 / per_minute
        free_at = max(self._free_at.get(team, 0.0), now - 60 + each_s)
        wait_s = free_at - now
        if wait_s > 0:
            return wait_s
        self._free_at[team] = free_at + each_s
        return 0.0
