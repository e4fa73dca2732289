"""One call gives a backend's test module every test of the contract (pytest, pytest-asyncio in auto mode):
`globals().update(limit_suite(MyBackend, shared=True, losable=True))`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType

import pytest_asyncio

from perseid.testing.conformance.limit import buckets, machine, permits, sharing, trouble
from perseid.testing.conformance.limit.backend import Bench, NewLimits, NewStore, sqlite_store


def limit_suite(
    new_backend: NewLimits, *, shared: bool, losable: bool, new_store: NewStore = sqlite_store
) -> dict[str, object]:
    """Fixtures and tests by name, for the globals of a test module.

    The buckets of `shared` ones are those of all processes; `losable` ones are `Losable`, the others lose nothing.
    """

    @pytest_asyncio.fixture(name="bench")
    async def bench_fixture() -> AsyncIterator[Bench]:
        bench = await Bench(new_backend(), new_store).begin()
        try:
            yield bench
        finally:
            await bench.close()

    rooms: list[ModuleType] = [permits, buckets, *([sharing] if shared else []), *([trouble] if losable else [])]
    found: dict[str, object] = {"bench": bench_fixture}
    for room in rooms:
        for name, test in vars(room).items():
            if name.startswith("test_"):
                assert name not in found, f"two tests are called {name}"
                found[name] = test
    found["TestAnySequence"] = machine.machine_test(new_backend, new_store, losable=losable)
    return found
