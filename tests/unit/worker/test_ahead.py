from __future__ import annotations

from pathlib import Path

import pytest

from perseid.model.ids import CrawlId
from perseid.ports.store import NewCrawl
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.clock import FakeClock
from perseid.testing.conformance.store.desk import FREE, HOME, page
from perseid.worker.loop import LoopOptions, WorkerLoop


@pytest.mark.parametrize(
    ("finished", "seconds", "ahead"),
    [(1, 10.0, 16), (0, 0.0, 16), (16, 0.1, 16), (60, 0.1, 60), (100, 0.05, 128), (1, 0.0, 100)],
)
def test_fast_pages_are_claimed_further_ahead_within_bounds(finished, seconds, ahead):
    assert LoopOptions(concurrency=16, ahead_s=0.1, only=CrawlId(1)).ahead(finished, seconds) == ahead


@pytest.mark.parametrize(("finished", "seconds", "ahead"), [(16, 0.1, 16), (16, 0.01, 32), (1_000, 0.01, 128)])
def test_a_worker_for_all_crawls_holds_what_is_done_in_a_moment(finished, seconds, ahead):
    assert LoopOptions(concurrency=16, ahead_s=0.1, shared_ahead_s=0.02).ahead(finished, seconds) == ahead


async def test_nothing_is_remembered_of_work_that_was_given_back(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "perseid.db", defaults=FREE)
    worker = await store.register("here", 1, 1)
    urls = tuple(page(f"{number}") for number in range(5))
    crawl = await store.start(NewCrawl(uid="u", url=HOME, options=b"{}", key_seed=1, first=urls))
    loop = WorkerLoop(store, None, LoopOptions(), enroll=None, clock=FakeClock(), telemetry=None)
    loop._take_in(await store.step(worker, (), 5))
    assert len(loop._taken_in) == 5
    loop.drop({crawl})
    assert loop._taken_in == {}
    await store.close()
