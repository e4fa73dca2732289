"""What only a RabbitMQ does to its clients: queues are purged, connections closed by the operator, users refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import aio_pika
import pytest

from perseid.delivery.carried import Carried
from perseid.delivery.rabbitmq import RabbitWire
from perseid.errors import ConfigError
from perseid.testing.brokers import own_vhost
from perseid.testing.conformance.delivery.backend import SOON_S, Heard, becomes, take, take_all, waiting_becomes

may_control = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("rabbitmqctl") is None, reason="needs rabbitmqctl and root"
)


def control(*words: str) -> str:
    done = subprocess.run(["rabbitmqctl", "--quiet", *words], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def vhost() -> str:
    return urlsplit(own_vhost()).path.removeprefix("/") or "/"


async def opened(prefix: str, heard: Heard | None = None) -> Carried:
    delivery = Carried(RabbitWire(own_vhost(), prefix=prefix), heard or Heard())
    await delivery.open()
    return delivery


@pytest.fixture
def prefix() -> str:
    return f"{uuid4().hex[:8]}."


@may_control
async def test_tickets_lie_in_a_quorum_queue_of_the_urls_vhost(prefix: str) -> None:
    delivery = await opened(prefix)
    await delivery.publish(2)
    rows = await asyncio.to_thread(control, "list_queues", "-p", vhost(), "name", "type", "durable")
    assert [f"{prefix}perseid.exec", "quorum", "true"] in [line.split("\t") for line in rows.splitlines()]
    await delivery.close()


async def test_a_purged_queue_costs_its_tickets_only(prefix: str) -> None:
    one, other = await opened(prefix), await opened(prefix)
    await one.publish(9)
    held = await take_all(other, 2)
    async with await aio_pika.connect(own_vhost()) as connection:
        channel = await connection.channel()
        await (await channel.get_queue(f"{prefix}perseid.exec", ensure=False)).purge()
    await waiting_becomes(one, 0)
    await other.acknowledge(held)
    await one.publish(1)
    await other.acknowledge(await take(other, 5))
    await one.close()
    await other.close()


@may_control
async def test_connections_that_the_operator_closes_are_made_anew(prefix: str) -> None:
    heard = Heard()
    delivery = await opened(prefix, heard)
    taking = asyncio.create_task(delivery.take(3))
    await asyncio.sleep(0.1)
    await asyncio.to_thread(control, "close_all_connections", "--vhost", vhost(), "maintenance")
    await becomes(lambda: heard.events == ["delivery.away", "delivery.back"])
    assert await delivery.publish(1) == 1
    async with asyncio.timeout(SOON_S):
        assert len(await taking) == 1
    await delivery.close()


async def test_what_a_process_held_that_was_killed_others_take(prefix: str) -> None:
    killed, heir = await opened(prefix), await opened(prefix)
    await killed.publish(3)
    await take_all(killed, 3)
    # Its socket ends without a word.
    connection = killed._wire._connection
    connection.transport.connection._writer_task.cancel()
    tickets = await take_all(heir, 3)
    assert all(ticket.again for ticket in tickets)
    await heir.acknowledge(tickets)
    await killed.close()
    await heir.close()


async def test_a_busy_process_is_handed_no_more_than_it_asked_for(prefix: str) -> None:
    asker, other = await opened(prefix), await opened(prefix)
    taking = asyncio.create_task(asker.take(4))
    await asyncio.sleep(0.1)
    await other.publish(40)
    await taking
    # Unacknowledged at the asker: at most its window.
    assert await other.waiting() >= 40 - 4
    await asker.close()
    await other.close()


async def test_a_refused_user_is_an_error_of_the_settings() -> None:
    parts = urlsplit(own_vhost())
    place = parts.netloc.rpartition("@")[2]
    wire = RabbitWire(urlunsplit(parts._replace(netloc=f"nobody:secret@{place}")))
    with pytest.raises(ConfigError, match="password"):
        await Carried(wire, Heard()).open()


async def test_a_vhost_that_does_not_exist_yet_is_named() -> None:
    heard = Heard()
    delivery = Carried(RabbitWire(urlunsplit(urlsplit(own_vhost())._replace(path="/no-such-vhost"))), heard)
    await delivery.open()
    assert not delivery.health.up
    assert "no-such-vhost" in delivery.health.detail
    assert heard.events == ["delivery.away"]
    await delivery.close()


@pytest.mark.parametrize("url", ["amqp://", "http://localhost", "amqp://localhost:port", "rabbit"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match=r"delivery\.url"):
        RabbitWire(url)
