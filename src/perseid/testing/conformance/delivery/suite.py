"""One call gives a backend's test module every test of the contract (pytest, pytest-asyncio in auto mode):
`globals().update(delivery_suite(MyBackend, brokered=True))`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType

import pytest_asyncio

from perseid.testing.conformance.delivery import machine, notices, sharing, tickets, trouble
from perseid.testing.conformance.delivery.backend import Bench, NewDelivery

ALWAYS: tuple[ModuleType, ...] = (tickets, notices)
BROKERED: tuple[ModuleType, ...] = (sharing, trouble)


def delivery_suite(new_backend: NewDelivery, *, brokered: bool) -> dict[str, object]:
    """Fixtures and tests by name, for the globals of a test module.

    `new_backend` gives a place of its own at each call; `brokered` ones are `Brokered`, the others are for one
    process and can't be lost.
    """

    @pytest_asyncio.fixture(name="bench")
    async def bench_fixture() -> AsyncIterator[Bench]:
        bench = await Bench(new_backend()).begin()
        try:
            yield bench
        finally:
            await bench.close()

    found: dict[str, object] = {"bench": bench_fixture}
    for room in ALWAYS + (BROKERED if brokered else ()):
        for name, test in vars(room).items():
            if name.startswith("test_") or name.endswith("_fixture"):
                assert name not in found, f"two tests are called {name}"
                found[name] = test
    found["TestAnySequence"] = machine.machine_test(new_backend, brokered=brokered, shared=brokered)
    return found
