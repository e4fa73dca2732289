"""Holding a permit for as long as something takes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perseid.errors import Busy, StoreError
from perseid.ports.clock import Clock
from perseid.ports.limit import Gate, Limits

_RETRY_AFTER_S = 5.0


@asynccontextmanager
async def holding(limits: Limits, gate: Gate, *, clock: Clock, wait_s: float = 0.0) -> AsyncIterator[None]:
    """Within it one slot of the gate is ours: it is extended until the end, and what is held for is cut off where it
    can't be.

    Raises `Busy` without a slot within `wait_s`, `TimeoutError` when its time ran out.
    """
    permit = await limits.acquire(gate, wait_s=wait_s)
    if permit is None:
        message = f"all slots of {gate.kind.value} {gate.name} are taken; try again later"
        raise Busy(message, retry_after_s=_RETRY_AFTER_S)
    loop = asyncio.get_running_loop()

    def deadline() -> float:
        assert permit is not None
        return loop.time() + permit.until - clock.monotonic_s()

    async def extend() -> None:
        nonlocal permit
        assert permit is not None
        while True:
            await clock.sleep(max(0.05, (permit.until - clock.monotonic_s()) / 3))
            with contextlib.suppress(StoreError):  # its time runs out, unless the next attempt comes through
                permit = await limits.extend(permit)
            bound.reschedule(deadline())

    try:
        async with asyncio.timeout_at(deadline()) as bound:
            extending = asyncio.create_task(extend())
            try:
                yield
            finally:
                extending.cancel()
                await asyncio.wait([extending])
    finally:
        await asyncio.shield(limits.release(permit))
