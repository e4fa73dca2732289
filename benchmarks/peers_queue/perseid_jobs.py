"""Perseid's own queue: `python perseid_jobs.py URL-OR-FOLDER ONES JOBS HOW [--delivery URL] [--synced]`.

HOW is `worker` (the loop of `perseid worker`), `bound` (that of a worker bound to one crawl, which claims further
ahead) or `single` (each of ten runners commits its one job and claims its next).
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import Any

from turns import Count, at_once, turns

from perseid.config.settings import DeliverySettings
from perseid.model.crawl import CrawlKind
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Done, Finished, Lease, NewUrl
from perseid.runtime.clock import SystemClock
from perseid.runtime.delivering import delivering
from perseid.store.postgres.store import PgStore
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.delivery.backend import Heard
from perseid.worker.enroll import enroll
from perseid.worker.loop import LoopOptions, WorkerLoop
from perseid.worker.stop import Stop

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
CHUNK = 500


class SyncedPg(PgStore):
    """Every commit is on disk before it counts, not those of new work alone."""

    async def _write(self, work: Any, *, synced: bool = True, single: bool = False) -> Any:  # noqa: ARG002
        return await super()._write(work, synced=True)


class SyncedSqlite(SqliteStore):
    async def _write(self, work: Any, *, synced: bool = True, brief: bool = False) -> Any:  # noqa: ARG002
        return await super()._write(work, synced=True)


class Quiet(Heard):
    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        pass


class Caller:
    """Calls the task function of each job."""

    def __init__(self, count: Count) -> None:
        self._count = count

    async def run(self, lease: Lease) -> Finished:
        await self._count()
        return Finished(lease=lease, end=Done())


async def opened(place: str, *, synced: bool) -> PgStore | SqliteStore:
    if place.startswith("postgresql:"):
        return await (SyncedPg if synced else PgStore).open(place, defaults=FREE, connections=10)
    return await (SyncedSqlite if synced else SqliteStore).open(Path(place) / "perseid.db", defaults=FREE)


def url(number: int) -> NewUrl:
    return NewUrl(f"https://jobs.example/{number}", number, "jobs.example")


class Queue:
    def __init__(self, store: Any, ones: int, jobs: int, how: str, delivery: str | None) -> None:
        self._store = store
        self._ones = ones
        self._jobs = jobs
        self._how = how
        self._delivery = DeliverySettings(url=delivery) if delivery else DeliverySettings()
        self._crawl = 0
        self._next = 1

    async def begin(self) -> None:
        """A batch to append to; its first URL is a job that is not measured."""
        new = NewCrawl(
            uid="batch",
            url="https://jobs.example/0",
            options=b"{}",
            key_seed=1,
            kind=CrawlKind.BATCH,
            first=(url(0),),
        )
        self._crawl = await self._store.start(new)

    async def single(self) -> None:
        def one() -> Any:
            self._next += 1
            return self._store.append(self._crawl, [url(self._next - 1)])

        await at_once(self._ones, one)

    async def bulk(self) -> None:
        for at in range(0, self._jobs, CHUNK):
            await self._store.append(self._crawl, [url(self._next + n) for n in range(at, min(at + CHUNK, self._jobs))])

    async def work(self) -> None:
        count = Count(1 + self._ones + self._jobs)
        await (self._one_by_one(count) if self._how == "single" else self._by_loop(count))
        assert count.left == 0, count.left

    async def _one_by_one(self, count: Count) -> None:
        worker = await self._store.register("here", os.getpid(), 1)

        async def runner() -> None:
            finished: list[Finished] = []
            while True:
                result = await self._store.step(worker, finished, 1)
                if not result.leases:
                    return
                await count()
                finished = [Finished(lease=result.leases[0], end=Done())]

        await asyncio.gather(*(runner() for _ in range(10)))

    async def _by_loop(self, count: Count) -> None:
        stop, telemetry, clock = Stop(), Quiet(), SystemClock()
        only = self._crawl if self._how == "bound" else None
        loop: WorkerLoop
        async with delivering(
            self._delivery,
            self._store,
            whose=lambda: loop.worker,
            takes=True,
            alone=not self._delivery.url,
            clock=clock,
            telemetry=telemetry,
        ) as post:
            loop = WorkerLoop(
                self._store,
                Caller(count),  # type: ignore[arg-type]
                LoopOptions(concurrency=10, only=only),
                enroll=lambda: enroll(self._store, slots=10),
                clock=clock,
                telemetry=telemetry,
                news=post.tickets,
            )

            async def over() -> bool:
                return count.left == 0

            duties = [asyncio.create_task(duty) for duty in post.duties(loop, stop)]
            await loop.run(stop, over)
            stop.ask()
            await asyncio.gather(*duties)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("place")
    parser.add_argument("ones", type=int)
    parser.add_argument("jobs", type=int)
    parser.add_argument("how", choices=("worker", "bound", "single"))
    parser.add_argument("--delivery")
    parser.add_argument("--synced", action="store_true")
    asked = parser.parse_args()
    store = await opened(asked.place, synced=asked.synced)
    queue = Queue(store, asked.ones, asked.jobs, asked.how, asked.delivery)
    await queue.begin()

    await turns(queue.single, queue.bulk, queue.work)
    assert await store.audit() == []
    await store.close()


asyncio.run(main())
