"""Limits for callers that must not ask the database each time: permits of a gate, and token buckets.

The rows of the store are the only authority (`Blocks`). Whoever hands out permits leases blocks of slots there, which
count in the row like any lease, and gives them on; so whatever is lost on the way only ends the block.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from perseid.model.ids import WorkerId


class GateKind(StrEnum):
    TEAM = "team"
    HOST = "host"


class Gate(NamedTuple):
    """Something that only so many may use at once."""

    kind: GateKind
    name: str
    """A team's number, or a host's name."""


class Block(NamedTuple):
    """So many slots of a gate, leased for a time."""

    id: int
    """Never given to another one."""
    size: int
    once: bool
    """It is one request: its gate has a rate, and that was taken from it already. Not to be kept for later."""


class Blocks(Protocol):
    """The authority. Raises `StoreUnavailable` where a retry helps."""

    async def lease_block(self, worker: WorkerId, gate: Gate, want: int, *, lease_us: int) -> Block | None:
        """Up to `want` slots, at most half of those that are free (rounded up), of a host with a rate one.

        They count as active until they are given back, or `lease_us` (store's clock) after the last word of them,
        whoever dies. None where no slot is free, at a host where others wait, and for a worker that was declared dead.
        """
        ...

    async def keep_block(self, block: int, size: int, *, lease_us: int) -> bool:
        """Hold on to `size` of its slots for another `lease_us`, the rest is free again; 0 gives all of it back.

        False if it had ended before: then none of its slots may be used.
        """
        ...

    async def take_token(self, key: str, interval_us: int, burst: int, *, empty_for_us: int | None = None) -> int:
        """0 if a token was taken, else the µs until there is one.

        A bucket gains a token each `interval_us` up to `burst`, and begins full. With `empty_for_us` it counts as
        empty so long ago: for who knows nothing of what was taken elsewhere until then.
        """
        ...


class Permit(NamedTuple):
    gate: Gate
    id: str
    until: float
    """Of the process's monotonic clock, seconds: its holder must have ended by then."""


class Limits(Protocol):
    """What one process asks. Any number of processes may stand behind one gate."""

    kind: str

    async def take(self, key: str, *, interval_s: float, burst: int) -> float:
        """0 if it may go on now, else the seconds until it may.

        A bucket gains a token each `interval_s` up to `burst`.
        """
        ...

    async def acquire(self, gate: Gate, *, wait_s: float = 0.0) -> Permit | None:
        """None if no slot came free within `wait_s`."""
        ...

    async def extend(self, permit: Permit) -> Permit:
        """With more time where that can be had; else as it was, and its time goes on running out."""
        ...

    async def release(self, permit: Permit) -> None:
        """Free its slot; one whose time is up, or that was released before, is nobody's any more."""
        ...

    async def close(self) -> None:
        """Give back what nobody uses."""
        ...
