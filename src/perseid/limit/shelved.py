"""Blocks leased from the store and handed out from a shelf: no caller asks the database while the shelf has slots.

Why no limit is ever exceeded: a slot lies on the shelf once, or is in one hand, or is lost. It ends on the shelf before
the store counts its block as ended, and in its holder's hand before it ends on the shelf; each of these spans is
counted from a moment before the question that began it, by the clock of the one who counts. So whatever is lost, late
or said twice, the store gives a slot to somebody else only when nobody uses it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from perseid.errors import StoreError
from perseid.limit.shelf import USUAL, Shelf, ShelfAway, Slot, Terms
from perseid.limit.store import PREFIX, StoreLimits
from perseid.limit.waiting import FIRST_PAUSE_S, LONGEST_PAUSE_S, Waiting, jittered
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Block, Blocks, Gate, Permit

_log = logging.getLogger("perseid.limit")

TEND_EVERY_S = 1.0
_AWAY_S = 1.0
"""How long the shelf is left alone once it could not be reached."""
_FRESH_S = 3.0
"""How long others may still go by the store once we reached the shelf again: longer than they leave it alone and then
wait for its answer."""
_ALL = 1 << 30


@dataclass
class _Door:
    """What this process knows of a gate: when the store is to be asked again, after it had none."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    shut_until: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    once: bool = False
    """Each slot is one request of a rate: such lie on no shelf, where they would gather into a burst."""


@dataclass
class _Own:
    """A block that this process leased: its slots, and those that lay idle when it last looked."""

    gate: Gate
    size: int
    renew_at: float
    idle: int = 0


class ShelvedLimits(Waiting):
    """Tend it every second or so: blocks are kept while they are used, and what lies idle is given back."""

    def __init__(
        self,
        kind: str,
        shelf: Shelf,
        blocks: Blocks,
        *,
        whose: Callable[[], WorkerId],
        clock: Clock,
        want: int = 16,
        terms: Terms = USUAL,
    ) -> None:
        """`want` slots are leased at a time, where there are so many; `whose` is the worker they are leased for."""
        super().__init__(clock)
        self.kind = kind
        self._shelf = shelf
        self._blocks = blocks
        self._whose = whose
        self._want = want
        self._terms = terms
        self._direct = StoreLimits(blocks, whose=whose, clock=clock, terms=terms)
        self._doors: dict[Gate, _Door] = {}
        self._own: dict[int, _Own] = {}
        self._lost_at: float | None = None
        self._went_at = 0.0
        """When the shelf was lost for the last time, which it may still be."""
        self._fresh_until = 0.0
        self._asked_at = 0.0

    async def take(self, key: str, *, interval_s: float, burst: int) -> float:
        """By the shelf; while that is away by the store, from an empty bucket on. Raises `StoreUnavailable`.

        By both for a while after the shelf came back, so that those who don't know yet share the store's bucket.
        """
        if not self._is_away():
            try:
                wait_us = await self._shelf.take(key, int(interval_s * 1_000_000), burst)
            except ShelfAway as error:
                self._lost(error)
            else:
                self._there()
                if wait_us or self._clock.monotonic_s() >= self._fresh_until:
                    return wait_us / 1_000_000
        lost_for = self._clock.monotonic_s() - self._went_at
        return await self._direct.take(key, interval_s=interval_s, burst=burst, empty_for_s=lost_for)

    async def try_once(self, gate: Gate) -> Permit | None:
        if not self._is_away():
            try:
                door = self._doors.setdefault(gate, _Door())
                if not door.once:
                    return await self._pop(gate) or await self._fetch(gate, door)
            except ShelfAway as error:
                self._lost(error)
        return await self._direct.try_once(gate)

    async def extend(self, permit: Permit) -> Permit:
        if permit.id.startswith(PREFIX):
            return await self._direct.extend(permit)
        began = self._clock.monotonic_s()
        with contextlib.suppress(ShelfAway):
            slot = await self._shelf.extend(permit.gate, _slot_of(permit))
            if slot is None:
                return permit
            permit = _permit(permit.gate, slot, began)
            if slot.block_left_s * 1_000_000 < self._terms.lease_us / 2:
                # Whoever leased it may be gone. Where that fails there is another time.
                with contextlib.suppress(StoreError):
                    await self._renew(permit.gate, slot.block, _ALL)
        return permit

    async def release(self, permit: Permit) -> None:
        if permit.id.startswith(PREFIX):
            await self._direct.release(permit)
            return
        with contextlib.suppress(ShelfAway):  # then it is free when its time is up
            await self._shelf.release(permit.gate, _slot_of(permit))

    async def tend(self) -> None:
        """Look after all blocks leased here. Trouble is for the next time, or ends them."""
        for number, own in list(self._own.items()):
            with contextlib.suppress(ShelfAway):
                try:
                    await self._tend_one(number, own, own.idle)
                except StoreError as error:
                    _log.warning("a block of %s %s could not be kept: %s", *own.gate, error)
        now = self._clock.monotonic_s()
        self._doors = {
            gate: door for gate, door in self._doors.items() if door.lock.locked() or door.shut_until > now - 60
        }

    async def close(self) -> None:
        """Slots that others hold stay theirs: they keep the block."""
        await self.settle()
        for number, own in list(self._own.items()):
            with contextlib.suppress(ShelfAway, StoreError):
                await self._tend_one(number, own, _ALL, renews=False)
        self._own.clear()
        await self._shelf.close()

    # Blocks

    async def _pop(self, gate: Gate) -> Permit | None:
        began = self._clock.monotonic_s()
        slot = await self._shelf.pop(gate)
        self._there()
        return None if slot is None else _permit(gate, slot, began)

    async def _fetch(self, gate: Gate, door: _Door) -> Permit | None:
        """Lease a block: one caller at a time, and not too soon after there was none."""
        async with door.lock:
            if (permit := await self._pop(gate)) is not None:
                return permit
            now = self._clock.monotonic_s()
            if now < door.shut_until:
                return None
            now_us = await self._shelf.now_us()
            block = await self._blocks.lease_block(self._whose(), gate, self._want, lease_us=self._terms.lease_us)
            if block is None:
                door.shut_until = now + jittered(door.pause_s)
                door.pause_s = min(2 * door.pause_s, LONGEST_PAUSE_S)
                return None
            door.pause_s, door.once = FIRST_PAUSE_S, block.once
            if block.once:
                return self._direct.permit(gate, block, now)
            return await self._pop(gate) if await self._put(gate, block, now_us, now) else None

    async def _put(self, gate: Gate, block: Block, now_us: int, now: float) -> bool:
        """Where the answer is lost it may lie there: it is left to end by itself."""
        if not await self._shelf.put(gate, block, self._ends_us(now_us)):
            await self._blocks.keep_block(block.id, 0, lease_us=self._terms.lease_us)
            return False
        self._own[block.id] = _Own(gate, block.size, now + self._renewed_after_s)
        return True

    async def _tend_one(self, number: int, own: _Own, spare: int, *, renews: bool = True) -> None:
        left = await self._shelf.tend(own.gate, number, spare=spare)
        if left is None:
            # Lost with all that was known of its slots: some may be in use until it ends.
            self._own.pop(number, None)
            return
        if left.slots < own.size:
            await self._blocks.keep_block(number, left.slots, lease_us=self._terms.lease_us)
            own.size = left.slots
        own.idle = left.free
        if not left.slots:
            self._own.pop(number, None)
        elif renews and (now := self._clock.monotonic_s()) >= own.renew_at:
            if await self._renew(own.gate, number, own.size):
                own.renew_at = now + self._renewed_after_s
            else:
                self._own.pop(number, None)

    async def _renew(self, gate: Gate, number: int, size: int) -> bool:
        now_us = await self._shelf.now_us()
        kept = await self._blocks.keep_block(number, size, lease_us=self._terms.lease_us)
        return kept and await self._shelf.tend(gate, number, ends_us=self._ends_us(now_us)) is not None

    def _ends_us(self, now_us: int) -> int:
        return now_us + self._terms.lease_us - self._terms.margin_us

    @property
    def _renewed_after_s(self) -> float:
        return self._terms.lease_us / 3_000_000

    # The shelf comes and goes

    def _is_away(self) -> bool:
        return self._lost_at is not None and self._clock.monotonic_s() < self._asked_at + _AWAY_S

    def _lost(self, error: ShelfAway) -> None:
        self._asked_at = self._clock.monotonic_s()
        if self._lost_at is None:
            self._lost_at = self._went_at = self._asked_at
            _log.warning("limits go by the store until %s is back: %s", self.kind, error)

    def _there(self) -> None:
        if self._lost_at is not None:
            self._lost_at = None
            self._fresh_until = self._clock.monotonic_s() + _FRESH_S
            _log.warning("limits go by %s again", self.kind)


def _permit(gate: Gate, slot: Slot, began: float) -> Permit:
    return Permit(gate, f"{slot.id}|{slot.ends}", began + slot.left_s)


def _slot_of(permit: Permit) -> Slot:
    name, _, ends = permit.id.partition("|")
    return Slot(name, ends, 0.0, 0.0)
