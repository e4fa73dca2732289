"""A store on the real server, empty."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from perseid.ports.store import HostDefaults
from perseid.store.postgres.store import PgStore
from perseid.testing.postgres import give_back, take_database, throw_away, url_of


@pytest.fixture
async def name() -> AsyncIterator[str]:
    name = await take_database()
    yield name
    await give_back(name)


@pytest.fixture
async def unused() -> AsyncIterator[str]:
    """One of whose tables the server knows nothing: how it plans does not depend on the tests before."""
    name = await take_database(unused=True)
    yield name
    await throw_away(name)


@pytest.fixture
async def store(name: str) -> AsyncIterator[PgStore]:
    free = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
    store = await PgStore.open(url_of(name), defaults=free, connections=8)
    yield store
    await store.close()
