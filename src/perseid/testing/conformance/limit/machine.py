"""Any sequence of moves by three processes keeps the one promise: what is held never exceeds the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar, cast
from unittest import TestCase

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from perseid.ports.work import Again, Finished, Lease
from perseid.testing.conformance.limit.backend import Bench, Losable, NewLimits, NewStore, Process
from perseid.testing.conformance.limit.permits import crawl_of

T = TypeVar("T")
_PROCESSES = 3
sides = st.integers(0, _PROCESSES - 1)


class LimitMachine(RuleBasedStateMachine):
    """The model: permits whose holders may still use them, and leases of queued work; together at most the limit."""

    new_backend: ClassVar[NewLimits]
    new_store: ClassVar[NewStore]
    losable: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.leases: list[Lease] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize(most=st.integers(1, 9))
    def open(self, most: int) -> None:
        async def opened() -> None:
            self.bench = await Bench(type(self).new_backend(), type(self).new_store).begin()
            self.processes = [await self.bench.process() for _ in range(_PROCESSES)]
            self.gate = await self.bench.team(most)
            await crawl_of(self.bench, self.gate, 20)

        self.most = most
        self.run(opened())

    def _at(self, side: int) -> Process:
        return self.processes[side]

    @rule(side=sides, count=st.integers(1, 4))
    def acquire(self, side: int, count: int) -> None:
        async def some() -> None:
            for _ in range(count):
                await self._at(side).get(self.gate)

        self.run(some())

    @rule(side=sides, count=st.integers(1, 4))
    def release(self, side: int, count: int) -> None:
        self.run(self._at(side).free(count))

    @rule(side=sides)
    def extend(self, side: int) -> None:
        self.run(self._at(side).extend())

    @rule(side=sides)
    def tend(self, side: int) -> None:
        self.run(self._at(side).tend())

    @rule(side=sides, count=st.integers(1, 4))
    def claim(self, side: int, count: int) -> None:
        result = self.run(self.bench.store.step(self._at(side).worker, (), count))
        self.leases += result.leases

    @precondition(lambda self: self.leases)
    @rule()
    def give_back(self) -> None:
        lease = self.leases.pop()
        again = Finished(lease=lease, end=Again())
        self.run(self.bench.store.step(self.processes[0].worker, [again], 0))

    @rule(most=st.integers(1, 9))
    def limit_more_or_less(self, most: int) -> None:
        """What is held already may be more than a new limit; nothing is added to that."""
        self.run(self.bench.store.set_team_limit(int(self.gate.name), most))
        self.most = max(self.most, most)

    @rule(seconds=st.sampled_from([0.05, 0.3, 0.8, 1.7]))
    def wait(self, seconds: float) -> None:
        async def waited() -> None:
            await asyncio.sleep(seconds)
            await self.bench.store.reap([])

        self.run(waited())

    @precondition(lambda self: self.losable)
    @rule(fault=st.sampled_from(["wipe", "forget_scripts", "crash"]))
    def lose(self, fault: str) -> None:
        backend = cast("Losable", self.bench.backend)
        self.run(getattr(backend, fault)())

    @invariant()
    def no_limit_is_exceeded(self) -> None:
        if hasattr(self, "gate"):
            # What is counted in the store is an upper bound of what anybody may use, and the limit one of that.
            used = self.bench.live + len(self.leases)
            assert used <= self.run(self.bench.active(self.gate)) <= self.most

    def teardown(self) -> None:
        async def closed() -> None:
            assert await self.bench.store.audit() == []
            await self.bench.close()

        try:
            if hasattr(self, "gate"):
                self.run(closed())
        finally:
            self.runner.close()


def machine_test(new_backend: NewLimits, new_store: NewStore, *, losable: bool) -> type[TestCase]:
    namespace = {"new_backend": staticmethod(new_backend), "new_store": staticmethod(new_store), "losable": losable}
    machine: Any = type("AnySequence", (LimitMachine,), namespace)
    case: type[TestCase] = machine.TestCase
    case.settings = settings(  # type: ignore[attr-defined]
        max_examples=12,
        stateful_step_count=25,
        deadline=None,
        # What failed by the clock of a real server is not made smaller by running it again.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    return case
