"""Whoever writes to sinks may be killed at any moment: each item is there once all the same."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import msgspec
import pytest

from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import Harvest, NewItem
from perseid.ports.store import NewCrawl
from perseid.ports.truth import Truth
from perseid.ports.work import Done, Finished
from perseid.testing import ground
from perseid.testing.conformance.store.desk import FREE, page

pytestmark = pytest.mark.slow
ITEMS = 1_500
KILLS = 6

WORK = """
import asyncio, pathlib, sys
from perseid.config.settings import Settings
from perseid.observe.telemetry import LogTelemetry
from perseid.runtime.clock import SystemClock
from perseid.runtime.sinking import SinkRoom
from perseid.testing.ground import Ground, open_store
from perseid.worker.duties.sinks import SinkOptions, Sinks
from perseid.worker.stop import Stop

async def main(folder, *stands):
    store = await open_store(Ground(*stands), pathlib.Path(folder) / "perseid.db")
    settings = Settings(connections={"db": f"sqlite://{folder}/items.db"}, folders={"out": folder})
    options = SinkOptions(write_s=0.5, poll_s=0.01, batch_items=20)
    room = SinkRoom(store.configs, settings)
    worker = await store.register("here", 1, 1)
    sinks = Sinks(
        store.items, room, options, whose=lambda: worker, clock=SystemClock(), telemetry=LogTelemetry()
    )
    await sinks.run(Stop())

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def at_work(folder: Path, stands: ground.Ground) -> AsyncIterator[None]:
    """A process that writes to the sinks, killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORK, str(folder), *msgspec.structs.astuple(stands)
    )
    try:
        yield
        assert process.returncode is None, "it ended by itself"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def bring(store: Truth) -> None:
    task = page("https://shop.example/all", kind=JobKind.TASK)
    new = NewCrawl(uid="run", url=task.url, options=b"{}", key_seed=1, kind=CrawlKind.SEED, first=(task,))
    crawl = await store.start(new)
    worker = await store.register("here", 1, 1)
    (lease,) = (await store.step(worker, [], 1, crawl=crawl)).leases
    harvest = Harvest(
        team=1,
        site=(await store.seeds.put_site(1, "shop.example")).id,
        rule_version=1,
        url=lease.url,
        fetched_at=1_750_000_000_000_000,
        items=[NewItem(f"k{number}", msgspec.json.encode({"n": number})) for number in range(ITEMS)],
        sinks=("rows", "lines", "table"),
    )
    await store.step(worker, [Finished(lease=lease, end=Done(), harvest=harvest)], 0)


async def test_each_item_is_written_once_however_often_the_writer_is_killed(tmp_path: Path) -> None:
    stands = await ground.take()
    store = await ground.open_store(stands, tmp_path / "perseid.db", defaults=FREE)
    for name, body in (
        ("rows", b'{"connection":"db","table":"items"}'),
        ("lines", b'{"connection":"out","table":"items"}'),
        ("table", b'{"connection":"out","table":"items","format":"csv"}'),
    ):
        await store.configs.publish(NewVersion(team=1, kind=ConfigKind.SINK, name=name, body=body))
    await bring(store)

    async def until(settled: int) -> None:
        async with asyncio.timeout(120):
            while True:
                states = await store.items.sink_states(1)
                if not any(state.waiting for state in states) or sum(state.settled for state in states) >= settled:
                    return
                await asyncio.sleep(0.002)

    try:
        for kill in range(KILLS):
            async with at_work(tmp_path, stands):
                await until(7 * (kill + 1))
        async with at_work(tmp_path, stands):
            await until(sys.maxsize)
    finally:
        await store.close()
        await ground.give_back(stands)
    expected = sorted(f"k{number}" for number in range(ITEMS))
    with apsw.Connection(str(tmp_path / "items.db")) as connection:
        assert [key for (key,) in connection.execute("SELECT unique_key FROM items ORDER BY unique_key")] == expected
    lines = (tmp_path / "items.jsonl").read_bytes().splitlines()
    assert sorted(msgspec.json.decode(line)["unique_key"] for line in lines) == expected
    assert (
        sorted(row.split(b",")[1].decode() for row in (tmp_path / "items.csv").read_bytes().splitlines()[1:])
        == expected
    )
