"""The rate of each site: a token a request, from a bucket that all processes share."""

from __future__ import annotations

from math import inf

from perseid.ports.clock import Clock
from perseid.ports.limit import Limits
from perseid.seeds.site import Site

PATIENCE_S = 1.0
"""A token that is nearer than this is waited for; else the task goes back to waiting, and its slot to others."""


class Pace:
    """One for a process."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._next_at: dict[int, float] = {}
        """When the task that was put off last is to come back: the next one an interval later, so that no crowd of
        them comes for one token.
        """

    async def token(self, site: Site) -> float:
        """0 if a request may go out, else for how many seconds to put it off. Raises `StoreUnavailable`."""
        rate = site.limits.rate
        if rate is None:
            return 0.0
        interval_s = 1 / rate.per_s
        until = self._clock.monotonic_s() + PATIENCE_S
        while True:
            wait_s = await self._limits.take(f"site:{site.id}", interval_s=interval_s, burst=rate.burst)
            if wait_s <= 0:
                return 0.0
            now = self._clock.monotonic_s()
            if now + wait_s > until:
                break
            await self._clock.sleep(wait_s)
        after = max(self._next_at.get(site.id, -inf), now + wait_s - interval_s)
        self._next_at[site.id] = after + interval_s
        return after + interval_s - now
