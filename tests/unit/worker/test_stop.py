"""Two levels of a stop, both sticky."""

from __future__ import annotations

import asyncio

from perseid.worker.stop import Stop


def test_nothing_is_asked_at_first() -> None:
    assert (Stop().asked, Stop().urgent) == (False, False)


def test_now_is_more_than_asked() -> None:
    stop = Stop()
    stop.ask()
    assert (stop.asked, stop.urgent) == (True, False)
    stop.now()
    assert (stop.asked, stop.urgent) == (True, True)


async def test_sleep_ends_early_when_a_stop_is_asked_for() -> None:
    stop = Stop()
    sleeper = asyncio.create_task(stop.sleep(3600))
    await asyncio.sleep(0)
    stop.ask()
    assert await sleeper is True


async def test_sleep_ends_by_itself_otherwise() -> None:
    assert await Stop().sleep(0.001) is False
