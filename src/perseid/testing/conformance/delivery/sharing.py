"""Several processes on one broker: a ticket is one process's, a notice everybody's."""

from __future__ import annotations

import asyncio

from perseid.testing.conformance.delivery.backend import (
    Bench,
    crawl,
    is_told,
    take,
    take_all,
    takes_nothing,
    waiting_becomes,
)


async def test_what_one_publishes_another_takes(bench: Bench) -> None:
    one, other = await bench.process(), await bench.process()
    assert other.carries
    taking = asyncio.create_task(take(other, 4))
    await asyncio.sleep(0.05)
    await one.publish(1)
    await other.acknowledge(await taking)
    assert await takes_nothing(one)


async def test_who_comes_later_finds_what_was_published_before(bench: Bench) -> None:
    await (await bench.process()).publish(3)
    assert len(await take_all(await bench.process(), 3)) == 3


async def test_a_ticket_is_held_by_one(bench: Bench) -> None:
    one, other = await bench.process(), await bench.process()
    await one.publish(1)
    await take(one, 5)
    assert await takes_nothing(other)


async def test_who_is_busy_holds_up_nobody(bench: Bench) -> None:
    busy, idle = await bench.process(), await bench.process()
    taking = asyncio.create_task(take(busy, 8))
    await asyncio.sleep(0.05)
    await idle.publish(1)
    await taking
    # The busy one has room for seven more, as the broker sees it, and doesn't ask for them.
    await idle.publish(7)
    assert len(await take_all(idle, 7)) == 7


async def test_what_is_given_back_another_takes(bench: Bench) -> None:
    one, other = await bench.process(), await bench.process()
    await one.publish(2)
    await one.give_back(await take_all(one, 2))
    assert len(await take_all(other, 2)) == 2


async def test_what_a_process_holds_when_it_ends_others_take(bench: Bench) -> None:
    one, other = await bench.process(), await bench.process()
    await one.publish(6)
    await take_all(one, 4)
    await one.close()
    assert len(await take_all(other, 6)) == 6


async def test_all_that_is_published_is_taken_by_somebody(bench: Bench) -> None:
    processes = [await bench.process() for _ in range(3)]
    taken: list[int] = []
    enough = asyncio.Event()

    async def work(number: int) -> None:
        delivery = processes[number]
        while True:
            tickets = await delivery.take(5)
            taken.extend([number] * len(tickets))
            await asyncio.sleep(0.001)
            await delivery.acknowledge(tickets)
            if len(taken) >= 120:
                enough.set()

    workers = [asyncio.create_task(work(number)) for number in range(3)]
    for size in (40, 1, 59, 20):
        assert await processes[size % 3].publish(size) == size
    assert await is_told(enough)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    assert len(taken) == 120
    assert len(set(taken)) > 1, "one of the processes took everything"
    await waiting_becomes(processes[0], 0)


async def test_an_end_is_told_in_all_processes(bench: Bench) -> None:
    one, other = await bench.process(), await bench.process()
    async with one.listen(crawl(5)) as here, other.listen(crawl(5)) as there:
        await one.tell([crawl(5)])
        assert await is_told(here)
        assert await is_told(there)
