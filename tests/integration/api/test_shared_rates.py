"""A team's requests a minute are those to all servers of a store together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.exceptions import HTTPException

from perseid.api.auth import Gate
from perseid.config.settings import DeliverySettings, LimitSettings, Settings, StoreSettings
from perseid.errors import ConfigError
from perseid.ports.teams import Team
from perseid.runtime.service import Service
from perseid.testing.brokers import RedisServer
from perseid.testing.postgres import give_back, take_database, url_of

PER_MINUTE = 60


@pytest_asyncio.fixture(name="redis")
async def redis_fixture() -> AsyncIterator[RedisServer]:
    server = RedisServer()
    await server.start()
    yield server
    server.dispose()


@pytest_asyncio.fixture(name="database")
async def database_fixture() -> AsyncIterator[str]:
    name = await take_database()
    yield url_of(name)
    await give_back(name)


async def _is_let_in(gate: Gate) -> bool:
    try:
        await gate.caller(None)
    except HTTPException as error:
        refused = error
    else:
        return True
    assert refused.status_code == 429
    assert 1 <= int((refused.headers or {})["Retry-After"]) <= 60
    return False


async def _let_in(gates: list[Gate], seconds: float) -> int:
    """Requests of the default team that were let in, asked of each server in turn."""
    loop = asyncio.get_running_loop()
    end, count = loop.time() + seconds, 0
    while loop.time() < end:
        for gate in gates:
            count += await _is_let_in(gate)
        await asyncio.sleep(0.005)
    return count


async def _servers(stack: AsyncExitStack, settings: Settings, folder: Path) -> list[Gate]:
    gates = []
    for number in range(2):
        service = await stack.enter_async_context(Service.open(folder / str(number), settings))
        gates.append(Gate(service.store, (), service.limits, open_to_all=True))
    await service.store.put_team(Team(id=1, name="default", requests_per_minute=PER_MINUTE))
    return gates


@pytest.mark.parametrize("by", ["store", "redis"])
async def test_two_servers_share_the_requests_of_a_team(
    by: str, redis: RedisServer, database: str, tmp_path: Path
) -> None:
    url = redis.url if by == "redis" else ""
    settings = Settings(
        store=StoreSettings(url=database), delivery=DeliverySettings(), limit=LimitSettings(url=url, prefix="t:")
    )
    async with AsyncExitStack() as stack:
        gates = await _servers(stack, settings, tmp_path)
        let_in = await _let_in(gates, 3.0)
    # A full bucket and what comes within three seconds; a Redis that was empty begins with an empty one.
    assert let_in <= PER_MINUTE + 4
    assert let_in >= (2 if by == "redis" else PER_MINUTE)


async def test_a_redis_that_is_away_lets_a_server_start_and_answer(
    redis: RedisServer, database: str, tmp_path: Path
) -> None:
    redis.kill()
    settings = Settings(store=StoreSettings(url=database), limit=LimitSettings(url=redis.url))
    async with AsyncExitStack() as stack:
        gates = await _servers(stack, settings, tmp_path)
        assert 1 <= await _let_in(gates, 3.0) <= 5


async def test_a_refused_password_is_said_at_the_start(redis: RedisServer, tmp_path: Path) -> None:
    settings = Settings(limit=LimitSettings(url=redis.url.replace("redis://", "redis://nobody:wrong@")))
    with pytest.raises(ConfigError, match="refuses the user or password of PERSEID_LIMIT__URL"):
        async with Service.open(tmp_path, settings):
            pass
