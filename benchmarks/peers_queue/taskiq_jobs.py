"""taskiq over a Redis stream, acknowledged one by one when a job is done: `python taskiq_jobs.py REDIS-PORT ONES`."""

from __future__ import annotations

import asyncio
import sys

from taskiq.api import run_receiver_task
from taskiq_redis import RedisStreamBroker
from turns import Count, at_once, turns


async def main(port: int, ones: int) -> None:
    broker = RedisStreamBroker(url=f"redis://127.0.0.1:{port}/0", max_connection_pool_size=20)
    count = Count(ones)

    @broker.task(task_name="job")
    async def job(number: int) -> None:  # noqa: ARG001 - how it is called
        await count()

    async def single() -> None:
        await at_once(ones, lambda: job.kiq(1))

    async def work() -> None:
        broker.is_worker_process = True
        await broker.startup()
        receiver = asyncio.create_task(run_receiver_task(broker, max_async_tasks=10, run_startup=False))
        await count.all.wait()
        receiver.cancel()

    await broker.startup()
    await turns(single, work)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
