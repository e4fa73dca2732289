"""Limits from the store, and from blocks of it in Redis, keep every promise with PostgreSQL behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest_asyncio

from perseid.limit.redis import RedisShelf
from perseid.limit.shelved import ShelvedLimits
from perseid.limit.store import StoreLimits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks, Limits
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Truth
from perseid.store.postgres.store import PgStore
from perseid.testing.brokers import RedisServer
from perseid.testing.conformance.limit import buckets, permits, sharing
from perseid.testing.conformance.limit.backend import SHORT, Bench
from perseid.testing.postgres import give_back, take_database, url_of


class OnPostgres:
    """One database on the real server, and a Redis of its own where blocks lie in one."""

    def __init__(self, *, in_redis: bool) -> None:
        self.redis = RedisServer() if in_redis else None
        self.name = ""

    async def begin(self) -> None:
        self.name = await take_database()
        if self.redis is not None:
            await self.redis.start()

    async def store(self, _folder: Path, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
        return await PgStore.open(url_of(self.name), defaults=defaults, clock=clock, connections=2)

    def make(self, blocks: Blocks, whose: Callable[[], WorkerId], clock: Clock) -> Limits:
        if self.redis is None:
            return StoreLimits(blocks, whose=whose, clock=clock, terms=SHORT)
        shelf = RedisShelf(self.redis.url, terms=SHORT)
        return ShelvedLimits("redis", shelf, blocks, whose=whose, clock=clock, terms=SHORT)

    async def dispose(self) -> None:
        if self.redis is not None:
            self.redis.dispose()
        await give_back(self.name)


@pytest_asyncio.fixture(name="bench", params=["store", "redis"])
async def bench_fixture(request: object) -> AsyncIterator[Bench]:
    backend = OnPostgres(in_redis=getattr(request, "param", "") == "redis")
    bench = await Bench(backend, backend.store).begin()
    try:
        yield bench
    finally:
        await bench.close()


for room in (permits, buckets, sharing):
    globals().update({name: test for name, test in vars(room).items() if name.startswith("test_")})
