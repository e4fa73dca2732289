"""arq: `python arq_jobs.py REDIS-PORT ONES`. It polls; results are not kept."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from arq import Worker, create_pool, func
from arq.connections import RedisSettings
from turns import Count, at_once, turns


async def main(port: int, ones: int) -> None:
    settings = RedisSettings(host="127.0.0.1", port=port)
    pool = await create_pool(settings)
    count = Count(ones)

    async def job(context: dict[str, Any], number: int) -> None:  # noqa: ARG001 - how it is called
        await count()

    async def single() -> None:
        await at_once(ones, lambda: pool.enqueue_job("job", 1))

    async def work() -> None:
        worker = Worker(
            [func(job, name="job")],
            redis_settings=settings,
            max_jobs=10,
            burst=True,
            keep_result=0,
            poll_delay=0.01,
            queue_read_limit=100,
            handle_signals=False,
        )
        await worker.async_run()
        await worker.close()
        assert count.left == 0, count.left

    await turns(single, work)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
