"""Limits asked of the store each time: exact everywhere, one transaction each."""

from __future__ import annotations

from collections.abc import Callable

from perseid.limit.shelf import USUAL, Terms
from perseid.limit.waiting import Waiting
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Block, Blocks, Gate, Permit

PREFIX = "store:"


class StoreLimits(Waiting):
    """A permit is a block of one slot."""

    kind = "store"

    def __init__(self, blocks: Blocks, *, whose: Callable[[], WorkerId], clock: Clock, terms: Terms = USUAL) -> None:
        """`whose` is the worker that the slots are leased for. Raises what `Blocks` raises."""
        super().__init__(clock)
        self._blocks = blocks
        self._whose = whose
        self._terms = terms

    async def take(self, key: str, *, interval_s: float, burst: int, empty_for_s: float | None = None) -> float:
        """See `Blocks.take_token` for `empty_for_s`."""
        empty = None if empty_for_s is None else int(empty_for_s * 1_000_000)
        wait_us = await self._blocks.take_token(key, int(interval_s * 1_000_000), burst, empty_for_us=empty)
        return wait_us / 1_000_000

    async def try_once(self, gate: Gate) -> Permit | None:
        began = self._clock.monotonic_s()
        block = await self._blocks.lease_block(self._whose(), gate, 1, lease_us=self._terms.lease_us)
        return None if block is None else self.permit(gate, block, began)

    def permit(self, gate: Gate, block: Block, began: float) -> Permit:
        """For the one slot of a block that was asked for at `began`."""
        return Permit(gate, f"{PREFIX}{block.id}", self._ends(began))

    async def extend(self, permit: Permit) -> Permit:
        until = self._ends(self._clock.monotonic_s())
        kept = await self._blocks.keep_block(_block_of(permit), 1, lease_us=self._terms.lease_us)
        return permit._replace(until=until) if kept else permit

    async def release(self, permit: Permit) -> None:
        await self._blocks.keep_block(_block_of(permit), 0, lease_us=self._terms.lease_us)

    async def close(self) -> None:
        """Each holder gives back its own."""
        await self.settle()

    def _ends(self, began: float) -> float:
        return began + (self._terms.lease_us - self._terms.margin_us) / 1_000_000


def _block_of(permit: Permit) -> int:
    return int(permit.id.removeprefix(PREFIX))
