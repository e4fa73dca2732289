"""kill -9 at random moments of a real crawl: nothing is lost, nothing is double, little is fetched twice.

Each kill must hit while leases were held, and what was leased by the dead is read with it. A page may be
fetched once more for each kill that found it leased, and for no other reason.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from perseid.testing.child import Command, Server, alive, command, freeze, served
from perseid.testing.result import Held, check, leases

pytestmark = pytest.mark.slow

TIMEOUT_S = 180
# A worker that died is told by its pid, since it ran on this host: nothing may wait for this.
SETTINGS = {"PERSEID_WORKER__DEAD_AFTER_S": "600"}
GIVEN_UP_AFTER = 9
"""Deaths over one page; where many kills fall on one crawl, a slow page can be that unlucky."""


class Crawl:
    """The same command again and again on one folder, and what the kills between hit."""

    def __init__(self, server: Server, folder: Path, pages: frozenset[str], *, processes: int, wanted: int) -> None:
        self.server = server
        self.out = folder / "out"
        self.hits: list[int] = []
        self._leased: Counter[str] = Counter()
        self._over = False
        self._pages = pages
        self._processes = str(processes)
        self._wanted = wanted

    @property
    def goes_on(self) -> bool:
        """There are kills to come, and a crawl to kill."""
        return len(self.hits) < self._wanted and not self._over

    def start(self) -> AbstractContextManager[Command]:
        how = ("--json", "--processes", self._processes, "--concurrency", "8")
        where = {"folder": self.out.parent, "environment": SETTINGS}
        return command("crawl", self.server.url, "--out", str(self.out), *how, **where)

    def reach(self, running: Command, dice: random.Random) -> bool:
        """Wait for a random number of requests and then a moment; False if the crawl ended before."""
        requests = self.server.total() + dice.randint(1, max(1, len(self._pages) // self._wanted))
        deadline = time.monotonic() + TIMEOUT_S
        while self.server.total() < requests and running.running():
            assert time.monotonic() < deadline, f"{self.server.total()} of {requests} requests: {running.stderr}"
            time.sleep(0.01)
        time.sleep(dice.random() * 0.05)
        return running.running() or self.ended(running)

    def ended(self, running: Command) -> bool:
        """Note that the command ended by itself; always False."""
        assert running.wait(TIMEOUT_S).status == 0, running.stderr
        self._over = True
        return False

    def stop(self, running: Command) -> None:
        """Ask it to stop, unless it ended by itself meanwhile."""
        os.kill(running.pid, signal.SIGTERM)
        ended = running.wait(TIMEOUT_S)
        self._over = '"status":"completed"' in ended.stdout
        # It hears the signal no more when all is done and told.
        assert ended.status == 143 or (self._over and ended.status in {0, -signal.SIGTERM}), running.stderr

    def kill(self, victim: int, what: str) -> None:
        """Kill one process of several. What it held is read before: the others take it over at once."""
        try:
            freeze(victim)
        except ProcessLookupError:  # it just ended
            return
        held = leases(self.out, pid=victim)
        os.kill(victim, signal.SIGKILL)
        self.count(what, held)

    def count(self, victim: str, held: list[Held]) -> None:
        """A kill counts if it hit leases."""
        if held:
            self.hits.append(len(held))
            self._leased.update(self._path(lease.url) for lease in held)
            told = f"kill {len(self.hits)}, of {victim}, found {len(held)} leases after {self.server.total()} requests"
            print(told)  # noqa: T201

    def _path(self, url: str) -> str:
        return url.removeprefix(self.server.url[:-1])

    def finish(self) -> None:
        """Run to the end, then compare what the result holds, what the site was asked for, and what the kills hit."""
        if not self._over:
            with self.start() as running:
                self.ended(running)
        result = check(self.out)
        assert result.problems == []
        given_up = {path for path, times in self._leased.items() if times >= GIVEN_UP_AFTER}
        assert {self._path(url) for url in result.urls} == self._pages - given_up
        assert {self._path(url): code for url, code in result.failures.items()} == dict.fromkeys(given_up, "stalled")
        requests = self.server.requests()
        assert {path: n for path in self._pages if (n := requests[path]) > 1 + self._leased[path]} == {}
        assert sum(requests[path] for path in self._pages) - len(self._pages) <= sum(self.hits)


class Crawls:
    """As many crawls of the manual as it takes until enough kills have hit; each is finished and compared."""

    def __init__(self, manual: Path, pages: frozenset[str], folder: Path) -> None:
        self._manual = manual
        self._pages = pages
        self._folder = folder

    def until(self, kills: int, *, processes: int) -> Iterator[Crawl]:
        hits = 0
        for number in range(kills):
            with served("perseid.testing.folder", str(self._manual)) as server:
                folder = self._folder / str(number)
                crawl = Crawl(server, folder, self._pages, processes=processes, wanted=kills - hits)
                yield crawl
                crawl.finish()
            assert crawl.hits, "no kill hit a lease"
            hits += len(crawl.hits)
            if hits >= kills:
                return


@pytest.fixture
def crawls(manual: Path, manual_pages: frozenset[str], tmp_path: Path) -> Crawls:
    return Crawls(manual, manual_pages, tmp_path)


@pytest.mark.parametrize("processes", [1, 3])
def test_kill_of_the_whole_group(processes: int, kills: int, dice: random.Random, crawls: Crawls) -> None:
    for crawl in crawls.until(kills, processes=processes):
        while crawl.goes_on:
            with crawl.start() as running:
                if crawl.reach(running, dice):
                    running.kill()
                    if running.process.returncode == 0:
                        crawl.ended(running)
                    crawl.count(f"a group of {processes}", leases(crawl.out))


def test_kill_of_single_workers(kills: int, dice: random.Random, crawls: Crawls) -> None:
    """One after the other; the command goes on with others, and is stopped when no more are started."""
    for crawl in crawls.until(kills, processes=3):
        while crawl.goes_on:
            with crawl.start() as running:
                kill_workers(crawl, running, dice)


def kill_workers(crawl: Crawl, running: Command, dice: random.Random) -> None:
    while crawl.goes_on and crawl.reach(running, dice):
        holders = {lease.pid for lease in leases(crawl.out)}
        workers = running.workers()
        if victims := sorted(holders & set(workers)):
            victim = dice.choice(victims)
            crawl.kill(victim, f"worker {victim}")
        elif not workers:
            break
    if running.running():
        crawl.stop(running)
    else:
        crawl.ended(running)


def test_others_finish_the_work_of_a_killed_worker(dice: random.Random, crawls: Crawls) -> None:
    for crawl in crawls.until(1, processes=3):
        with crawl.start() as running:
            while crawl.goes_on and crawl.reach(running, dice):
                victim = running.workers()[0]
                crawl.kill(victim, f"worker {victim}")
            crawl.ended(running)


def test_kill_of_the_first_process_alone(kills: int, dice: random.Random, crawls: Crawls) -> None:
    """Its workers go home by themselves."""
    for crawl in crawls.until(max(2, kills // 2), processes=3):
        while crawl.goes_on:
            with crawl.start() as running:
                if crawl.reach(running, dice):
                    orphans = running.workers()
                    crawl.kill(running.pid, "the first process")
                    wait_until_gone(orphans)


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 40
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < deadline, f"{left} outlived the process that started them"
        time.sleep(0.02)
