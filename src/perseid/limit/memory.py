"""A shelf in this process's memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from perseid.limit.shelf import USUAL, Left, Slot, Terms
from perseid.ports.limit import Block, Gate

_MANY = 10_000


@dataclass
class _Stock:
    """The slots of one gate: 0 is free, else held until then; and when its blocks end."""

    slots: dict[str, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)


class MemoryShelf:
    def __init__(self, now_us: Callable[[], int], terms: Terms = USUAL) -> None:
        """`now_us` never goes back."""
        self._now_us = now_us
        self._terms = terms
        self._stocks: dict[Gate, _Stock] = {}
        self._full_at: dict[str, int] = {}

    async def now_us(self) -> int:
        return self._now_us()

    async def pop(self, gate: Gate) -> Slot | None:
        stock, now = self._stock(gate), self._now_us()
        for name, held in list(stock.slots.items()):
            if held:
                continue
            ends = stock.ends.get(_block_of(name), 0)
            if ends - now >= self._terms.least_us:
                until = stock.slots[name] = min(now + self._terms.hold_us, ends)
                return _slot(name, until, now, ends)
            del stock.slots[name]
        return None

    async def extend(self, gate: Gate, slot: Slot) -> Slot | None:
        stock, now = self._stock(gate), self._now_us()
        held = stock.slots.get(slot.id, 0)
        if held != int(slot.ends) or held <= now:
            return None
        ends = stock.ends.get(slot.block, 0)
        until = stock.slots[slot.id] = max(held, min(now + self._terms.hold_us, ends))
        return _slot(slot.id, until, now, ends)

    async def release(self, gate: Gate, slot: Slot) -> None:
        stock = self._stock(gate)
        if stock.slots.get(slot.id) == int(slot.ends):
            stock.slots[slot.id] = 0

    async def put(self, gate: Gate, block: Block, ends_us: int) -> bool:
        if self._now_us() >= ends_us:
            return False
        stock = self._stock(gate)
        stock.ends[block.id] = ends_us
        stock.slots.update((f"{block.id}:{n}", 0) for n in range(block.size))
        return True

    async def tend(self, gate: Gate, block: int, *, ends_us: int = 0, spare: int = 0) -> Left | None:
        stock = self._stock(gate)
        if block not in stock.ends:
            return None
        stock.ends[block] = max(stock.ends[block], ends_us)
        mine = [name for name in stock.slots if _block_of(name) == block]
        free = [name for name in mine if not stock.slots[name]]
        for name in free[:spare]:
            del stock.slots[name]
        left = Left(len(mine) - len(free[:spare]), len(free[spare:]))
        if not left.slots:
            del stock.ends[block]
            if not stock.slots:
                del self._stocks[gate]
        return left

    async def take(self, key: str, step_us: int, burst: int) -> int:
        now = self._now_us()
        if len(self._full_at) >= _MANY:
            self._full_at = {known: full for known, full in self._full_at.items() if full > now}
        full = max(now, self._full_at.get(key, 0))
        wait = full - (burst - 1) * step_us - now
        if wait > 0:
            return wait
        self._full_at[key] = full + step_us
        return 0

    async def close(self) -> None:
        pass

    def _stock(self, gate: Gate) -> _Stock:
        """With the slots of those who said nothing for too long back on it."""
        stock = self._stocks.setdefault(gate, _Stock())
        late = self._now_us() - self._terms.grace_us
        for name, held in list(stock.slots.items()):
            if 0 < held <= late:
                stock.slots[name] = 0
        return stock


def _slot(name: str, until: int, now: int, ends: int) -> Slot:
    return Slot(name, str(until), (until - now) / 1_000_000, (ends - now) / 1_000_000)


def _block_of(name: str) -> int:
    return int(name.partition(":")[0])
