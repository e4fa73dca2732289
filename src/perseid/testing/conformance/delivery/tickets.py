"""Tickets inside one process: as many come out as went in, each once."""

from __future__ import annotations

import asyncio

from perseid.ports.delivery import MOST_TICKETS, Ticket
from perseid.testing.conformance.delivery.backend import Bench, take, take_all, takes_nothing, waiting_becomes


async def test_what_is_published_is_taken(bench: Bench) -> None:
    delivery = await bench.process()
    assert await delivery.publish(3) == 3
    await delivery.acknowledge(await take_all(delivery, 3))
    assert await takes_nothing(delivery)


async def test_who_takes_waits_until_something_is_published(bench: Bench) -> None:
    delivery = await bench.process()
    taking = asyncio.create_task(take(delivery, 5))
    await asyncio.sleep(0.05)
    assert not taking.done()
    await delivery.publish(1)
    assert len(await taking) == 1


async def test_nobody_gets_more_than_there_are_slots(bench: Bench) -> None:
    delivery = await bench.process()
    await delivery.publish(10)
    first = await take(delivery, 4)
    assert len(first) <= 4
    await delivery.acknowledge([*first, *await take_all(delivery, 10 - len(first))])
    assert await takes_nothing(delivery)


async def test_no_more_than_500_at_a_time(bench: Bench) -> None:
    delivery = await bench.process()
    assert await delivery.publish(MOST_TICKETS + 7) == MOST_TICKETS
    await waiting_becomes(delivery, MOST_TICKETS)


async def test_publishing_nothing_is_nothing(bench: Bench) -> None:
    delivery = await bench.process()
    assert await delivery.publish(0) == 0
    assert await delivery.publish(-3) == 0
    assert await takes_nothing(delivery)


async def test_what_waits_is_counted_and_what_is_held_is_not(bench: Bench) -> None:
    delivery = await bench.process()
    await waiting_becomes(delivery, 0)
    await delivery.publish(5)
    await waiting_becomes(delivery, 5)
    tickets = await take_all(delivery, 2)
    await waiting_becomes(delivery, 3)
    await delivery.acknowledge(tickets)
    await waiting_becomes(delivery, 3)


async def test_what_is_given_back_is_taken_again(bench: Bench) -> None:
    delivery = await bench.process()
    await delivery.publish(2)
    tickets = await take_all(delivery, 2)
    await delivery.give_back(tickets[:1])
    await delivery.acknowledge(tickets[1:])
    await delivery.acknowledge(await take(delivery, 5))
    assert await takes_nothing(delivery)


async def test_a_ticket_is_acknowledged_once(bench: Bench) -> None:
    delivery = await bench.process()
    await delivery.publish(2)
    tickets = await take_all(delivery, 2)
    await delivery.acknowledge(tickets)
    await delivery.acknowledge(tickets)
    await delivery.give_back(tickets)
    await delivery.acknowledge([Ticket(object()), Ticket("1-1"), Ticket(None)])
    assert await takes_nothing(delivery)
    await delivery.publish(1)
    assert len(await take(delivery, 3)) == 1


async def test_who_stops_waiting_loses_nothing(bench: Bench) -> None:
    delivery = await bench.process()
    taken, published = 0, 0
    for round_ in range(30):
        taking = asyncio.create_task(delivery.take(3))
        await asyncio.sleep(0.0005 * (round_ % 5))
        published += await delivery.publish(2)
        await asyncio.sleep(0.0005 * (round_ % 7))
        taking.cancel()
        try:
            tickets = await taking
        except asyncio.CancelledError:
            continue
        taken += len(tickets)
        await delivery.acknowledge(tickets)
    await delivery.acknowledge(await take_all(delivery, published - taken))
    assert await takes_nothing(delivery)


async def test_opening_and_closing_twice_is_no_error(bench: Bench) -> None:
    delivery = await bench.process()
    await delivery.open()
    await delivery.publish(1)
    assert len(await take(delivery, 1)) == 1
    await delivery.close()
    await delivery.close()


async def test_health_says_what_it_is(bench: Bench) -> None:
    delivery = await bench.process()
    health = delivery.health
    assert health.up
    assert health.kind
    assert health.detail
    assert bench.heard.events == []


async def test_who_holds_tickets_may_take_more(bench: Bench) -> None:
    delivery = await bench.process()
    held = []
    for _ in range(3):
        taking = asyncio.create_task(take(delivery, 2))
        await asyncio.sleep(0.05)
        await delivery.publish(2)
        held += [*await taking, *await take_all(delivery, 2 - len(taking.result()))]
    assert len(held) == 6
    await delivery.acknowledge(held)
    assert await takes_nothing(delivery)
