"""pgqueuer, acknowledged by its buffer: `python pgqueuer_jobs.py URL ONES JOBS`.

Ten jobs are claimed at a time, and up to twenty in flight: it wants at least twice a batch.
"""

from __future__ import annotations

import asyncio
import sys

import asyncpg
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from turns import Count, at_once, turns


async def main(url: str, ones: int, jobs: int) -> None:
    async with asyncpg.create_pool(url, min_size=12, max_size=12) as pool:
        driver = AsyncpgPoolDriver(pool)
        queries = Queries(driver)
        await queries.install()
        count = Count(ones + jobs)
        manager = QueueManager(queries)

        @manager.entrypoint("job")
        async def job(job: Job) -> None:  # noqa: ARG001 - how it is called
            await count()

        async def single() -> None:
            await at_once(ones, lambda: queries.enqueue("job", b"1"))

        async def bulk() -> None:
            for at in range(0, jobs, 500):
                some = min(500, jobs - at)
                await queries.enqueue(["job"] * some, [b"1"] * some, [0] * some)

        async def work() -> None:
            await manager.run(batch_size=10, max_concurrent_tasks=20, mode=QueueExecutionMode.drain)
            assert count.left == 0, count.left

        await turns(single, bulk, work)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
