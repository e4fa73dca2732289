from __future__ import annotations

import asyncio

from perseid.ports.clock import Clock
from perseid.testing import FakeClock


def test_it_is_a_clock_that_stands_still() -> None:
    clock: Clock = FakeClock(start_us=5)
    assert (clock.now_us(), clock.monotonic_s()) == (5, 0.0)
    assert (clock.now_us(), clock.monotonic_s()) == (5, 0.0)


async def test_advancing_moves_both_times() -> None:
    clock = FakeClock(start_us=0)
    await clock.advance(1.5)
    assert (clock.now_us(), clock.monotonic_s()) == (1_500_000, 1.5)


async def test_sleepers_wake_at_their_own_times_in_order() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, *spans: float) -> None:
        for span in spans:
            await clock.sleep(span)
            woken.append((name, clock.monotonic_s()))

    tasks = [
        asyncio.create_task(sleeper("a", 2, 2)),
        asyncio.create_task(sleeper("b", 3)),
        asyncio.create_task(sleeper("c", 2)),
    ]
    await clock.wait_for_sleepers(3)
    await clock.advance(1.999)
    assert woken == []
    await clock.advance(10)
    assert woken == [("a", 2.0), ("c", 2.0), ("b", 3.0), ("a", 4.0)]
    assert clock.monotonic_s() == 11.999
    await asyncio.gather(*tasks)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(1))
    await clock.wait_for_sleepers()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.sleeping == 0
    await clock.advance(2)
    assert task.cancelled()


async def test_no_time_is_slept_at_once() -> None:
    await FakeClock().sleep(0)
    await FakeClock().sleep(-1)


async def test_the_wall_clock_can_be_set_back() -> None:
    clock = FakeClock(start_us=10_000_000)
    clock.shift_wall(-4)
    assert (clock.now_us(), clock.monotonic_s()) == (6_000_000, 0.0)
