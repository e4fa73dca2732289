"""Limits of one process keep every promise that one process can make."""

from __future__ import annotations

from collections.abc import Callable

from perseid.limit.local import local_limits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks, Limits
from perseid.testing.conformance.limit.backend import SHORT
from perseid.testing.conformance.limit.suite import limit_suite


class InOneProcess:
    async def begin(self) -> None:
        pass

    def make(self, blocks: Blocks, whose: Callable[[], WorkerId], clock: Clock) -> Limits:
        return local_limits(blocks, whose=whose, clock=clock, terms=SHORT)

    async def dispose(self) -> None:
        pass


globals().update(limit_suite(InOneProcess, shared=False, losable=False))
