"""A fleet on either database: worker commands, the store they share, and a site that counts what it is asked."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from perseid.config.settings import Settings, StoreSettings
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.options import CrawlOptions
from perseid.ports.inspect import WorkerView
from perseid.ports.truth import Truth
from perseid.runtime import Client
from perseid.runtime.stores import open_store
from perseid.testing import Site, in_thread
from perseid.testing.child import Command, command
from perseid.testing.postgres import give_back, take_database, url_of

T = TypeVar("T")
PAGES = 300
TIMEOUT_S = 90.0


class Worker:
    """One `perseid worker`, which may have several processes."""

    def __init__(self, running: Command, port: int) -> None:
        self.command = running
        self.port = port

    def probe(self, path: str) -> tuple[int, Any]:
        """Status and body; (0, None) where nobody listens."""
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                body = answer.read()
                return answer.status, json.loads(body) if path != "/metrics" else body.decode()
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())
        except OSError:
            return 0, None

    def ready(self, processes: int) -> Worker:
        """Once so many of its processes are enrolled."""
        until(lambda: (self.probe("/ready")[1] or {}).get("enrolled") == processes, self.command, every_s=0.05)
        return self

    def pids(self) -> set[int]:
        return set(self.command.workers())

    def signal(self, number: signal.Signals) -> None:
        self.command.process.send_signal(number)

    def ended(self, timeout_s: float = 40.0) -> int:
        return self.command.wait(timeout_s).status


class Fleet:
    """One store, which `settings` and `folder` name, and those who work on it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.settings = Settings(store=StoreSettings(url=url))
        self.url = url
        self._started = 0

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PERSEID_STORE__URL": self.url,
            "PERSEID_DATA": str(self.folder / "data"),
            "PERSEID_FETCH__ALLOW_PRIVATE": "127.0.0.1",
            "PERSEID_WORKER__BEAT_S": "0.2",
            "PERSEID_WORKER__POLL_S": "0.1",
            "PERSEID_LOG__LEVEL": "info",
        }

    @contextmanager
    def worker(self, processes: int = 2, *flags: str, **variables: str) -> Iterator[Worker]:
        self._started += 1
        port = free_port()
        arguments = ("worker", "--processes", str(processes), "--concurrency", "4", "--probe-port", str(port), *flags)
        environment = {**self.environment, **variables}
        with command(*arguments, folder=self.folder / f"worker-{self._started}", environment=environment) as running:
            yield Worker(running, port)

    def start(self, url: str, **options: Any) -> str:
        async def begin(client: Client) -> str:
            return (await client.start_crawl(url, CrawlOptions(**options))).uid

        return self.ask(begin)

    def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        async def asked() -> T:
            async with await Client.open(self.folder / "data", self.settings) as client:
                return await question(client)

        return asyncio.run(asked())

    def look(self, question: Callable[[Truth], Awaitable[T]]) -> T:
        """The store itself."""

        async def asked() -> T:
            store, _blobs = await open_store(self.folder / "data", self.settings)
            try:
                return await question(store)
            finally:
                await store.close()

        return asyncio.run(asked())

    def crawl(self, uid: str) -> Crawl:
        return self.ask(lambda client: client.crawl(uid))

    def workers(self) -> list[WorkerView]:
        return self.look(lambda store: store.workers_view())

    def leases(self) -> int:
        return sum(len(worker.leases) for worker in self.workers())

    def finish(self, uid: str, worker: Worker, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Look at the crawl, and `meanwhile` at something else, until it is over; the store is opened once for that."""

        async def over(client: Client) -> None:
            deadline = time.monotonic() + TIMEOUT_S
            while (await client.crawl(uid)).status is CrawlStatus.SCRAPING:
                meanwhile()
                assert worker.command.running(), worker.command.stderr
                assert time.monotonic() < deadline, f"never; {worker.command.stderr[-3000:]}"
                await asyncio.sleep(0.02)

        self.ask(over)

    def paths(self, uid: str) -> list[str]:
        async def read(client: Client) -> list[str]:
            return [document.url.split("/", 3)[3] async for _seq, _line, document in client.documents(uid)]

        return self.ask(read)

    def audit(self) -> list[str]:
        return self.ask(lambda client: client.audit())


def until(true: Callable[[], bool], running: Command, *, every_s: float = 0.02) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not true():
        assert running.running(), running.stderr
        assert time.monotonic() < deadline, f"never; {running.stderr[-3000:]}"
        time.sleep(every_s)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    if request.param == "sqlite":
        yield Fleet(tmp_path, "")
        return
    name = asyncio.run(take_database())
    yield Fleet(tmp_path, url_of(name))
    asyncio.run(give_back(name))


@pytest.fixture
def site() -> Iterator[Site]:
    """Three hundred pages, each a little slow, so that there is something in flight at any time."""
    with in_thread(Site()) as site:
        for number in range(PAGES):
            write(site, number, delay_s=0.03)
        yield site


def path_of(number: int) -> str:
    return f"/page-{number}" if number else "/"


def write(site: Site, number: int, *, delay_s: float) -> None:
    """A page that links to six further ones, and takes its time."""
    anchors = "".join(
        f'<a href="{path_of(child)}">{child}</a> ' for child in range(number * 6 + 1, number * 6 + 7) if child < PAGES
    )
    text = f"<title>Page {number}</title><h1>Page {number}</h1><p>What stands on page {number}.</p><p>{anchors}</p>"
    site.page(path_of(number), text, delay_s=delay_s)
