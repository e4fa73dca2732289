"""Tickets are published where there is work and somebody for it, and no more than that."""

from __future__ import annotations

import asyncio

import pytest

from perseid.delivery.direct import Direct
from perseid.errors import StoreUnavailable
from perseid.model.ids import WorkerId
from perseid.ports.delivery import Health, Prospect
from perseid.testing.conformance.delivery.backend import Heard
from perseid.worker.duties.dispatcher import Dispatcher
from perseid.worker.stop import Stop


class Store:
    """What the dispatcher sees of one."""

    def __init__(self, claimable: int = 0, free: int = 0, wait_us: int | None = None, first: int = 1) -> None:
        self.says = Prospect(claimable, free, wait_us, first)
        self.asked = 0
        self.away = False

    async def prospect(self, most: int) -> Prospect:
        self.asked += 1
        if self.away:
            raise StoreUnavailable("the database is away")
        return self.says


class Clock:
    def now_us(self) -> int:
        return 0

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def dispatcher(store: Store, delivery: Direct, *, mine: int = 1, every_s: float = 60.0) -> Dispatcher:
    return Dispatcher(store, delivery, whose=lambda: WorkerId(mine), clock=Clock(), telemetry=Heard(), every_s=every_s)


@pytest.mark.parametrize(
    ("claimable", "free", "lying", "published"),
    [
        (0, 8, 0, 0),
        (5, 8, 0, 5),
        (500, 8, 0, 8),
        (500, 900, 0, 500),
        (9, 8, 3, 5),
        (9, 8, 8, 0),
        (9, 8, 20, 0),
        (9, 0, 0, 0),
    ],
)
async def test_as_many_as_can_be_claimed_and_run_less_what_lies_there(claimable, free, lying, published) -> None:
    delivery = Direct()
    await delivery.publish(lying)
    await dispatcher(Store(claimable, free), delivery).round()
    assert await delivery.waiting() == lying + published


async def test_without_a_broker_the_store_is_not_even_asked() -> None:
    class Away(Direct):
        @property
        def health(self) -> Health:
            return Health("redis", up=False)

    store = Store(5, 5)
    await dispatcher(store, Away()).round()
    assert store.asked == 0


async def test_who_is_first_looks_when_something_becomes_due_and_the_others_do_not() -> None:
    store = Store(wait_us=200_000, first=1)
    assert await dispatcher(store, Direct(), mine=1).round() == pytest.approx(0.201)
    assert await dispatcher(store, Direct(), mine=2).round() >= 45


async def test_what_begins_here_is_told_at_once_and_a_store_that_is_away_does_not_end_it() -> None:
    store, delivery, stop = Store(), Direct(), Stop()
    running = asyncio.create_task((it := dispatcher(store, delivery)).run(stop))
    async with asyncio.timeout(5):
        while store.asked < 1:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.001)
        store.away = True
        it.begun()
        while store.asked < 2:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.001)
        store.away = False
        store.says = Prospect(3, 3, None, 1)
        it.begun()
        assert len(await delivery.take(5)) == 3
        stop.ask()
        await running


async def test_a_storm_of_nudges_is_a_few_looks() -> None:
    store, stop = Store(claimable=9, free=0), Stop()
    running = asyncio.create_task((it := dispatcher(store, Direct())).run(stop))
    until = asyncio.get_running_loop().time() + 0.5
    while asyncio.get_running_loop().time() < until:
        it.stirred()
        await asyncio.sleep(0.001)
    stop.ask()
    await running
    # 20, 40, 80, 160 … ms apart while nobody has a free slot.
    assert 2 <= store.asked <= 8
