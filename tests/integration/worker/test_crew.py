"""Further processes at work: one that dies is replaced, unless they die faster than that could help."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from perseid.config.settings import Settings
from perseid.observe import log
from perseid.runtime import crew as crews
from perseid.runtime.crew import MOST_DEATHS, Crew, Order
from perseid.testing.child import descendants
from perseid.worker.stop import Stop


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    monkeypatch.setattr(crews, "_LOOK_S", 0.01)
    with StringIO() as stream:
        log.setup("warning", "text", stream)
        yield stream
        log.setup()


def order(folder: Path) -> Order:
    return Order(folder=str(folder), settings=Settings(), uid=None, concurrency=1, allow_named_host=False)


def members() -> set[int]:
    """Pids of this process's crew; other tests may have left children of another kind."""
    return {pid for pid in descendants(os.getpid()) if b"perseid.runtime.crew" in _command(pid)}


async def grown(number: int) -> set[int]:
    """The crew once it has so many; in its first moment a process has no command line yet."""
    await until(lambda: len(members()) == number)
    return members()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110  processes set no event
            await asyncio.sleep(0.01)


async def test_member_that_dies_is_replaced(tmp_path: Path, said: StringIO) -> None:
    async with Crew.started(2).at_work(order(tmp_path), Stop()):
        victim, other = await grown(2)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: victim not in members() and len(members()) == 2)
        assert other in members()
    assert members() == set()
    assert f"{victim} was killed by signal 9; another takes its place" in said.getvalue()


async def test_a_place_that_can_not_be_filled_now_is_filled_later(
    tmp_path: Path, said: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = Crew.started(1)
    async with crew.at_work(order(tmp_path), Stop()):
        (victim,) = await grown(1)
        with monkeypatch.context() as broken:
            broken.setattr("sys.executable", str(tmp_path / "nothing"))
            os.kill(victim, signal.SIGKILL)
            await until(lambda: "no process can be started" in said.getvalue())
            await asyncio.sleep(0.05)
            assert not crew.empty.is_set()
        await until(lambda: len(members()) == 1)
    assert said.getvalue().count("no process can be started") == 1


async def test_members_that_keep_dying_are_given_up(tmp_path: Path, said: StringIO) -> None:
    async with Crew.started(1).at_work(order(tmp_path), Stop()):
        for deaths in range(1, MOST_DEATHS + 2):
            (victim,) = await grown(1)
            os.kill(victim, signal.SIGKILL)
            await until(lambda deaths=deaths: said.getvalue().count("was killed") == deaths)
        assert members() == set()
    assert said.getvalue().count("another takes its place") == MOST_DEATHS
    assert said.getvalue().count("no more are started") == 1


async def test_member_that_went_home_is_not_replaced(tmp_path: Path, said: StringIO) -> None:
    crew = Crew.started(1)
    async with crew.at_work(order(tmp_path), Stop()):
        (member,) = await grown(1)
        await until((tmp_path / "perseid.db").exists)
        os.kill(member, signal.SIGTERM)
        await until(lambda: not crew._members)
        assert members() == set()
    assert said.getvalue() == ""
