"""Token buckets: a burst at once, then evenly."""

from __future__ import annotations

import asyncio

from perseid.testing.conformance.limit.backend import PAUSE_S, SOON_S, Bench


async def _filled(bench: Bench) -> None:
    """A server that was begun just now counts all buckets as empty: let that pass."""
    process = await bench.process()
    async with asyncio.timeout(SOON_S):
        await process.limits.take("warm", interval_s=0.1, burst=4)
        await asyncio.sleep(0.5)


async def test_a_burst_goes_at_once_then_one_after_another(bench: Bench) -> None:
    await _filled(bench)
    limits = (await bench.process()).limits
    waits = [await limits.take("a", interval_s=0.1, burst=4) for _ in range(5)]
    assert waits[:4] == [0, 0, 0, 0]
    assert 0 < waits[4] <= 0.1
    await asyncio.sleep(waits[4] + 0.01)
    assert await limits.take("a", interval_s=0.1, burst=4) == 0


async def test_keys_are_apart(bench: Bench) -> None:
    await _filled(bench)
    limits = (await bench.process()).limits
    assert [await limits.take(key, interval_s=0.4, burst=1) for key in ("a", "b", "a")][:2] == [0, 0]
    assert await limits.take("a", interval_s=60, burst=1) > 0


async def test_a_rate_is_never_exceeded(bench: Bench) -> None:
    process = await bench.process()
    loop = asyncio.get_running_loop()
    began = loop.time()
    got = 0
    while loop.time() < began + 1.0:
        got += await process.limits.take("a", interval_s=0.05, burst=3) == 0
        await asyncio.sleep(PAUSE_S)
    assert got <= 3 + (loop.time() - began) / 0.05 + 1
    assert got >= 5
