"""Between the delivery and the loop: tickets are taken for free slots, used, and let go after the step."""

from __future__ import annotations

import asyncio

from perseid.delivery.direct import Direct
from perseid.model.ids import CrawlId
from perseid.ports.store import StepResult
from perseid.worker.news import Tickets
from perseid.worker.stop import Stop


class Worker:
    """A loop that is hungry for `slots` until it said that it is not, and answers offers as it is told."""

    def __init__(self, slots: int, answer: int | None = None) -> None:
        self.slots = slots
        self.answer = answer
        self.offers: list[int] = []
        self.open: list[asyncio.Future[int]] = []
        self.offered = asyncio.Event()

    async def hungry(self) -> int:
        if self.offers and self.answer == -1:
            await asyncio.Event().wait()
        return self.slots

    def offer(self, tickets: int) -> asyncio.Future[int]:
        self.offers.append(tickets)
        self.offered.set()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if self.answer is not None:
            future.set_result(self.answer)
        else:
            self.open.append(future)
        return future


class Watched(Direct):
    """Remembers what became of tickets."""

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged = self.returned = 0
        self.told: list[CrawlId] = []

    async def acknowledge(self, tickets) -> None:
        self.acknowledged += len(tickets)
        await super().acknowledge(tickets)

    async def give_back(self, tickets) -> None:
        self.returned += len(tickets)
        await super().give_back(tickets)

    async def tell(self, ended) -> None:
        self.told += ended


async def test_a_ticket_is_let_go_after_the_step_and_not_before() -> None:
    delivery, worker, stop = Watched(), Worker(4), Stop()
    running = asyncio.create_task(Tickets(delivery, takes=True, dispatch=None).run(worker, stop))
    await delivery.publish(3)
    async with asyncio.timeout(5):
        await worker.offered.wait()
        await asyncio.sleep(0.02)
        assert (worker.offers, delivery.acknowledged) == ([3], 0)
        worker.open[0].set_result(3)
        while delivery.acknowledged < 3:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.001)
        stop.ask()
        await running


async def test_tickets_that_came_too_late_go_to_others() -> None:
    delivery, worker, stop = Watched(), Worker(4, answer=-1), Stop()
    running = asyncio.create_task(Tickets(delivery, takes=True, dispatch=None).run(worker, stop))
    await delivery.publish(2)
    async with asyncio.timeout(5):
        while delivery.returned < 2:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.001)
    assert delivery.acknowledged == 0
    stop.ask()
    await running


async def test_stale_tickets_do_not_become_a_storm_of_claims() -> None:
    delivery, worker, stop = Watched(), Worker(1, answer=0), Stop()
    running = asyncio.create_task(Tickets(delivery, takes=True, dispatch=None).run(worker, stop))
    await delivery.publish(500)
    await asyncio.sleep(0.5)
    stop.ask()
    await running
    assert 3 <= len(worker.offers) <= 10


async def test_ends_are_told_even_if_the_worker_stops_at_once() -> None:
    delivery, stop = Watched(), Stop()
    tickets = Tickets(delivery, takes=False, dispatch=None)
    running = asyncio.create_task(tickets.run(None, stop))
    await asyncio.sleep(0)
    tickets.stepped(StepResult([], [], None, [CrawlId(1), CrawlId(2)]), more=False)
    stop.ask()
    await running
    assert delivery.told == [CrawlId(1), CrawlId(2)]


async def test_others_are_told_only_of_what_the_worker_did_not_want() -> None:
    nudges: list[None] = []
    tickets = Tickets(Direct(), takes=True, dispatch=lambda: nudges.append(None))
    tickets.stepped(StepResult([], [], None), more=False)
    assert nudges == []
    tickets.stepped(StepResult([], [], None), more=True)
    assert nudges == [None]


async def test_a_worker_sleeps_long_only_where_it_is_told_of_work() -> None:
    assert not Tickets(Direct(), takes=True, dispatch=None).prompt, "nobody rings"
    assert not Tickets(Direct(), takes=False, dispatch=None).timely
