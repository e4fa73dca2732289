"""What several processes share, beside the store."""

from __future__ import annotations

import asyncio

from perseid.testing.conformance.limit.backend import PAUSE_S, Bench


async def test_a_bucket_is_one_for_all_processes(bench: Bench) -> None:
    one, two = await bench.process(), await bench.process()
    loop = asyncio.get_running_loop()
    began = loop.time()
    got = 0
    while loop.time() < began + 1.0:
        waits = await asyncio.gather(*(side.limits.take("a", interval_s=0.05, burst=3) for side in (one, two, one)))
        got += waits.count(0)
        await asyncio.sleep(PAUSE_S)
    assert 5 <= got <= 3 + (loop.time() - began) / 0.05 + 1
