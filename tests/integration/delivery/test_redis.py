"""What only a Redis does to its clients: it forgets, evicts, trims, dies and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

from perseid.delivery.carried import Carried
from perseid.delivery.redis_streams import RedisWire
from perseid.errors import ConfigError
from perseid.testing.brokers import RedisServer
from perseid.testing.conformance.delivery.backend import SOON_S, Heard, becomes, take, take_all, waiting_becomes


@pytest.fixture
async def server() -> AsyncIterator[RedisServer]:
    server = RedisServer()
    await server.start()
    yield server
    server.dispose()


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url, decode_responses=True, protocol=2) as client:
        yield client


async def opened(server: RedisServer, **wire: float) -> Carried:
    delivery = Carried(RedisWire(server.url, **wire), Heard())
    await delivery.open()
    return delivery


async def fill(client: Redis) -> None:
    for number in range(2_000):
        await client.set(f"filler:{number}", b"x" * 4_000)


async def goes_on(publisher: Carried, taker: Carried) -> None:
    """Within seconds tickets come through again."""
    taking = asyncio.create_task(taker.take(3))
    async with asyncio.timeout(SOON_S):
        while not taking.done():
            await publisher.publish(1)
            await asyncio.wait([taking], timeout=0.1)
    await taker.acknowledge(taking.result())


async def test_names_are_those_that_operators_know(server: RedisServer, client: Redis) -> None:
    delivery = await opened(server)
    await delivery.publish(3)
    await take(delivery, 1)
    assert await client.keys() == ["queue:exec"]
    (group,) = await client.xinfo_groups("queue:exec")
    assert group["name"] == "worker_group"
    (consumer,) = await client.xinfo_consumers("queue:exec", "worker_group")
    host, pid, _instance = consumer["name"].rsplit(":", 2)
    assert host
    assert int(pid) > 0
    await delivery.close()


async def test_what_is_acknowledged_leaves_the_stream(server: RedisServer, client: Redis) -> None:
    delivery = await opened(server)
    await delivery.publish(30)
    assert await client.xlen("queue:exec") == 30
    await delivery.acknowledge(await take_all(delivery, 30))
    assert await client.xlen("queue:exec") == 0
    (group,) = await client.xinfo_groups("queue:exec")
    assert (group["pending"], group["lag"]) == (0, 0)
    await delivery.close()
    assert await client.xinfo_consumers("queue:exec", "worker_group") == []


async def test_the_stream_does_not_grow_for_ever(server: RedisServer, client: Redis) -> None:
    delivery = await opened(server)
    for _ in range(210):
        await delivery.publish(500)
    assert 100_000 <= await client.xlen("queue:exec") < 100_500
    await delivery.close()


async def test_tickets_of_the_dead_are_taken_over(server: RedisServer) -> None:
    dead, heir = await opened(server, dead_after_s=0.3), await opened(server, dead_after_s=0.3)
    await dead.publish(2)
    await take_all(dead, 2)
    assert await dead.waiting() == 0
    # It is not closed: it holds them, and says nothing.
    tickets = await take_all(heir, 2)
    assert all(ticket.again for ticket in tickets)
    await heir.acknowledge(tickets)
    await heir.close()
    await dead.close()


@pytest.mark.parametrize("command", ["FLUSHALL", "DEL queue:exec", "XGROUP DESTROY queue:exec worker_group"])
async def test_what_is_deleted_is_made_again(server: RedisServer, client: Redis, command: str) -> None:
    one, other = await opened(server), await opened(server)
    await goes_on(one, other)
    waiting = asyncio.create_task(other.take(1))
    await asyncio.sleep(0.1)
    await client.execute_command(*command.split())
    await one.publish(1)
    async with asyncio.timeout(SOON_S):
        await other.acknowledge(await waiting)
    assert other.health.up
    await goes_on(other, one)
    await one.close()
    await other.close()


async def test_a_trimmed_stream_costs_its_tickets_only(server: RedisServer, client: Redis) -> None:
    one, other = await opened(server), await opened(server)
    await one.publish(50)
    held = await take_all(other, 5)
    await client.xtrim("queue:exec", maxlen=10, approximate=False)
    await other.acknowledge(held)
    await other.acknowledge(await take_all(other, 10))
    await waiting_becomes(one, 0)
    await goes_on(one, other)
    await one.close()
    await other.close()


async def test_an_evicting_server_evicts_tickets_and_nothing_else() -> None:
    server = RedisServer("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru")
    await server.start()
    one, other = await opened(server), await opened(server)
    async with Redis.from_url(server.url) as client:
        await one.publish(100)
        await fill(client)
        assert (await client.info("stats"))["evicted_keys"] > 0
        await goes_on(one, other)
        await goes_on(other, one)
    assert one.health.up
    await one.close()
    await other.close()
    server.dispose()


async def test_a_full_server_that_evicts_nothing_is_away() -> None:
    server = RedisServer("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    await server.start()
    heard = Heard()
    delivery = Carried(RedisWire(server.url), heard)
    await delivery.open()
    async with Redis.from_url(server.url) as client:
        with pytest.raises(OutOfMemoryError):
            await fill(client)
        assert await delivery.publish(1) == 0
        for _ in range(20):
            await asyncio.sleep(0.1)
            await delivery.publish(1)
        assert heard.events == ["delivery.away"], "it comes and goes: told once"
        await client.flushall()
        await becomes(lambda: delivery.health.up)
    await goes_on(delivery, delivery)
    await delivery.close()
    server.dispose()


async def test_a_server_that_dies_and_comes_back(server: RedisServer) -> None:
    heard = Heard()
    delivery, other = Carried(RedisWire(server.url), heard), await opened(server)
    await delivery.open()
    taking = asyncio.create_task(delivery.take(2))
    for times in (1, 2):
        server.kill()
        await becomes(lambda: not delivery.health.up)
        assert await delivery.publish(1) == 0
        await server.start()
        await becomes(lambda: heard.events == ["delivery.away", "delivery.back"] * times)  # noqa: B023 - awaited here
        await becomes(lambda: other.health.up)
    await other.publish(1)
    async with asyncio.timeout(SOON_S):
        await taking
    await delivery.close()
    await other.close()


async def test_a_refused_password_is_an_error_of_the_settings() -> None:
    server = RedisServer("--requirepass", "secret")
    await server.start()
    with pytest.raises(ConfigError, match="password"):
        await opened(server)
    right = Carried(RedisWire(server.url.replace("://", "://:secret@")), Heard())
    await right.open()
    assert right.health.up
    assert "secret" not in right.health.detail
    await right.close()
    server.dispose()


@pytest.mark.parametrize("url", ["redis://", "http://localhost", "redis://localhost:port", "localhost:6379"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match=r"delivery\.url"):
        RedisWire(url)


async def test_a_prefix_keeps_two_installations_apart(server: RedisServer) -> None:
    one = Carried(RedisWire(server.url, prefix="a:"), Heard())
    other = Carried(RedisWire(server.url, prefix="b:"), Heard())
    await one.open()
    await other.open()
    await one.publish(2)
    await waiting_becomes(one, 2)
    assert await other.waiting() == 0
    await one.close()
    await other.close()
