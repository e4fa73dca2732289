"""The delivery by Redis Streams keeps every promise of the contract, against a real server of its own."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from perseid.delivery.carried import Carried
from perseid.delivery.redis_streams import RedisWire
from perseid.ports.delivery import Delivery
from perseid.ports.telemetry import Telemetry
from perseid.testing.brokers import RedisServer, through
from perseid.testing.conformance.delivery.suite import delivery_suite
from perseid.testing.link import Link

pytestmark = pytest.mark.slow


class InRedis:
    """A server that nobody else uses, so that all of it can be flushed."""

    def __init__(self) -> None:
        self.server = RedisServer()
        self.link = Link("127.0.0.1", self.server.port)

    async def begin(self) -> None:
        await self.server.start()
        await self.link.open()

    def make(self, telemetry: Telemetry) -> Delivery:
        # Nobody dies here, so nothing is to be taken over.
        wire = RedisWire(through(self.server.url, self.link.port), prefix="test:", dead_after_s=600)
        return Carried(wire, telemetry)

    async def dispose(self) -> None:
        await self.link.close()
        self.server.dispose()

    async def cut(self) -> None:
        await self.link.cut()

    async def blink(self) -> None:
        await self.link.blink()

    def mute(self) -> None:
        self.link.mute()

    async def mend(self) -> None:
        await self.link.mend()

    async def wipe(self) -> None:
        async with Redis.from_url(self.server.url) as client:
            await client.flushall()


globals().update(delivery_suite(InRedis, brokered=True))
