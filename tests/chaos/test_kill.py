"""kill -9 at random moments of a real crawl: nothing is lost, nothing is double, little is fetched twice.

Each kill must hit while leases were held, and what was leased by the dead is read right after it. A page may be
fetched once more for each kill that found it leased, and for no other reason.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from perseid.testing.child import Command, Server, alive, command, served
from perseid.testing.result import Held, check, leases

pytestmark = pytest.mark.slow

TIMEOUT_S = 180
# A worker that died is told by its pid, since it ran on this host: nothing may wait for this.
SETTINGS = {"PERSEID_WORKER__DEAD_AFTER_S": "600"}
IN_ONE_CRAWL = 40


class Crawl:
    """The same command again and again on one folder, and what the kills between hit."""

    def __init__(self, server: Server, folder: Path, *, processes: int) -> None:
        self.server = server
        self.out = folder / "out"
        self.hits: list[int] = []
        self._leased: Counter[str] = Counter()
        self._processes = str(processes)

    def start(self) -> AbstractContextManager[Command]:
        how = ("--json", "--processes", self._processes, "--concurrency", "8")
        where = {"folder": self.out.parent, "environment": SETTINGS}
        return command("crawl", self.server.url, "--out", str(self.out), *how, **where)

    def reach(self, running: Command, requests: int, dice: random.Random) -> bool:
        """Wait until the site was asked so often, and then a moment; False if the crawl ended before."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.server.total() < requests and running.running():
            assert time.monotonic() < deadline, f"{self.server.total()} of {requests} requests: {running.stderr}"
            time.sleep(0.01)
        time.sleep(dice.random() * 0.05)
        return running.running()

    def goal(self, pages: int, kills: int, dice: random.Random) -> int:
        """The request at which to kill next, so that all kills fit into the crawl."""
        return self.server.total() + dice.randint(1, max(1, pages // kills))

    def count(self, victim: str, held: list[Held]) -> None:
        self.hits.append(len(held))
        self._leased.update(lease.url.removeprefix(self.server.url[:-1]) for lease in held)
        print(f"kill {len(self.hits)}, of {victim}, found {len(held)} leases after {self.server.total()} requests")  # noqa: T201

    def finish(self, pages: frozenset[str]) -> None:
        """Run to the end, then compare."""
        with self.start() as running:
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        self.compare(pages)

    def compare(self, pages: frozenset[str]) -> None:
        """What the result holds, what the site was asked for, and what the kills hit."""
        result = check(self.out)
        assert result.problems == []
        assert {url.removeprefix(self.server.url[:-1]) for url in result.urls} == pages
        requests = self.server.requests()
        assert {path: n for path in pages if (n := requests[path]) > 1 + self._leased[path]} == {}
        assert sum(requests[path] for path in pages) - len(pages) <= sum(self.hits)


def rounds(kills: int) -> list[int]:
    """So many kills in each of several crawls: a page on which too many processes died is given up."""
    return [min(IN_ONE_CRAWL, kills - done) for done in range(0, kills, IN_ONE_CRAWL)]


@pytest.mark.parametrize("processes", [1, 3])
def test_kill_of_the_whole_group(
    processes: int, kills: int, dice: random.Random, manual: Path, manual_pages: frozenset[str], tmp_path: Path
) -> None:
    for number, wanted in enumerate(rounds(kills)):
        with served("perseid.testing.folder", str(manual)) as server:
            crawl = Crawl(server, tmp_path / str(number), processes=processes)
            while len(crawl.hits) < wanted:
                with crawl.start() as running:
                    goal = crawl.goal(len(manual_pages), wanted, dice)
                    assert crawl.reach(running, goal, dice), f"it ended before its kill: {running.stderr}"
                    running.kill()
                    if held := leases(crawl.out):
                        crawl.count(f"a group of {processes}", held)
            crawl.finish(manual_pages)


def test_kill_of_single_workers(
    kills: int, dice: random.Random, manual: Path, manual_pages: frozenset[str], tmp_path: Path
) -> None:
    for number, wanted in enumerate(rounds(kills)):
        with served("perseid.testing.folder", str(manual)) as server:
            crawl = Crawl(server, tmp_path / str(number), processes=3)
            while len(crawl.hits) < wanted:
                with crawl.start() as running:
                    kill_workers(crawl, running, wanted, dice, len(manual_pages))
            crawl.finish(manual_pages)


def kill_workers(crawl: Crawl, running: Command, wanted: int, dice: random.Random, pages: int) -> None:
    """Kill one worker after the other; the command goes on without them, and is stopped when all are gone."""
    while len(crawl.hits) < wanted:
        goal = crawl.goal(pages, wanted, dice)
        assert crawl.reach(running, goal, dice), f"it ended before its kills: {running.stderr}"
        holders = {lease.pid for lease in leases(crawl.out)}
        victims = sorted(holders & set(running.workers()))
        if not victims and not running.workers():
            break
        for victim in victims[:1] if dice.random() < 0.5 else victims[-1:]:
            os.kill(victim, signal.SIGKILL)
            if held := leases(crawl.out, pid=victim):
                crawl.count(f"worker {victim}", held)
    os.kill(running.pid, signal.SIGTERM)
    assert running.wait(TIMEOUT_S).status == 143, running.stderr


def test_others_finish_the_work_of_a_killed_worker(
    dice: random.Random, manual: Path, manual_pages: frozenset[str], tmp_path: Path
) -> None:
    with served("perseid.testing.folder", str(manual)) as server:
        crawl = Crawl(server, tmp_path, processes=3)
        with crawl.start() as running:
            assert crawl.reach(running, dice.randint(100, 700), dice)
            victim = running.workers()[0]
            os.kill(victim, signal.SIGKILL)
            crawl.count(f"worker {victim}", leases(crawl.out, pid=victim))
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        crawl.compare(manual_pages)


def test_kill_of_the_first_process_alone(
    kills: int, dice: random.Random, manual: Path, manual_pages: frozenset[str], tmp_path: Path
) -> None:
    """Its workers go home by themselves, while the same command begins again at once."""
    for number, wanted in enumerate(rounds(max(2, kills // 2))):
        with served("perseid.testing.folder", str(manual)) as server:
            crawl = Crawl(server, tmp_path / str(number), processes=3)
            orphans: list[int] = []
            while len(crawl.hits) < wanted:
                with crawl.start() as running:
                    goal = crawl.goal(len(manual_pages), wanted, dice)
                    assert crawl.reach(running, goal, dice), f"it ended before its kill: {running.stderr}"
                    orphans += running.workers()
                    os.kill(running.pid, signal.SIGKILL)
                    if held := leases(crawl.out, pid=running.pid):
                        crawl.count("the first process", held)
                    wait_until_gone(orphans)
            crawl.finish(manual_pages)


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 40
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < deadline, f"{left} outlived the process that started them"
        time.sleep(0.02)
