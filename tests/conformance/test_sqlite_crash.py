"""Workers killed at any moment cost a refetch at most: no page is lost, none is stored twice."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import WorkerId
from perseid.ports.store import NewCrawl
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.store.desk import FREE, page

PAGES = 400
AT_ONCE = 5
WORKER = f"""
import asyncio, sys
from pathlib import Path
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.store.desk import FREE, ended, page

def links(url):
    n = int(url.rpartition("/")[2])
    return [page(f"https://h{{to % 3}}.example/{{to}}") for to in (2 * n + 1, 2 * n + 2, n + 7) if to < {PAGES}]

async def work(path):
    store = await SqliteStore.open(path, defaults=FREE)
    worker = await store.register("here", 1, 1)
    print(worker, flush=True)
    held = []
    while True:
        held = (await store.step(worker, [ended(lease, *links(lease.url)) for lease in held], {AT_ONCE})).leases
        print(*(lease.url for lease in held), flush=True)
        if not held:
            return await store.close()

asyncio.run(work(Path(sys.argv[1])))
"""


def work_and_die(path: Path, steps: int) -> tuple[WorkerId, list[str]]:
    """Run a worker of its own process and kill it after some steps; its id and the URLs it claimed."""
    with subprocess.Popen([sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = WorkerId(int(process.stdout.readline()))
        claimed: list[str] = []
        for _ in range(steps):
            urls = process.stdout.readline().split()
            if not urls:
                break
            claimed += urls
        process.kill()
    return worker, claimed


@pytest.mark.parametrize("seed", range(2))
async def test_killed_workers_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "perseid.db"
    store = await SqliteStore.open(path, defaults=FREE)
    start = page("https://h0.example/0")
    crawl = await store.start(NewCrawl(uid="c", url=start.url, options=b"", key_seed=1, first=(start,)))
    for _ in range(200):
        worker, claimed = work_and_die(path, chance.randint(1, 25))
        assert await store.reap([worker]) <= AT_ONCE
        assert await store.audit() == []
        seen = await store.crawl("c")
        if seen.status is CrawlStatus.COMPLETED:
            break
        assert claimed, "work waits, yet a worker got none"
    assert seen.status is CrawlStatus.COMPLETED
    documents = [row.url for row in await store.documents(crawl, limit=1000)]
    assert sorted(documents) == sorted(f"https://h{n % 3}.example/{n}" for n in range(PAGES))
    assert seen.counts.failed == 0
    await store.close()
