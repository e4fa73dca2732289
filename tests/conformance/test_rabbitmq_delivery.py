"""The delivery by RabbitMQ keeps every promise of the contract, against the real server."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import uuid4

import aio_pika
import pytest

from perseid.delivery.carried import Carried
from perseid.delivery.rabbitmq import RabbitWire
from perseid.ports.delivery import Delivery
from perseid.ports.telemetry import Telemetry
from perseid.testing.brokers import own_vhost, through
from perseid.testing.conformance.delivery.suite import delivery_suite
from perseid.testing.link import Link

pytestmark = pytest.mark.slow


class InRabbit:
    """Names of its own in a vhost of this test run."""

    def __init__(self) -> None:
        self.url = own_vhost()
        parts = urlsplit(self.url)
        self.link = Link(parts.hostname or "127.0.0.1", parts.port or 5672)
        self.prefix = f"{uuid4().hex[:8]}."

    async def begin(self) -> None:
        await self.link.open()

    def make(self, telemetry: Telemetry) -> Delivery:
        return Carried(RabbitWire(through(self.url, self.link.port), prefix=self.prefix), telemetry)

    async def dispose(self) -> None:
        await self.wipe()
        await self.link.close()

    async def cut(self) -> None:
        await self.link.cut()

    async def blink(self) -> None:
        await self.link.blink()

    def mute(self) -> None:
        self.link.mute()

    async def mend(self) -> None:
        await self.link.mend()

    async def wipe(self) -> None:
        connection = await aio_pika.connect(self.url)
        async with connection:
            channel = await connection.channel()
            await channel.queue_delete(f"{self.prefix}perseid.exec")
            await channel.exchange_delete(f"{self.prefix}perseid.ended")


globals().update(delivery_suite(InRabbit, brokered=True))
