import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from perseid.errors import Busy
from perseid.worker.door import Door


@asynccontextmanager
async def visitor(door: Door, log: list[str], name: str, most: int | None = 1) -> AsyncIterator[asyncio.Event]:
    """Somebody who stays inside until told to go; leaves at the end."""
    go = asyncio.Event()

    async def visit() -> None:
        async with door.passed(1, most, 60) as waited:
            log.append(f"{name}{'+' * waited}")
            await go.wait()

    task = asyncio.create_task(visit())
    await asyncio.sleep(0)
    try:
        yield go
    finally:
        go.set()
        await task


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_so_many_are_inside_and_the_longest_waiter_is_next() -> None:
    door, log = Door(), []
    async with AsyncExitStack() as inside:
        first = await inside.enter_async_context(visitor(door, log, "a", 2))
        second = await inside.enter_async_context(visitor(door, log, "b", 2))
        third = await inside.enter_async_context(visitor(door, log, "c", 2))
        await inside.enter_async_context(visitor(door, log, "d", 2))
        assert log == ["a", "b"]
        first.set()
        await settle()
        assert log == ["a", "b", "c+"]
        second.set()
        third.set()
    assert log == ["a", "b", "c+", "d+"]


async def test_who_comes_later_does_not_pass_who_waits() -> None:
    door, log = Door(), []
    async with AsyncExitStack() as inside:
        first = await inside.enter_async_context(visitor(door, log, "a"))
        second = await inside.enter_async_context(visitor(door, log, "b"))
        first.set()
        await inside.enter_async_context(visitor(door, log, "c"))
        await settle()
        assert log == ["a", "b+"]
        second.set()
    assert log == ["a", "b+", "c+"]


async def test_teams_do_not_wait_for_each_other_nor_does_who_has_no_bound() -> None:
    door, log = Door(), []
    async with visitor(door, log, "a"), visitor(door, log, "b", None):
        async with door.passed(2, 1, 1) as waited:
            assert not waited
        assert log == ["a", "b"]


async def test_who_waits_too_long_is_told_and_leaves_the_line() -> None:
    door, log = Door(), []
    async with visitor(door, log, "a"):
        with pytest.raises(Busy):
            async with door.passed(1, 1, 0.01):
                raise AssertionError
    async with door.passed(1, 1, 1) as waited:
        assert not waited


async def test_a_place_is_not_lost_with_who_is_cancelled_as_it_comes() -> None:
    door, log = Door(), []

    async def enter() -> None:
        async with door.passed(1, 1, 60):
            log.append("in")

    async with visitor(door, log, "a") as a:
        waiting = asyncio.create_task(enter())
        await settle()
        a.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with door.passed(1, 1, 0.1) as waited:
        assert not waited


async def test_who_waits_when_it_closes_is_sent_away() -> None:
    door, log = Door(), []
    async with visitor(door, log, "a"):
        waiting = asyncio.create_task(door.passed(1, 1, 60).__aenter__())
        await settle()
        door.close(RuntimeError("over"))
        with pytest.raises(RuntimeError, match="over"):
            await waiting
