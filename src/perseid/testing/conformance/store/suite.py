"""One call gives a backend's test module every test of the contract (pytest, pytest-asyncio in auto mode):
`globals().update(store_suite(MyBackend))`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType

import pytest
import pytest_asyncio

from perseid.testing.conformance.store import (
    backoff,
    cancelling,
    depth,
    documents,
    erasing,
    explaining,
    fair,
    hostile,
    known,
    lifecycle,
    limit,
    listing,
    machine,
    operating,
    order,
    outbox,
    politeness,
    reaping,
    redirect,
    retry,
    rules,
    slots,
    teams,
    terms,
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
    slots,
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
    reaping,
    documents,
    listing,
    teams,
    explaining,
    upkeep,
    twin,
    hostile,
    outbox,
    known,
    erasing,
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
