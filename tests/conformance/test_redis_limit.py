"""Limits by Redis keep every promise of the contract, against a real server of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.asyncio import Redis

from perseid.limit.redis import RedisShelf
from perseid.limit.shelved import ShelvedLimits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks, Limits
from perseid.testing.brokers import RedisServer, through
from perseid.testing.conformance.limit.backend import SHORT
from perseid.testing.conformance.limit.suite import limit_suite
from perseid.testing.link import Link

pytestmark = pytest.mark.slow


class InRedis:
    """A server that nobody else uses, small enough to be filled."""

    def __init__(self) -> None:
        self.server = RedisServer("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru", keep=True)
        self.link = Link("127.0.0.1", self.server.port)

    async def begin(self) -> None:
        await self.server.start()
        await self.link.open()

    def make(self, blocks: Blocks, whose: Callable[[], WorkerId], clock: Clock) -> Limits:
        shelf = RedisShelf(through(self.server.url, self.link.port), prefix="test:", terms=SHORT)
        return ShelvedLimits("redis", shelf, blocks, whose=whose, clock=clock, terms=SHORT)

    async def dispose(self) -> None:
        await self.link.close()
        self.server.dispose()

    async def cut(self) -> None:
        await self.link.cut()

    def mute(self) -> None:
        self.link.mute()

    async def mend(self) -> None:
        await self.link.mend()

    async def wipe(self) -> None:
        async with Redis.from_url(self.server.url) as client:
            await client.flushall()

    async def forget_scripts(self) -> None:
        async with Redis.from_url(self.server.url) as client:
            await client.script_flush()

    async def crash(self) -> None:
        self.server.kill()
        await self.server.start()

    async def backup(self) -> object:
        async with Redis.from_url(self.server.url) as client:
            return {key: await client.dump(key) for key in await client.keys("test:*")}

    async def restore(self, backup: object) -> None:
        assert isinstance(backup, dict)
        await self.crash()
        async with Redis.from_url(self.server.url) as client:
            for key, dumped in backup.items():
                await client.restore(key, 0, dumped, replace=True)

    async def squeeze(self) -> None:
        async with Redis.from_url(self.server.url) as client:
            ours = await client.keys("test:*")
            for first in range(0, 20_000, 100):
                async with client.pipeline(transaction=False) as others:
                    for number in range(first, first + 100):
                        others.set(f"other:{number}", b"x" * 1_000)
                    await others.execute()
                if not await client.exists(*ours):
                    return
        raise AssertionError("it kept what is ours")


globals().update(limit_suite(InRedis, shared=True, losable=True))
