"""A worker that stands still for so long that others take its pages over, and then goes on as if nothing had been."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import apsw
import pytest

from perseid.sink.place import Place
from perseid.testing.child import command, served
from perseid.testing.result import Held, check, leases

pytestmark = pytest.mark.slow

TIMEOUT_S = 120
PAGES = 1_200
SETTINGS = {"PERSEID_WORKER__DEAD_AFTER_S": "3", "PERSEID_WORKER__BEAT_S": "0.5"}


def _freeze(pid: int, out: Path) -> list[Held]:
    """Stop a process where it holds leases but not the database: all others would stand still with it, rightly."""
    deadline = time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline, "it never held leases alone"
        os.kill(pid, signal.SIGSTOP)
        held = leases(out, pid=pid)
        if held and _may_write(out):
            return held
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)


def _may_write(out: Path) -> bool:
    connection = apsw.Connection(str(Place(out).database), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(2_000)  # others than the one that stands still go on
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return False
    finally:
        connection.close()
    return True


@pytest.mark.parametrize("role", ["first", "further"])
def test_a_worker_that_was_given_up_writes_nothing_late(role: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shape = ("--pages", str(PAGES), "--links", "20", "--delay-ms", "20")
    with served("perseid.testing.site", *shape) as server:
        arguments = ("crawl", server.url, "--out", str(out), "--json", "--processes", "3", "--concurrency", "4")
        with command(*arguments, folder=tmp_path, environment=SETTINGS) as running:
            asked = 1  # the site counts these questions, too
            while server.ask("-/stats")["distinct"] < PAGES // 10:
                assert running.running(), running.stderr
                asked += 1
                time.sleep(0.01)
            frozen = running.pid if role == "first" else running.workers()[0]
            held = _freeze(frozen, out)
            deadline = time.monotonic() + 60
            while leases(out, pid=frozen):
                assert time.monotonic() < deadline, "nobody took its leases over"
                time.sleep(0.05)
            os.kill(frozen, signal.SIGCONT)
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        stats = server.ask("-/stats")
        asked += 1
    result = check(out)
    assert result.problems == []
    assert len(result.urls) == PAGES
    assert stats["distinct"] == PAGES
    # Beside its pages the site is asked for robots.txt and a few guessed sitemaps.
    assert stats["requests"] - asked - PAGES <= len(held) + 10
