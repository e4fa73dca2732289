"""Behind a real PgBouncer in transaction mode, with fewer connections to the server than there are to it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from perseid.errors import StoreUnavailable
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Done, Finished, NewUrl
from perseid.store.postgres.store import PgStore
from perseid.testing.child import Command
from perseid.testing.cluster import PgBouncer
from perseid.testing.postgres import url_of
from perseid.testing.site import Site

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
PAGES = 60
PROCESSES = 6


@pytest.fixture
def pooled(name: str) -> Iterator[str]:
    pooler = PgBouncer(url_of(name), connections=2)
    yield pooler.through(url_of(name))
    pooler.dispose()


def page(number: int) -> NewUrl:
    return NewUrl(f"https://a.example/{number}", number, "a.example")


async def work(store: PgStore, dice: random.Random) -> int:
    """Until nothing is left; how many pages were kept."""
    worker = await store.register("here", 1, 1)
    done, idle, finished = 0, 0, []
    while idle < 20:
        result = await store.step(worker, finished, 4)
        done += sum(result.kept)
        finished = [
            Finished(lease=lease, end=Done(), urls=[page(dice.randrange(PAGES)) for _ in range(10)])
            for lease in result.leases
        ]
        idle = 0 if finished or result.kept else idle + 1
        await asyncio.sleep(0 if finished else 0.01)
    return done


async def test_many_clients_share_few_connections(pooled: str) -> None:
    stores = [await PgStore.open(pooled, defaults=FREE, connections=2) for _ in range(PROCESSES)]
    everywhere = tuple(page(number) for number in range(PAGES))
    await stores[0].start(NewCrawl(uid="c", url=page(0).url, options=b"{}", key_seed=1, first=everywhere))
    done = await asyncio.gather(*(work(store, random.Random(n)) for n, store in enumerate(stores)))
    assert sum(done) == PAGES
    assert await stores[1].audit() == []
    assert [crawl.counts.done for crawl in await stores[2].crawls()] == [PAGES]
    for store in stores:
        await store.close()


@pytest.mark.slow
async def test_a_site_is_crawled_by_several_processes(pooled: str, tmp_path: Path) -> None:
    async with Site() as site:
        site.links({"/": [f"/{n}" for n in range(6)], **{f"/{n}": [f"/{n}/{m}" for m in range(6)] for n in range(6)}})
        command = Command(
            "crawl", site.url("/"), "--processes", "2", "--out", str(tmp_path / "out"), folder=tmp_path,
            environment={"PERSEID_STORE__URL": pooled, "PERSEID_FETCH__ALLOW_PRIVATE": "true"},
        )  # fmt: skip
        ended = await asyncio.to_thread(command.wait, 120)
    assert ended.status == 0, ended.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows) == 1 + 6 + 36


async def test_a_pooler_that_went_costs_a_call_and_comes_back(name: str) -> None:
    pooler = PgBouncer(url_of(name))
    store = await PgStore.open(pooler.through(url_of(name)), defaults=FREE, connections=2)
    await store.crawls()
    pooler.dispose()
    with pytest.raises(StoreUnavailable):
        await store.crawls()
    await store.close()
