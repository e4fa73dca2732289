"""Workers share a crawl, go and are replaced in its middle, and every page is fetched once."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import perseid
from perseid._version import __version__
from perseid.ports.store import Drain
from perseid.testing import Site

pytestmark = pytest.mark.slow

PAGES = 300
MIDDLE = 60


def whole(fleet: Any, site: Site, uid: str) -> None:
    """All that can be reached is there once, was asked for once, and nothing is held or miscounted."""
    reachable = sorted(["", *(f"page-{number}" for number in range(1, PAGES))])
    assert sorted(fleet.paths(uid)) == reachable
    counts = {path: times for path, times in site.counts().items() if path == "/" or path.startswith("/page-")}
    assert {path: times for path, times in counts.items() if times != 1} == {}
    assert fleet.leases() == 0
    assert fleet.audit() == []


def test_two_processes_share_a_crawl(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2) as worker:
        worker.ready(2)
        rows = fleet.workers()
        assert {row.pid for row in rows} == worker.pids()
        assert {(row.slots, row.version) for row in rows} == {(4, __version__)}
        fleet.finish(uid, worker)
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    assert site.peak() > 4, "more than one of them worked"
    assert fleet.workers() == []
    whole(fleet, site, uid)


def test_worker_that_drains_finishes_what_it_began_and_leaves_the_rest(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2) as first:
        site.wait(n=MIDDLE, timeout_s=60)
        first.signal(signal.SIGTERM)
        assert first.ended() == 0
    assert fleet.workers() == []
    assert fleet.leases() == 0
    done = fleet.crawl(uid).counts.done
    assert 0 < done < PAGES
    with fleet.worker(2) as second:
        fleet.finish(uid, second)
        second.signal(signal.SIGTERM)
        assert second.ended() == 0
    whole(fleet, site, uid)


def test_second_signal_gives_back_what_is_in_flight(fleet: Any, site: Site) -> None:
    for number in range(1, 7):
        site.page(f"/page-{number}", "<p>late</p>", delay_s=20.0)
    uid = fleet.start(site.url("/"))
    with fleet.worker(1) as worker:
        site.wait("/page-2", timeout_s=60)
        worker.signal(signal.SIGTERM)
        time.sleep(0.5)  # the first one waits for the pages
        assert worker.command.running()
        worker.signal(signal.SIGTERM)
        began = time.monotonic()
        assert worker.ended() == 0
        assert time.monotonic() - began < 8
    assert fleet.leases() == 0
    assert fleet.crawl(uid).counts.open_pages == 6


def test_rolling_restart_loses_and_repeats_no_page(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2) as worker:
        site.wait(n=MIDDLE, timeout_s=60)
        old = worker.pids()
        worker.signal(signal.SIGHUP)
        while worker.pids() & old:
            assert worker.command.running(), worker.command.stderr
            time.sleep(0.05)
        fleet.finish(uid, worker)
        worker.ready(2)
        assert len(worker.pids()) == 2
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    whole(fleet, site, uid)


def test_process_that_has_done_enough_is_replaced(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    seen: set[int] = set()
    with fleet.worker(2, "--max-pages", "25") as worker:
        fleet.finish(uid, worker, meanwhile=lambda: seen.update(worker.pids()))
        numbers = worker.probe("/metrics")[1]
        assert 'perseid_jobs_total{kind="page",outcome="done"} 299.0' in numbers, "and the kickoff: none is forgotten"
        kept = list((fleet.folder / "data" / "metrics").rglob("counter_*.db"))
        assert len(kept) <= 4, "nor has each that ended a file of its own"
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    assert len(seen) >= 5, "300 pages by 25 each, and those that it holds when it has done so many"
    whole(fleet, site, uid)


def test_worker_asked_by_the_store_goes_or_is_replaced(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2) as worker:
        worker.ready(2)
        leaving, replaced = sorted(fleet.workers())
        assert fleet.look(lambda store: store.drain(leaving.id, Drain.LEAVE))
        assert fleet.look(lambda store: store.drain(replaced.id, Drain.REPLACE))
        while worker.pids() & {leaving.pid, replaced.pid}:
            assert worker.command.running(), worker.command.stderr
            time.sleep(0.05)
        worker.ready(1)
        fleet.finish(uid, worker)
        (last,) = fleet.workers()
        assert fleet.look(lambda store: store.drain(last.id, Drain.LEAVE))
        assert worker.ended() == 0, "nobody is left to work"
    whole(fleet, site, uid)


def test_killed_process_is_replaced_and_its_pages_come_back(fleet: Any, site: Site) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2) as worker:
        site.wait(n=MIDDLE, timeout_s=60)
        victim = min(worker.pids())

        os.kill(victim, signal.SIGKILL)
        fleet.finish(uid, worker)
        worker.ready(2)
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    assert len(fleet.paths(uid)) == len(set(fleet.paths(uid))) == PAGES
    assert fleet.leases() == 0
    assert fleet.audit() == []


def test_probes_tell_who_is_at_work(fleet: Any, site: Site) -> None:
    with fleet.worker(2) as worker:
        worker.ready(2)
        assert worker.probe("/live") == (200, {"status": "ok", "processes": 2})
        assert worker.probe("/ready") == (200, {"status": "ok", "processes": 2, "enrolled": 2})
        assert worker.probe("/elsewhere")[0] == 404
        uid = fleet.start(site.url("/"), limit=5)
        fleet.finish(uid, worker)
        status, numbers = worker.probe("/metrics")
        assert status == 200
        assert 'perseid_jobs_total{kind="page",outcome="done"} 4.0' in numbers, "and the kickoff"
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0


def test_worker_waits_for_a_store_that_is_away(tmp_path: Any, fleet: Any) -> None:
    fleet.url = "postgresql://nobody@127.0.0.1:1/nothing"
    with fleet.worker(1) as worker:
        while worker.probe("/live")[0] != 200:
            assert worker.command.running(), worker.command.stderr
            time.sleep(0.02)
        status, body = worker.probe("/ready")
        assert (status, body["reason"]) == (503, "the store is away")
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    assert "can't be reached" in worker.command.stderr


def test_two_releases_share_a_crawl_while_a_fleet_is_upgraded(fleet: Any, site: Site, tmp_path: Path) -> None:
    ours = Path(perseid.__file__).parent
    shutil.copytree(ours, tmp_path / "older" / "perseid", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "older" / "perseid" / "_version.py").write_text('__version__ = "0.0.9"\n')
    uid = fleet.start(site.url("/"))
    with fleet.worker(1, PYTHONPATH=str(tmp_path / "older")) as old, fleet.worker(1) as new:
        old.ready(1)
        new.ready(1)
        assert {row.version for row in fleet.workers()} == {"0.0.9", __version__}
        old.signal(signal.SIGTERM)
        assert old.ended() == 0
        fleet.finish(uid, new)
        new.signal(signal.SIGTERM)
        assert new.ended() == 0
    whole(fleet, site, uid)
