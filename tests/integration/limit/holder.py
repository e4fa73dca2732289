"""A process that takes permits of one team, holds each a moment, and writes down when. Arguments: database, Redis,
worker, team, file."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from pathlib import Path

from perseid.errors import Busy, StoreError
from perseid.limit.holding import holding
from perseid.limit.redis import RedisShelf
from perseid.limit.shelf import Terms
from perseid.limit.shelved import ShelvedLimits
from perseid.model.ids import WorkerId
from perseid.ports.limit import Gate, GateKind
from perseid.runtime.clock import SystemClock
from perseid.store.postgres.store import PgStore

TERMS = Terms(lease_us=3_000_000, margin_us=500_000, hold_us=1_500_000, least_us=200_000, grace_us=200_000)
_AT_ONCE = 6


async def main(database: str, redis: str, worker: int, team: str, file: Path) -> None:
    store = await PgStore.open(database, connections=2)
    clock = SystemClock()
    shelf = RedisShelf(redis, terms=TERMS)
    limits = ShelvedLimits("Redis", shelf, store, whose=lambda: WorkerId(worker), clock=clock, want=4, terms=TERMS)
    with file.open("w", buffering=1) as log:

        async def hold(number: int) -> None:
            turn = 0
            while True:
                turn += 1
                with contextlib.suppress(Busy, TimeoutError, StoreError):
                    async with holding(limits, Gate(GateKind.TEAM, team), clock=clock, wait_s=0.5):
                        log.write(f"{number}.{turn} + {time.monotonic()}\n")
                        try:
                            await asyncio.sleep(random.choice([0.01, 0.05, 0.3, 2.5]))
                        finally:
                            log.write(f"{number}.{turn} - {time.monotonic()}\n")

        async def tend() -> None:
            while True:
                await asyncio.sleep(0.3)
                await limits.tend()
                with contextlib.suppress(StoreError):
                    await store.reap([])

        await asyncio.gather(tend(), *(hold(number) for number in range(_AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5])))
