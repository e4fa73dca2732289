"""Which processes are there, and whose leases are free because they are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perseid.crawls.start import new_batch
from perseid.model.options import ScrapeOptions
from perseid.store.sqlite.store import SqliteStore
from perseid.worker.enroll import enroll, host_identity, process_started, take_over_dead

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def test_the_identity_of_a_host_stays() -> None:
    assert host_identity() == host_identity()


def test_a_process_that_lives_has_a_beginning() -> None:
    assert process_started(os.getpid()) == process_started(os.getpid()) > 0


def test_a_process_that_has_ended_has_none_even_before_anybody_looked() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(process.pid) == -1
    process.wait()
    process.stdout.close()
    assert process_started(process.pid) == -1


async def test_leases_of_a_dead_process_of_this_host_are_taken_over_at_once(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "perseid.db")
    await store.start(new_batch(["http://e.test/a", "http://e.test/b"], ScrapeOptions(), uid="u", key_seed=1))
    reused = await store.register(host_identity(), os.getpid(), process_started(os.getpid()) - 1)
    elsewhere = await store.register("another host", os.getpid(), 1)
    for worker in (reused, elsewhere):
        assert len((await store.step(worker, [], 1)).leases) == 1
    assert await take_over_dead(store) == 1
    ours = await enroll(store)
    assert {worker.id for worker in await store.workers()} == {elsewhere, ours}
    await store.close()
