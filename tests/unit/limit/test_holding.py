"""Holding a permit for as long as something takes."""

import asyncio

import pytest

from perseid.errors import Busy, StoreUnavailable
from perseid.limit.holding import holding
from perseid.ports.limit import Gate, GateKind, Permit
from perseid.testing.clock import FakeClock

GATE = Gate(GateKind.TEAM, "1")


class OneSlot:
    """Gives one permit for ten seconds, and more time while it `extends`."""

    kind = "test"

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.free = True
        self.extends = True
        self.away = False
        self.extended = 0

    async def take(self, key: str, *, interval_s: float, burst: int) -> float:
        raise NotImplementedError

    async def acquire(self, gate: Gate, *, wait_s: float = 0.0) -> Permit | None:
        if not self.free:
            return None
        self.free = False
        return Permit(gate, "1", self.clock.monotonic_s() + 10)

    async def extend(self, permit: Permit) -> Permit:
        if self.away:
            raise StoreUnavailable("away")
        self.extended += 1
        return permit._replace(until=self.clock.monotonic_s() + 10) if self.extends else permit

    async def release(self, permit: Permit) -> None:
        self.free = True

    async def close(self) -> None: ...


async def test_a_slot_is_free_again_afterwards() -> None:
    limits = OneSlot(clock := FakeClock())
    async with holding(limits, GATE, clock=clock):
        assert not limits.free
        with pytest.raises(Busy, match="all slots of team 1 are taken"):
            async with holding(limits, GATE, clock=clock):
                pass
    assert limits.free


async def test_a_slot_is_free_again_after_a_fault() -> None:
    limits = OneSlot(clock := FakeClock())
    with pytest.raises(ZeroDivisionError):
        async with holding(limits, GATE, clock=clock):
            _ = 1 / 0
    assert limits.free


async def test_a_permit_is_extended_while_it_is_held() -> None:
    limits = OneSlot(clock := FakeClock())
    async with holding(limits, GATE, clock=clock):
        await clock.wait_for_sleepers()
        await clock.advance(60)
    assert limits.extended >= 15


async def test_what_can_not_be_extended_is_cut_off_in_time() -> None:
    limits = OneSlot(clock := FakeClock())
    limits.extends = False

    async def held() -> None:
        async with holding(limits, GATE, clock=clock):
            await clock.wait_for_sleepers()
            await clock.advance(11)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await held()
    assert limits.free


async def test_a_store_that_is_away_for_a_moment_cuts_nobody_off() -> None:
    limits = OneSlot(clock := FakeClock())
    limits.away = True
    async with holding(limits, GATE, clock=clock):
        await clock.wait_for_sleepers()
        await clock.advance(5)
        limits.away = False
        await clock.advance(30)
    assert limits.extended >= 5
