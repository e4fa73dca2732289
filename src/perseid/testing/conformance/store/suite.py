"""One call gives a backend's test module every test of the contract (pytest, pytest-asyncio in auto mode):
`globals().update(store_suite(MyBackend))`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType

import pytest
import pytest_asyncio

from perseid.testing.conformance.store import (
    alarms,
    backoff,
    blocks,
    cached,
    cancelling,
    collected,
    collecting,
    depth,
    documents,
    erasing,
    explaining,
    fair,
    going_on,
    harvests,
    hostile,
    known,
    lifecycle,
    limit,
    lines,
    listing,
    machine,
    operating,
    order,
    outbox,
    politeness,
    publishing,
    quota,
    reaping,
    redirect,
    rereading,
    retry,
    rules,
    runs,
    seeding,
    slots,
    teams,
    terms,
    tickets,
    twin,
    unruly,
    upkeep,
    variant,
    visited,
    waited,
)
from perseid.testing.conformance.store.backend import NewBackend
from perseid.testing.conformance.store.desk import Bench, Desk

ROOMS: tuple[ModuleType, ...] = (
    lifecycle,
    terms,
    waited,
    limit,
    visited,
    order,
    fair,
    going_on,
    slots,
    blocks,
    politeness,
    backoff,
    rules,
    unruly,
    retry,
    redirect,
    variant,
    depth,
    cancelling,
    operating,
    runs,
    publishing,
    collected,
    seeding,
    tickets,
    reaping,
    documents,
    listing,
    teams,
    quota,
    explaining,
    upkeep,
    twin,
    hostile,
    outbox,
    known,
    cached,
    erasing,
    alarms,
    harvests,
    rereading,
    lines,
)


def store_suite(new_backend: NewBackend) -> dict[str, object]:
    """Fixtures and tests by name, for the globals of a test module.

    `new_backend` gives an empty database at each call.
    """
    found: dict[str, object] = _fixtures(new_backend)
    for room in ROOMS:
        for name, test in vars(room).items():
            if name.startswith("test_"):
                assert name not in found, f"two tests are called {name}"
                found[name] = test
    found["TestAnySequence"] = machine.machine_test(new_backend)
    found["TestAnyHarvest"] = collecting.collecting_test(new_backend)
    return found


def _fixtures(new_backend: NewBackend) -> dict[str, object]:
    @pytest.fixture(scope="module", name="new_backend")
    def backend_fixture() -> NewBackend:
        return new_backend

    @pytest_asyncio.fixture(name="bench")
    async def bench_fixture() -> AsyncIterator[Bench]:
        bench = Bench(new_backend)
        passed = False
        try:
            yield bench
            passed = True
        finally:
            await bench.close(check=passed)

    @pytest_asyncio.fixture(name="desk")
    async def desk_fixture(bench: Bench) -> Desk:
        return await bench.desk()

    return {"new_backend": backend_fixture, "bench": bench_fixture, "desk": desk_fixture}
