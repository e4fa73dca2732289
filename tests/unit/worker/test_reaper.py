"""Who is dead: a beat that stood still in time in which we could look, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from perseid.crawls.start import new_batch
from perseid.model.options import ScrapeOptions
from perseid.observe.telemetry import LogTelemetry
from perseid.store.sqlite.store import SqliteStore
from perseid.testing import FakeClock
from perseid.worker.duties.reaper import Reaper


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "perseid.db")
    await store.start(new_batch(["http://e.test/a"], ScrapeOptions(), uid="u", key_seed=1))
    yield store
    await store.close()


def _reaper(store: SqliteStore, clock: FakeClock) -> Reaper:
    return Reaper(store, clock, LogTelemetry(), every_s=2.0, dead_after_s=10.0)


async def _look(reaper: Reaper, clock: FakeClock, times: int, seconds: float = 2.0) -> int:
    returned = 0
    for _ in range(times):
        await clock.advance(seconds)
        returned += await reaper.look()
    return returned


async def test_a_beat_that_stands_still_is_death(store: SqliteStore) -> None:
    clock = FakeClock()
    reaper = _reaper(store, clock)
    worker = await store.register("elsewhere", 1, 1)
    assert len((await store.step(worker, [], 1)).leases) == 1
    assert await _look(reaper, clock, 5) == 0
    assert await _look(reaper, clock, 2) == 1
    assert await store.workers() == []


async def test_a_beat_that_goes_on_is_life(store: SqliteStore) -> None:
    clock = FakeClock()
    reaper = _reaper(store, clock)
    worker = await store.register("elsewhere", 1, 1)
    await store.step(worker, [], 1)
    for _ in range(20):
        await store.beat(worker)
        assert await _look(reaper, clock, 1) == 0


async def test_a_laptop_that_slept_makes_nobody_dead(store: SqliteStore) -> None:
    clock = FakeClock()
    reaper = _reaper(store, clock)
    worker = await store.register("elsewhere", 1, 1)
    await store.step(worker, [], 1)
    await _look(reaper, clock, 1)
    assert await _look(reaper, clock, 1, seconds=8 * 3600.0) == 0


async def test_what_a_dead_worker_held_is_found_by_the_next_one(store: SqliteStore) -> None:
    clock = FakeClock()
    reaper = _reaper(store, clock)
    worker = await store.register("elsewhere", 1, 1)
    (lost,) = (await store.step(worker, [], 1)).leases
    await _look(reaper, clock, 8)
    (found,) = (await store.step(await store.register("here", 2, 2), [], 1)).leases
    assert (found.job, found.lock != lost.lock, found.stalls) == (lost.job, True, 1)


async def test_a_duty_ends_with_its_stop(store: SqliteStore) -> None:
    from perseid.worker.stop import Stop  # noqa: PLC0415

    stop = Stop()
    stop.ask()
    done: Any = await _reaper(store, FakeClock()).run(stop)
    assert done is None
