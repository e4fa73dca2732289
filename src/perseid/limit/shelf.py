"""Where slots of blocks lie until somebody takes one: what the ways of handing them out have in common."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from perseid.ports.limit import Block, Gate


class ShelfAway(Exception):
    """It can't be reached; what was asked may have been done or not."""


class Slot(NamedTuple):
    """A slot in somebody's hand. Times are left ones, counted by the shelf when it answered."""

    id: str
    ends: str
    """Until when the shelf counts it as held: who names another time holds it no more."""
    left_s: float
    block_left_s: float

    @property
    def block(self) -> int:
        return int(self.id.partition(":")[0])


class Left(NamedTuple):
    """Slots that a block still has on the shelf or in hands, and the free ones among them."""

    slots: int
    free: int


class Terms(NamedTuple):
    """For how long things are given; all µs."""

    lease_us: int = 20_000_000
    """Of a block, by the store."""
    margin_us: int = 2_000_000
    """So much earlier its slots end on the shelf: clocks don't run quite alike, and holders take a moment to end."""
    hold_us: int = 10_000_000
    """Of a slot, until its holder must say that it goes on."""
    least_us: int = 1_000_000
    """No slot is given out for less."""
    grace_us: int = 1_000_000
    """A slot whose holder said nothing more is given to the next one so much later."""


USUAL = Terms()


class Shelf(Protocol):
    """Raises `ShelfAway`."""

    async def now_us(self) -> int:
        """By the shelf's own clock, from which `ends_us` is counted."""
        ...

    async def pop(self, gate: Gate) -> Slot | None: ...

    async def extend(self, gate: Gate, slot: Slot) -> Slot | None:
        """None where it is held no more."""
        ...

    async def release(self, gate: Gate, slot: Slot) -> None: ...

    async def put(self, gate: Gate, block: Block, ends_us: int) -> bool:
        """False if it has ended before it was there."""
        ...

    async def tend(self, gate: Gate, block: int, *, ends_us: int = 0, spare: int = 0) -> Left | None:
        """Let it last until then, and take up to `spare` free slots away for good. None where it isn't known."""
        ...

    async def take(self, key: str, step_us: int, burst: int) -> int:
        """0 if a token was taken, else the µs until there is one."""
        ...

    async def close(self) -> None: ...
