"""Limits of one process: slots from blocks of the store, buckets in its own memory."""

from __future__ import annotations

from collections.abc import Callable

from perseid.limit.memory import MemoryShelf
from perseid.limit.shelf import USUAL, Terms
from perseid.limit.shelved import ShelvedLimits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks


def local_limits(blocks: Blocks, *, whose: Callable[[], WorkerId], clock: Clock, terms: Terms = USUAL) -> ShelvedLimits:
    """Buckets are this process's own: right where one process answers all callers."""
    shelf = MemoryShelf(lambda: int(clock.monotonic_s() * 1_000_000), terms)
    return ShelvedLimits("local", shelf, blocks, whose=whose, clock=clock, terms=terms)
