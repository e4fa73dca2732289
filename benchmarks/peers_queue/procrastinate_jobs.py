"""procrastinate: one row, one notice and one acknowledgement a job; `python procrastinate_jobs.py URL ONES JOBS`."""

from __future__ import annotations

import asyncio
import sys

import procrastinate
from turns import Count, at_once, turns


async def main(url: str, ones: int, jobs: int) -> None:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=10, max_size=12))
    count = Count(ones + jobs)

    @app.task(name="job", queue="jobs")
    async def job(number: int) -> None:  # noqa: ARG001 - how it is called
        await count()

    async def single() -> None:
        await at_once(ones, lambda: job.defer_async(number=1))

    async def bulk() -> None:
        for at in range(0, jobs, 500):
            await job.batch_defer_async(*({"number": n} for n in range(at, min(at + 500, jobs))))

    async def work() -> None:
        await app.run_worker_async(
            queues=["jobs"], concurrency=10, wait=False, install_signal_handlers=False, listen_notify=False
        )
        assert count.left == 0, count.left

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await turns(single, bulk, work)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
