"""kill -9 of whoever expands, collects and writes, and targets that go away: each item is in each target, once.

The site's pages lead to one another, so tasks grow out of tasks; every page is one item, and its number is the truth.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from perseid.testing.brokers import RedisServer
from perseid.testing.child import Command, Server, command, served
from perseid.testing.link import Network
from perseid.testing.postgres import give_back, take_database, url_of

pytestmark = pytest.mark.slow

PAGES = 600
CONCURRENCY = 8
TIMEOUT_S = 180
RULE = """
site_id: demo
fields:
  title: {css: h1, required: true}
  number: {css: title, type: integer, required: true}
follow: {css: ul a, to: list}
items_on: [list]
sinks: [lines, table]
"""
SETTINGS = {
    "PERSEID_WORKER__BEAT_S": "0.3",
    "PERSEID_WORKER__DEAD_AFTER_S": "3",
    "PERSEID_WORKER__SWEEP_S": "0.5",
    "PERSEID_WORKER__POLL_S": "0.3",
    "PERSEID_FETCH__ALLOW_PRIVATE": "true",
}


class Ground:
    """A store, two targets, and the commands that work with them."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.lines = folder / "out" / "demo.jsonl"
        self.lines.parent.mkdir()
        self.environment = SETTINGS | {"PERSEID_FOLDERS__OUT": str(self.lines.parent)} | environment
        self._told = 0
        self.looks = 0

    def look(self, site: Server) -> dict[str, int]:
        self.looks += 1
        stats: dict[str, int] = site.ask("-/stats")
        return stats

    def tell(self, *words: str) -> str:
        """What a command that ends by itself prints."""
        self._told += 1
        with self.start(*words, "--data", str(self.data), folder=self.folder / f"told-{self._told}") as running:
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        return ended.stdout

    def start(self, *words: str, folder: Path) -> Any:
        return command(*words, folder=folder, environment=self.environment)

    def prepare(self, site: Server, *, table: dict[str, Any]) -> None:
        (self.folder / "demo.yaml").write_text(RULE)
        (self.folder / "lines.json").write_text(json.dumps({"connection": "out", "format": "jsonl", "table": "demo"}))
        (self.folder / "table.json").write_text(json.dumps(table))
        seed = {"seed_id": "all", "site_id": "demo", "task_type": "urls", "payload": {"urls": [site.url]}}
        (self.folder / "seed.json").write_text(json.dumps(seed))
        self.tell("config", "publish", "sink", *(str(self.folder / name) for name in ("lines.json", "table.json")))
        self.tell("rules", "publish", str(self.folder / "demo.yaml"))
        self.tell("seeds", "add", str(self.folder / "seed.json"))

    def runs(self) -> bool:
        """The seed has not begun, or not ended."""
        seed = json.loads(self.tell("seeds", "show", "all", "--json").splitlines()[0])
        return not seed["runs"] or bool(seed["running"])

    def waiting(self) -> int:
        """Items that a sink has not taken."""
        told = self.tell("sinks", "list", "--json")
        return sum(int(json.loads(line)["waiting"]) for line in told.splitlines() if line)

    def check(self, site: Server, rows: list[tuple[str, int, str]], refetched: int) -> None:
        """`rows` are those of the table: key, number, title."""
        wanted = {number: f"Page {number}" for number in range(PAGES)}
        stored = [json.loads(line) for line in self.tell("items", "export", "--format", "jsonl").splitlines()]
        assert {it["number"]: it["title"] for it in stored} == wanted
        assert len(stored) == PAGES
        assert {number: title for _key, number, title in rows} == wanted
        assert len({key for key, _number, _title in rows}) == len(rows) == PAGES
        written = [json.loads(line) for line in self.lines.read_text().splitlines()]
        doubles = [key for key, n in Counter(it["unique_key"] for it in written).items() if n > 1]
        assert doubles == []
        assert {it["number"]: it["title"] for it in written} == wanted
        assert self.tell("exceptions", "groups", "--json") == ""
        stats = self.look(site)
        assert stats["distinct"] == PAGES
        # Beside its pages the site is asked for robots.txt, and for these numbers.
        assert stats["requests"] - self.looks <= PAGES + refetched + 20


@pytest.fixture
def site() -> Iterator[Server]:
    with served("perseid.testing.site", "--pages", str(PAGES), "--links", "8", "--delay-ms", "15") as server:
        yield server


@pytest.fixture
def kills() -> int:
    """As `make chaos` wants, or one of each kind."""
    return int(os.environ.get("PERSEID_CHAOS_KILLS", "4"))


def after(ground: Ground, site: Server, dice: random.Random, kills: int) -> None:
    """A random moment after some more pages."""
    wanted = ground.look(site)["distinct"] + dice.randint(1, max(2, PAGES // (kills + 1)))
    until = time.monotonic() + TIMEOUT_S
    while ground.look(site)["distinct"] < min(wanted, PAGES - 20):
        assert time.monotonic() < until, "nobody collects any more"
        time.sleep(0.02)
    time.sleep(dice.random() * 0.3)


def test_one_command_is_killed_again_and_again(site: Server, tmp_path: Path, dice: random.Random, kills: int) -> None:
    table = tmp_path / "table.db"
    ground = Ground(tmp_path, PERSEID_CONNECTIONS__BASE=f"sqlite:///{table}")
    ground.prepare(site, table={"connection": "base", "table": "demo"})
    how = ("seeds", "run", "all", "--concurrency", str(CONCURRENCY), "--data", str(ground.data))
    for turn in range(kills):
        with ground.start(*how, folder=tmp_path / f"run-{turn}") as running:
            after(ground, site, dice, kills)
            assert running.running(), running.stderr
            running.kill()
    with ground.start(*how, folder=tmp_path / "last") as running:
        ended = running.wait(TIMEOUT_S)
    assert ended.status == 0, ended.stderr
    assert ground.waiting() == 0
    rows = apsw.Connection(str(table)).execute("SELECT unique_key, number, title FROM demo").fetchall()
    ground.check(site, rows, refetched=kills * CONCURRENCY)


@pytest.mark.parametrize("delivery", ["direct", "redis"])
def test_a_fleet_and_its_target_are_hit_again_and_again(
    delivery: str, site: Server, tmp_path: Path, dice: random.Random, kills: int
) -> None:
    with ExitStack() as stack:
        store, target = (asyncio.run(take_database()) for _ in range(2))
        stack.callback(lambda: [asyncio.run(give_back(name)) for name in (store, target)])
        network = Network(5432)
        stack.callback(network.close)
        through = url_of(target).replace(":5432/", f":{network.port}/")
        redis = RedisServer(keep=True) if delivery == "redis" else None
        if redis is not None:
            stack.callback(redis.dispose)
            asyncio.run(redis.start())
        ground = Ground(
            tmp_path,
            PERSEID_CONNECTIONS__BASE=through,
            PERSEID_STORE__URL=url_of(store),
            PERSEID_DELIVERY__URL=redis.url if redis is not None else "",
        )
        ground.prepare(site, table={"connection": "base", "table": "demo"})
        fleet: list[Command] = []

        def hire() -> None:
            how = ("worker", "--processes", "2", "--concurrency", str(CONCURRENCY))
            fleet.append(stack.enter_context(ground.start(*how, folder=tmp_path / f"worker-{time.monotonic_ns()}")))

        def strike(turn: int) -> None:
            if turn % 4 == 1:
                network.cut()
                time.sleep(dice.random())
                network.mend()
            elif turn % 4 == 3 and redis is not None:
                redis.kill()
                asyncio.run(redis.start())
            elif turn % 4 == 2:
                fleet.pop(0).kill()
                hire()
            else:
                victims = [pid for each in fleet for pid in each.workers()]
                if victims:
                    os.kill(dice.choice(victims), signal.SIGKILL)

        hire()
        hire()
        for turn in range(kills):
            after(ground, site, dice, kills)
            strike(turn)
        rows = _settled(ground, target)
        ground.check(site, rows, refetched=kills * 4 * CONCURRENCY)


def _settled(ground: Ground, target: str) -> list[tuple[str, int, str]]:
    """What the target holds once nothing waits for any sink and no run goes on."""

    async def read() -> list[tuple[str, int, str]]:
        connection = await asyncpg.connect(url_of(target))
        try:
            if await connection.fetchval("SELECT to_regclass('demo')") is None:
                return []
            return [tuple(row) for row in await connection.fetch("SELECT unique_key, number, title FROM demo")]
        finally:
            await connection.close()

    until = time.monotonic() + TIMEOUT_S
    while len(rows := asyncio.run(read())) < PAGES or ground.runs() or ground.waiting():
        assert time.monotonic() < until, f"items wait for ever, {len(rows)} have arrived"
        time.sleep(0.3)
    return asyncio.run(read())
