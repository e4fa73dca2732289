"""A fleet on PostgreSQL whose parts die, restart, forget and lose each other in the middle of a real crawl.

Each fault falls on a crawl of the whole manual by several processes, again and again, and counts only if leases were
held. After each crawl: all pages, none twice, no lease left, counters are rows, no deadlock, no limit was exceeded,
nothing stranded, and the receiver was told once that it is complete. The gate lets all faults fall on one crawl for
each way of delivery; `PERSEID_CHAOS_ROUNDS`, as `make chaos` sets it, asks for so many rounds of each fault alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from perseid.config.settings import Settings, StoreSettings
from perseid.runtime import Client
from perseid.testing.brokers import RedisServer
from perseid.testing.child import Command, Server, command, served
from perseid.testing.cluster import PostgresCluster, RabbitNode
from perseid.testing.link import Network
from perseid.testing.postgres import Question
from perseid.testing.service import serving

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("PERSEID_CHAOS_ROUNDS", "0"))
A_CRAWL = 5
"""Faults that fall on one crawl, at most."""
TIMEOUT_S = 300.0
_EXCEEDED = (
    "SELECT (SELECT count(*) FROM team WHERE active > max_active) + (SELECT count(*) FROM host WHERE active > max_active)"
    " + (SELECT count(*) FROM queue WHERE active > max_active)"
)


class Receiver:
    """Of webhooks: how often each event came, by kind and id."""

    def __init__(self) -> None:
        self.told: Counter[tuple[str, str, str]] = Counter()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["content-length"])))
                receiver.told[event["type"], event["id"], event.get("webhookId", "")] += 1
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def completed(self, uid: str) -> list[str]:
        """The ids under which the end of this crawl was told."""
        return [event for kind, crawl, event in list(self.told) if kind == "crawl.completed" and crawl == uid]


class Fleet:
    """Two commands of two workers each, a server that begins crawls and tells of them, and what they stand on."""

    def __init__(self, folder: Path, delivery: str, receiver: Receiver, stack: ExitStack) -> None:
        self.folder = folder
        self.receiver = receiver
        self.delivery = delivery
        self._stack = stack
        self._started = 0
        self.workers: list[Command] = []
        self.postgres = PostgresCluster()
        stack.callback(self.postgres.dispose)
        self.postgres.start()
        self._question = Question(self.postgres.url)
        stack.callback(self._question.close)
        self.network = Network(self.postgres.port)
        stack.callback(self.network.close)
        self.redis: RedisServer | None = None
        self.rabbit: RabbitNode | None = None
        if delivery == "redis":
            self.redis = RedisServer(
                "--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru", "--enable-debug-command", "yes", keep=True
            )
            stack.callback(self.redis.dispose)
            asyncio.run(self.redis.start())
        elif delivery == "rabbitmq":
            self.rabbit = RabbitNode()
            stack.callback(self.rabbit.dispose)
            self.rabbit.start()
        self.base, _server = stack.enter_context(serving(folder / "serve", workers=0, environment=self.environment()))

    def environment(self, port: int = 0) -> dict[str, str]:
        broker = self.redis or self.rabbit
        return {
            "PERSEID_STORE__URL": self.postgres.url.replace(
                f":{self.postgres.port}/", f":{port or self.postgres.port}/"
            ),
            "PERSEID_DELIVERY__URL": broker.url if broker is not None else "",
            "PERSEID_DATA": str(self.folder / "data"),
            "PERSEID_FETCH__ALLOW_PRIVATE": "true",
            "PERSEID_WEBHOOK__ALLOW_PRIVATE": "true",
            "PERSEID_WORKER__BEAT_S": "0.5",
            "PERSEID_WORKER__DEAD_AFTER_S": "4",
            "PERSEID_WORKER__SWEEP_S": "1",
        }

    def hire(self, **variables: str) -> None:
        """One more command with two workers."""
        self._started += 1
        environment = self.environment(self.network.port) | variables
        where = self.folder / f"worker-{self._started}"
        how = ("worker", "--processes", "2", "--concurrency", "4")
        self.workers.append(self._stack.enter_context(command(*how, folder=where, environment=environment)))

    def dismiss(self) -> None:
        for worker in self.workers:
            worker.kill()
        self.workers.clear()

    def asked(self, statement: str) -> int:
        """A number that the database tells; -1 while it is away."""
        return self._question.number(statement)

    def leases(self) -> int:
        return self.asked("SELECT count(*) FROM lease")

    def deadlocks(self) -> int:
        return self.asked("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")

    def logs(self) -> str:
        return "".join(path.read_text(errors="replace") for path in self.folder.glob("worker-*/stderr"))

    def read(self, uid: str) -> tuple[list[str], list[str]]:
        """The URLs of all documents, and what the audit finds."""

        async def read() -> tuple[list[str], list[str]]:
            settings = Settings(store=StoreSettings(url=self.postgres.url))
            async with await Client.open(self.folder / "data", settings) as client:
                found = [document.url async for _seq, _line, document in client.documents(uid)]
                return found, await client.audit()

        return asyncio.run(read())


Fault = Callable[[Fleet, random.Random], None]


def kill_one(fleet: Fleet, dice: random.Random) -> None:
    victims = [pid for worker in fleet.workers for pid in worker.workers()]
    if victims:
        os.kill(dice.choice(victims), signal.SIGKILL)


def kill_all(fleet: Fleet, _dice: random.Random) -> None:
    fleet.dismiss()
    fleet.hire()
    fleet.hire()


def crash_postgres(fleet: Fleet, dice: random.Random) -> None:
    assert fleet.deadlocks() == 0
    fleet.postgres.crash()
    time.sleep(dice.random() * 2)
    fleet.postgres.start()


def crash_broker(fleet: Fleet, dice: random.Random) -> None:
    if fleet.redis is not None:
        fleet.redis.kill()
        time.sleep(dice.random() * 2)
        asyncio.run(fleet.redis.start())
    if fleet.rabbit is not None:
        fleet.rabbit.kill()
        time.sleep(dice.random() * 2)
        fleet.rabbit.start()


def forget(fleet: Fleet, dice: random.Random) -> None:
    """All that waits at the broker is gone, and the queue itself every other time."""
    if fleet.redis is not None:
        redis_says(fleet.redis, "FLUSHALL")
    if fleet.rabbit is not None:
        fleet.rabbit.control(dice.choice(["purge_queue", "delete_queue"]), "perseid.exec")


def crowd(fleet: Fleet, _dice: random.Random) -> None:
    """Others fill the memory of Redis, which throws out what it likes."""
    if fleet.redis is not None:
        redis_says(fleet.redis, "DEBUG", "POPULATE", "300000", f"junk{time.monotonic_ns()}", "1000")


def redis_says(server: RedisServer, *words: str) -> None:
    from redis import Redis  # noqa: PLC0415 - only where it is asked

    with Redis.from_url(server.url, socket_timeout=60) as redis:
        redis.execute_command(*words)


def cut(fleet: Fleet, dice: random.Random) -> None:
    """Workers and database lose each other: connections end, or nothing passes any more."""
    fleet.network.cut() if dice.random() < 0.5 else fleet.network.mute()
    time.sleep(0.5 + dice.random() * 6)
    fleet.network.mend()


ANYWHERE: dict[str, Fault] = {"kill-one": kill_one, "kill-all": kill_all, "postgres": crash_postgres, "network": cut}
FAULTS = {
    "direct": ANYWHERE,
    "rabbitmq": {**ANYWHERE, "broker": crash_broker, "forget": forget},
    "redis": {**ANYWHERE, "broker": crash_broker, "forget": forget, "crowd": crowd},
}
EACH = [(delivery, name) for delivery, faults in FAULTS.items() for name in faults]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="module")
def fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, receiver: Receiver
) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path_factory.mktemp(request.param), request.param, receiver, stack)


@contextmanager
def never_exceeded(fleet: Fleet) -> Iterator[None]:
    """Looks at all limits again and again while a crawl runs."""
    over = threading.Event()
    seen: list[int] = []

    def watch() -> None:
        while not over.wait(0.1):
            seen.append(fleet.asked(_EXCEEDED))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert max(seen, default=0) <= 0


def begin(fleet: Fleet, site: Server) -> str:
    body = {"url": site.url, "sitemap": "skip", "deduplicateSimilarURLs": False, "webhook": {"url": fleet.receiver.url}}
    answer = httpx.post(f"{fleet.base}/v2/crawl", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    uid: str = answer.json()["id"]
    return uid


def strike(fleet: Fleet, site: Server, faults: list[Fault], dice: random.Random, pages: int) -> int:
    """Let the faults fall one after another while the crawl goes on; how many hit leases."""
    hits = 0
    for fault in faults:
        aim = site.total() + dice.randint(1, max(1, pages // (len(faults) + 1)))
        until = time.monotonic() + TIMEOUT_S
        while site.total() < aim and fleet.asked("SELECT count(*) FROM crawl WHERE status = 0") != 0:
            assert time.monotonic() < until, f"{site.total()} requests, not {aim}: {fleet.logs()[-3000:]}"
            time.sleep(0.01)
        held = fleet.leases()
        if held <= 0:
            break
        fault(fleet, dice)
        hits += 1
        print(f"{fault.__name__} found {held} leases after {site.total()} requests")  # noqa: T201
    return hits


def check(fleet: Fleet, site: Server, uid: str, pages: frozenset[str]) -> None:
    until = time.monotonic() + TIMEOUT_S
    while fleet.asked(f"SELECT status FROM crawl WHERE uid = '{uid}'") < 1:
        assert time.monotonic() < until, f"the crawl does not end: {fleet.logs()[-3000:]}"
        time.sleep(0.1)
    assert fleet.asked(f"SELECT status FROM crawl WHERE uid = '{uid}'") == 1
    urls, findings = fleet.read(uid)
    assert findings == []
    assert len(urls) == len(set(urls))
    assert {url.removeprefix(site.url[:-1]) for url in urls} == pages
    assert fleet.leases() == 0
    assert fleet.deadlocks() == 0
    while not fleet.receiver.completed(uid):
        assert time.monotonic() < until, "nobody was told of the end"
        time.sleep(0.1)
    assert len(fleet.receiver.completed(uid)) == 1
    assert "audit.finding" not in fleet.logs()


def ahead_of_time() -> dict[str, str]:
    """For workers whose clock is some minutes fast."""
    assert shutil.which("faketime"), "install faketime: workers are to differ about the time"
    return {"LD_PRELOAD": str(next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), "FAKETIME": "+7m"}


def crawl(fleet: Fleet, folder: Path, pages: frozenset[str], faults: list[Fault], dice: random.Random) -> int:
    """A whole crawl with two commands at work, one of them ahead of its time; how many faults hit."""
    with served("perseid.testing.folder", str(folder), "--delay-ms", "25") as site, never_exceeded(fleet):
        fleet.hire()
        fleet.hire(**ahead_of_time())
        uid = begin(fleet, site)
        hits = strike(fleet, site, faults, dice, len(pages))
        check(fleet, site, uid, pages)
        fleet.dismiss()
    return hits


if ROUNDS:

    @pytest.mark.parametrize(("fleet", "name"), EACH, indirect=["fleet"])
    def test_a_fleet_survives(
        name: str, fleet: Fleet, manual: Path, manual_pages: frozenset[str], dice: random.Random
    ) -> None:
        fault = FAULTS[fleet.delivery][name]
        hits = 0
        while hits < ROUNDS:
            hits += crawl(fleet, manual, manual_pages, [fault] * min(A_CRAWL, ROUNDS - hits), dice)

else:

    @pytest.mark.parametrize("fleet", list(FAULTS), indirect=True)
    def test_a_fleet_survives_all_at_once(
        fleet: Fleet, manual: Path, manual_pages: frozenset[str], dice: random.Random
    ) -> None:
        # To fill Redis takes long: that is left to the rounds of each fault.
        faults = [fault for fault in FAULTS[fleet.delivery].values() if fault is not crowd]
        dice.shuffle(faults)
        faults.sort(key=lambda fault: fault is crash_broker)  # a broker takes its time to come back
        assert crawl(fleet, manual, manual_pages, faults, dice) == len(faults)
