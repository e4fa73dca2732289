"""Any sequence of moves by three processes agrees with a model that only counts. What a broker may have lost, or may
give out twice, widens the bounds of the model until nothing is left of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar, cast
from unittest import TestCase

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from perseid.ports.delivery import Delivery, Ticket
from perseid.testing.conformance.delivery.backend import (
    SOON_S,
    Bench,
    Brokered,
    DeliveryBackend,
    NewDelivery,
    crawl,
    is_told,
)

T = TypeVar("T")
_PROCESSES = 3
_MOMENT_S = 0.05
sides = st.integers(0, _PROCESSES - 1)


class DeliveryMachine(RuleBasedStateMachine):
    """`least` and `most` bound the tickets that nobody holds.

    What a server did decides nothing about which moves there are: else no run could be repeated.
    """

    new_backend: ClassVar[NewDelivery]
    brokered: ClassVar[bool]
    shared: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.least = self.most = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        async def opened() -> tuple[Bench, list[Delivery]]:
            bench = await Bench(type(self).new_backend()).begin()
            return bench, [await bench.process() for _ in range(_PROCESSES if self.shared else 1)]

        self.bench, self.processes = self.run(opened())
        self.held: list[list[Ticket]] = [[] for _ in self.processes]

    @property
    def backend(self) -> DeliveryBackend:
        return self.bench.backend

    @rule(side=sides, count=st.integers(0, 12))
    def publish(self, side: int, count: int) -> None:
        confirmed = self.run(self._at(side).publish(count))
        assert confirmed == count, "the broker is there"
        self.least += count
        self.most += count

    @rule(side=sides, most=st.integers(1, 6))
    def take(self, side: int, most: int) -> None:
        tickets = self.run(self._take(side, most, wait_s=SOON_S if self.least else _MOMENT_S))
        assert len(tickets) <= most
        assert not self.least or tickets, "there were some"
        assert len(tickets) <= self.most, "there were fewer"
        self._mine(side).extend(tickets)
        self.least = max(0, self.least - len(tickets))
        self.most -= len(tickets)

    @rule(side=sides, count=st.integers(1, 6), twice=st.booleans())
    def acknowledge(self, side: int, count: int, *, twice: bool) -> None:
        tickets = self._let_go(side, count)
        self.run(self._at(side).acknowledge(tickets))
        if twice:
            self.run(self._at(side).acknowledge(tickets))
            self.run(self._at(side).give_back(tickets))

    @rule(side=sides, count=st.integers(1, 6))
    def give_back(self, side: int, count: int) -> None:
        tickets = self._let_go(side, count)
        self.run(self._at(side).give_back(tickets))
        self.most += len(tickets)
        if not self.unsure:
            self.least += len(tickets)

    @rule(side=sides)
    def count(self, side: int) -> None:
        """What lies at a process that doesn't take is given back after a while."""

        async def settled() -> int:
            async with asyncio.timeout(SOON_S):
                while not self.least <= (found := await self._at(side).waiting()) <= self.most:
                    await asyncio.sleep(0.02)
            return found

        self.run(settled())

    @rule(side=sides, most=st.integers(1, 6))
    def stop_waiting(self, side: int, most: int) -> None:
        """A taker is cancelled in the moment in which something may be there."""

        async def cancelled() -> list[Ticket]:
            taking = asyncio.create_task(self._at(side).take(most))
            await asyncio.sleep(0.001)
            taking.cancel()
            try:
                return list(await taking)
            except asyncio.CancelledError:
                return []

        tickets = self.run(cancelled())
        self._mine(side).extend(tickets)
        self.least = max(0, self.least - len(tickets))
        self.most -= len(tickets)

    @rule(side=sides, number=st.integers(1, 3))
    def tell(self, side: int, number: int) -> None:
        async def told() -> bool:
            listener = self.processes[-1] if self.shared else self.processes[0]
            async with listener.listen(crawl(number)) as ended:
                await self._at(side).tell([crawl(number)])
                return await is_told(ended)

        assert self.run(told())

    @precondition(lambda self: self.shared)
    @rule(side=sides)
    def end(self, side: int) -> None:
        """A process ends in an orderly way, and another begins."""

        async def replaced() -> Delivery:
            await self._at(side).close()
            return await self.bench.process()

        held = self._let_go(side, len(self._mine(side)))
        self.processes[side] = self.run(replaced())
        self.most += len(held)
        if not self.unsure:
            self.least += len(held)

    @precondition(lambda self: self.brokered)
    @rule()
    def blink(self) -> None:
        """All connections end. What was held may come again."""
        self.run(self._afterwards(cast("Brokered", self.backend).blink()))
        self.most += sum(len(held) for held in self.held)
        self.unsure = True

    @precondition(lambda self: self.brokered)
    @rule()
    def wipe(self) -> None:
        """Everything at the broker is gone; what is given back of it may be there again."""
        self.run(self._afterwards(cast("Brokered", self.backend).wipe()))
        self.least = 0
        self.unsure = True

    unsure = False
    """What is held now may have been given out again, or be gone."""

    def teardown(self) -> None:
        try:
            if hasattr(self, "bench"):
                self.run(self._a_ticket_still_comes())
                self.run(self.bench.close())
        finally:
            self.runner.close()

    async def _a_ticket_still_comes(self) -> None:
        for delivery in self.processes:
            assert await delivery.publish(1) == 1
            async with asyncio.timeout(2 * SOON_S):
                await delivery.acknowledge(await delivery.take(3))

    async def _afterwards(self, fault: Coroutine[Any, Any, None]) -> None:
        """Until every process has noticed and is up again."""
        await fault
        async with asyncio.timeout(2 * SOON_S):
            await asyncio.sleep(_MOMENT_S)
            while not all([delivery.health.up and await delivery.publish(1) for delivery in self.processes]):
                await asyncio.sleep(0.05)
        # Those tickets, and others of attempts that were not confirmed.
        self.most += 100

    async def _take(self, side: int, most: int, *, wait_s: float) -> list[Ticket]:
        try:
            async with asyncio.timeout(wait_s):
                return list(await self._at(side).take(most))
        except TimeoutError:
            return []

    def _at(self, side: int) -> Delivery:
        return self.processes[side % len(self.processes)]

    def _mine(self, side: int) -> list[Ticket]:
        return self.held[side % len(self.held)]

    def _let_go(self, side: int, count: int) -> list[Ticket]:
        mine = self._mine(side)
        tickets, mine[:] = mine[:count], mine[count:]
        return tickets


def machine_test(backend: NewDelivery, *, brokered: bool, shared: bool) -> type[TestCase]:
    """The machine as a test case. Each move waits for a server: fewer examples than a pure model would get."""

    class BoundMachine(DeliveryMachine):
        new_backend = staticmethod(backend)

    BoundMachine.brokered = brokered
    BoundMachine.shared = shared
    case: type[TestCase] = BoundMachine.TestCase
    BoundMachine.TestCase.settings = settings(
        deadline=None,
        # A failure that waits for seconds at each try is told as it was found.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        max_examples=20,
        stateful_step_count=25,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    return case
