"""When a process is to be replaced: by what it ran, and by what it holds."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from perseid.config.settings import WorkerSettings
from perseid.runtime import wear
from perseid.runtime.wear import Wear, resident_bytes
from perseid.worker.stop import Stop

RUN = cast("Any", None)


def test_without_bounds_it_is_never_enough() -> None:
    worn = Wear(WorkerSettings())
    for _ in range(1_000):
        worn.job_finished(RUN)
    assert not worn.bounded
    assert worn.reason() == ""


def test_enough_is_by_a_tenth_less_than_the_bound_and_never_more(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = set()
    for pid in range(64):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        worn = Wear(WorkerSettings(max_pages=1_000))
        while not worn.reason():
            worn.job_finished(RUN)
        bounds.add(worn.runs)
    assert min(bounds) >= 900
    assert max(bounds) == 1_000
    assert len(bounds) > 5, "processes that began together are not replaced together"


def test_a_bound_of_one_page_is_one_page() -> None:
    worn = Wear(WorkerSettings(max_pages=1))
    assert worn.reason() == ""
    worn.job_finished(RUN)
    assert worn.reason() == "it ran 1 jobs (worker.max_pages)"


def test_memory_counts_once_the_process_has_lived_a_while() -> None:
    assert resident_bytes() > 10_000_000
    young = Wear(WorkerSettings(max_memory_mb=1))
    assert young.bounded
    assert young.reason() == ""
    old = Wear(WorkerSettings(max_memory_mb=1), least_life_s=0.0)
    assert "worker.max_memory_mb" in old.reason()
    assert Wear(WorkerSettings(max_memory_mb=1_000_000), least_life_s=0.0).reason() == ""


async def test_it_looks_until_it_is_enough_or_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wear, "_LOOK_S", 0.01)
    worn, stop = Wear(WorkerSettings(max_pages=1)), Stop()
    watching = asyncio.create_task(worn.until_enough(stop))
    worn.job_finished(RUN)
    assert "max_pages" in await watching
    stop.ask()
    assert await Wear(WorkerSettings(max_pages=1)).until_enough(stop) == ""
