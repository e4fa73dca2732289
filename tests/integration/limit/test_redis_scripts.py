"""What the scripts do with keys that are not as they left them, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest_asyncio
from redis.asyncio import Redis

from perseid.limit.redis import RedisShelf
from perseid.limit.shelf import Left, Terms
from perseid.ports.limit import Block, Gate, GateKind
from perseid.testing.brokers import RedisServer

GATE = Gate(GateKind.TEAM, "1")
KEY = "p:limit:team:1"
BUCKETS = "p:limit:buckets"
MINUTE = 60_000_000


class Place(NamedTuple):
    shelf: RedisShelf
    client: Redis

    async def put(self, number: int, size: int, lasts_us: int = MINUTE) -> bool:
        block = Block(number, size, once=False)
        return await self.shelf.put(GATE, block, await self.shelf.now_us() + lasts_us)

    async def mark(self) -> bytes:
        return b"@" + (await self.client.info("server"))["run_id"].encode()


@pytest_asyncio.fixture(name="place")
async def place_fixture() -> AsyncIterator[Place]:
    server = RedisServer()
    await server.start()
    shelf = RedisShelf(server.url, prefix="p:", terms=Terms())
    async with Redis.from_url(server.url) as client:
        yield Place(shelf, client)
    await shelf.close()
    server.dispose()


async def test_slots_go_out_once_each(place: Place) -> None:
    assert await place.put(7, 40)
    slots = [await place.shelf.pop(GATE) for _ in range(41)]
    assert slots.pop() is None
    assert len({slot.id for slot in slots if slot is not None}) == 40
    assert {slot.block for slot in slots if slot is not None} == {7}


async def test_times_are_told_as_what_is_left(place: Place) -> None:
    await place.put(1, 1, 5_000_000)
    slot = await place.shelf.pop(GATE)
    assert slot is not None
    assert 4.5 < slot.left_s <= 5, "the block ends before the usual time of a slot"
    assert slot.left_s == slot.block_left_s
    await place.put(2, 1)
    slot = await place.shelf.pop(GATE)
    assert slot is not None
    assert 9.5 < slot.left_s <= 10
    assert 59.5 < slot.block_left_s <= 60


async def test_a_block_that_has_ended_is_not_put_there(place: Place) -> None:
    assert not await place.put(1, 1, -1)
    assert await place.shelf.pop(GATE) is None
    assert await place.shelf.tend(GATE, 1) is None


async def test_slots_of_a_block_about_to_end_go_to_nobody(place: Place) -> None:
    await place.put(1, 3, 500_000)
    await place.put(2, 1)
    slot = await place.shelf.pop(GATE)
    assert slot is not None
    assert slot.block == 2
    assert await place.shelf.pop(GATE) is None


async def test_idle_slots_are_taken_away_and_held_ones_stay(place: Place) -> None:
    await place.put(1, 5)
    held = await place.shelf.pop(GATE)
    assert held is not None
    assert await place.shelf.tend(GATE, 1) == Left(5, 4)
    assert await place.shelf.tend(GATE, 1, spare=3) == Left(2, 1)
    assert await place.shelf.tend(GATE, 1, spare=100) == Left(1, 0)
    await place.shelf.release(GATE, held)
    assert await place.shelf.tend(GATE, 1, spare=100) == Left(0, 0)
    assert await place.shelf.tend(GATE, 1) is None


async def test_a_block_is_told_from_one_whose_number_begins_alike(place: Place) -> None:
    await place.put(1, 2)
    await place.put(11, 3)
    assert await place.shelf.tend(GATE, 1, spare=100) == Left(0, 0)
    assert await place.shelf.tend(GATE, 11) == Left(3, 3)


async def test_what_another_life_left_is_nobodys(place: Place) -> None:
    await place.put(1, 3)
    mark = await place.mark()
    await place.client.zrem(KEY, mark)
    await place.client.zadd(KEY, {"@" + "0" * 40: -1})
    assert await place.shelf.pop(GATE) is None
    assert await place.shelf.tend(GATE, 1) is None


async def test_a_clock_that_was_set_back_empties_the_gate(place: Place) -> None:
    await place.put(1, 3)
    await place.client.zadd(KEY, {await place.mark(): -(await place.shelf.now_us() + MINUTE)})
    assert await place.shelf.pop(GATE) is None
    assert await place.put(2, 1)
    assert await place.shelf.pop(GATE) is not None


async def test_a_clock_that_was_set_back_shuts_no_bucket_for_long(place: Place) -> None:
    await place.shelf.take("k", 1_000, 5)
    await place.client.zadd(BUCKETS, {"k": await place.shelf.now_us() + 60 * MINUTE})
    assert await place.shelf.take("k", 1_000, 5) <= 5_000


async def test_full_buckets_leave_no_entry(place: Place) -> None:
    for number in range(50):
        while await place.shelf.take(f"k{number}", 1_000, 5):
            pass
    while await place.shelf.take("last", 1_000, 5):
        pass
    assert await place.client.zcard(BUCKETS) < 50


async def test_keys_end_when_nobody_asks_any_more(place: Place) -> None:
    await place.put(1, 3)
    assert 0 < await place.client.pttl(KEY) <= 3_600_000
    await place.client.delete(KEY)
    assert await place.shelf.pop(GATE) is None
    assert 0 < await place.client.pttl(KEY) <= 3_600_000
