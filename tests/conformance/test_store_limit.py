"""Limits asked of the store each time keep every promise of the contract."""

from __future__ import annotations

from collections.abc import Callable

from perseid.limit.store import StoreLimits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks, Limits
from perseid.testing.conformance.limit.backend import SHORT
from perseid.testing.conformance.limit.suite import limit_suite


class InStore:
    async def begin(self) -> None:
        pass

    def make(self, blocks: Blocks, whose: Callable[[], WorkerId], clock: Clock) -> Limits:
        return StoreLimits(blocks, whose=whose, clock=clock, terms=SHORT)

    async def dispose(self) -> None:
        pass


globals().update(limit_suite(InStore, shared=True, losable=False))
