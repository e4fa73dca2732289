"""A broker that is away, comes back, falls silent, or has forgotten everything: told once, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from perseid.ports.delivery import Delivery, Ticket
from perseid.testing.conformance.delivery.backend import (
    SOON_S,
    Bench,
    Brokered,
    becomes,
    crawl,
    is_told,
    take,
    take_all,
    waiting_becomes,
)

_CALL_S = 5.0
"""No call takes longer, whatever the broker does."""


@pytest.fixture(name="broker")
def broker_fixture(bench: Bench) -> Brokered:
    return cast("Brokered", bench.backend)


async def keeps_coming(taking: asyncio.Task[Sequence[Ticket]], publisher: Delivery) -> None:
    """The first tickets may be lost with what was deleted; some come through, soon."""
    async with asyncio.timeout(2 * SOON_S):
        while not taking.done():
            await publisher.publish(1)
            await asyncio.wait([taking], timeout=0.2)
    assert len(taking.result()) >= 1


async def is_back(bench: Bench, delivery: Delivery, times: int) -> None:
    """It was away, for however short, and is there again: so many times by now."""
    await becomes(lambda: bench.heard.events.count("delivery.back") == times)
    assert bench.heard.events == ["delivery.away", "delivery.back"] * times
    assert delivery.health.up


async def test_a_broker_that_is_away_from_the_start_is_no_error(bench: Bench, broker: Brokered) -> None:
    await broker.cut()
    delivery = await bench.process()
    assert not delivery.health.up
    assert not delivery.carries
    assert await delivery.publish(3) == 0
    assert await delivery.waiting() == 0
    async with delivery.listen(crawl(1)):
        await delivery.tell([crawl(1)])
    assert bench.heard.events == ["delivery.away"]
    await broker.mend()
    await is_back(bench, delivery, 1)
    assert await delivery.publish(1) == 1


async def test_who_waits_for_tickets_goes_on_when_the_broker_is_back(bench: Bench, broker: Brokered) -> None:
    waiter, other = await bench.process(), await bench.process()
    taking = asyncio.create_task(waiter.take(3))
    await asyncio.sleep(0.05)
    await broker.cut()
    await becomes(lambda: not waiter.health.up and not other.health.up)
    assert not taking.done()
    await broker.mend()
    await becomes(lambda: other.health.up)
    await other.publish(1)
    async with asyncio.timeout(SOON_S):
        assert len(await taking) == 1


async def test_being_away_is_said_once_and_so_is_being_back(bench: Bench, broker: Brokered) -> None:
    delivery = await bench.process()
    await broker.cut()
    await becomes(lambda: not delivery.health.up)
    for _ in range(3):
        assert await delivery.publish(1) == 0
    await asyncio.sleep(1.0)
    assert bench.heard.events == ["delivery.away"]
    await broker.mend()
    await is_back(bench, delivery, 1)


async def test_a_connection_that_ends_is_made_anew(bench: Bench, broker: Brokered) -> None:
    delivery = await bench.process()
    for times in (1, 2, 3):
        await broker.blink()
        await is_back(bench, delivery, times)
        assert await delivery.publish(1) == 1
        await delivery.acknowledge(await take(delivery, 5))


async def test_tickets_held_over_a_loss_of_the_connection_are_no_trouble(bench: Bench, broker: Brokered) -> None:
    delivery = await bench.process()
    await delivery.publish(4)
    tickets = await take_all(delivery, 4)
    await broker.blink()
    await is_back(bench, delivery, 1)
    await delivery.acknowledge(tickets[:2])
    await delivery.give_back(tickets[2:])
    assert delivery.health.up
    assert await delivery.publish(1) == 1
    await take(delivery, 5)


async def test_a_broker_that_falls_silent_is_away_within_seconds(bench: Bench, broker: Brokered) -> None:
    delivery = await bench.process()
    broker.mute()
    async with asyncio.timeout(_CALL_S):
        assert await delivery.publish(1) == 0
    assert not delivery.health.up
    await broker.mend()
    await becomes(lambda: delivery.health.up)


async def test_silence_is_noticed_while_nobody_calls(bench: Bench, broker: Brokered) -> None:
    delivery = await bench.process()
    taking = asyncio.create_task(delivery.take(1))
    await asyncio.sleep(0.05)
    broker.mute()
    async with asyncio.timeout(2 * SOON_S):
        while delivery.health.up:
            await asyncio.sleep(0.05)
    await broker.mend()
    await becomes(lambda: delivery.health.up)
    await delivery.publish(1)
    async with asyncio.timeout(SOON_S):
        await taking


async def test_closing_without_a_broker_takes_no_time(bench: Bench, broker: Brokered) -> None:
    delivery, other = await bench.process(), await bench.process()
    await delivery.publish(2)
    await take(delivery, 1)
    await broker.cut()
    async with asyncio.timeout(_CALL_S):
        await delivery.close()
    await becomes(lambda: not other.health.up)
    await broker.mend()
    await becomes(lambda: other.health.up)
    broker.mute()
    async with asyncio.timeout(_CALL_S):
        await other.close()
    await broker.mend()


async def test_who_listens_is_told_after_a_loss_of_the_connection(bench: Bench, broker: Brokered) -> None:
    one, other = await bench.process(), await bench.process()
    async with one.listen(crawl(9)) as ended:
        await broker.blink()
        await becomes(lambda: bench.heard.events.count("delivery.back") == 2)
        assert one.health.up
        assert other.health.up
        # What was told meanwhile nobody heard: that is reason enough to look.
        assert await is_told(ended)
        ended.clear()
        await other.tell([crawl(9)])
        assert await is_told(ended)


async def test_a_broker_that_forgot_everything_starts_anew(bench: Bench, broker: Brokered) -> None:
    delivery, other = await bench.process(), await bench.process()
    await delivery.publish(20)
    held = await take_all(delivery, 5)
    await broker.wipe()
    await becomes(lambda: delivery.health.up)
    await delivery.acknowledge(held)
    await waiting_becomes(delivery, 0)
    await keeps_coming(asyncio.create_task(delivery.take(4)), other)


async def test_who_waits_while_everything_is_deleted_still_gets_tickets(bench: Bench, broker: Brokered) -> None:
    delivery, other = await bench.process(), await bench.process()
    taking = asyncio.create_task(delivery.take(2))
    await asyncio.sleep(0.1)
    await broker.wipe()
    await keeps_coming(taking, other)
