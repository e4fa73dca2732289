"""How long after a crawl is started its first job is claimed, by a worker in another process that sleeps.

    python -m benchmarks.delivery [--rounds 200] [--store postgresql] [--deliveries direct,rabbitmq,redis]

The enqueueing side is a `Client`'s way: commit, look, publish. The other process runs the real loop over the real
store; the job it claims is told back over a pipe, so that one clock measures both ends. What `direct` is depends on
the store: on PostgreSQL its notices, on SQLite polling.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from perseid.config.settings import DeliverySettings, Settings, StoreSettings
from perseid.model.crawl import CrawlKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import Done, Finished, Lease, NewUrl
from perseid.runtime.clock import SystemClock
from perseid.runtime.delivering import delivering
from perseid.runtime.stores import open_store
from perseid.testing.brokers import RedisServer, own_vhost
from perseid.testing.conformance.delivery.backend import Heard
from perseid.worker.enroll import enroll
from perseid.worker.loop import LoopOptions, WorkerLoop
from perseid.worker.stop import Stop


class Quiet(Heard):
    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        pass


class Teller:
    """An executor that tells when a job began, and is done with it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    async def run(self, lease: Lease) -> Finished:
        self._pipe.send(time.monotonic_ns())
        return Finished(lease=lease, end=Done())


def work(folder: str, settings: Settings, pipe: Connection) -> None:
    asyncio.run(_work(Path(folder), settings, pipe))


async def _work(folder: Path, settings: Settings, pipe: Connection) -> None:
    store, _blobs = await open_store(folder, settings)
    stop, telemetry, clock = Stop(), Quiet(), SystemClock()
    loop: WorkerLoop
    async with delivering(
        settings.delivery, store, whose=lambda: loop.worker, takes=True, alone=False, clock=clock, telemetry=telemetry
    ) as post:
        loop = WorkerLoop(
            store,
            Teller(pipe),  # type: ignore[arg-type]
            LoopOptions(concurrency=16),
            enroll=lambda: enroll(store, slots=16),
            clock=clock,
            telemetry=telemetry,
            news=post.tickets,
        )

        async def over() -> bool:
            return pipe.poll()

        duties = [asyncio.create_task(duty) for duty in post.duties(loop, stop)]
        pipe.send(0)
        await loop.run(stop, over)
        stop.ask()
        await asyncio.gather(*duties)
    await store.close()


async def enqueue(folder: Path, settings: Settings, pipe: Connection, rounds: int) -> list[float]:
    store, _blobs = await open_store(folder, settings)
    found = []
    async with delivering(
        settings.delivery, store, whose=lambda: 0, takes=False, alone=False, clock=SystemClock(), telemetry=Quiet()
    ) as post:
        await asyncio.to_thread(pipe.recv)
        await asyncio.sleep(3.0)  # it has looked in vain, and sleeps
        for number in range(rounds):
            url = f"https://h{number}.example/"
            first = (NewUrl(url, number, f"h{number}.example"),)
            new = NewCrawl(
                uid=f"{time.time_ns()}", url=url, options=b"{}", key_seed=1, kind=CrawlKind.BATCH, first=first
            )
            await store.start(new)
            committed = time.monotonic_ns()
            await post.look()
            found.append((await asyncio.to_thread(pipe.recv) - committed) / 1e6)
            await asyncio.sleep(0.15)
    pipe.send(0)
    await store.close()
    return found


async def measure(store: str, delivery: str, rounds: int) -> list[float]:
    settings = Settings()
    redis = None
    if store == "postgresql":
        from perseid.testing.postgres import take_database, url_of  # noqa: PLC0415 - only where it is used

        settings = msgspec.structs.replace(settings, store=StoreSettings(url=url_of(await take_database())))
    if delivery == "rabbitmq":
        url = DeliverySettings(url=own_vhost(), prefix=f"{time.time_ns()}.")
        settings = msgspec.structs.replace(settings, delivery=url)
    elif delivery == "redis":
        redis = RedisServer()
        await redis.start()
        settings = msgspec.structs.replace(settings, delivery=DeliverySettings(url=redis.url))
    with tempfile.TemporaryDirectory() as folder:
        here, there = multiprocessing.get_context("spawn").Pipe()
        worker = multiprocessing.get_context("spawn").Process(target=work, args=(folder, settings, there))
        worker.start()
        try:
            return await enqueue(Path(folder), settings, here, rounds)
        finally:
            worker.join(10)
            worker.kill()
            if redis is not None:
                redis.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--store", default="postgresql")
    parser.add_argument("--deliveries", default="direct,rabbitmq,redis")
    asked = parser.parse_args()
    print(f"from commit to claim on {asked.store}, {asked.rounds} rounds, ms")
    for delivery in asked.deliveries.split(","):
        found = sorted(asyncio.run(measure(asked.store, delivery, asked.rounds)))
        p50, p95 = statistics.median(found), found[int(len(found) * 0.95)]
        print(f"{delivery:10} p50 {p50:7.2f}  p95 {p95:7.2f}  most {found[-1]:7.2f}", flush=True)


if __name__ == "__main__":
    main()
