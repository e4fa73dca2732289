"""A server as it is served, on a port of its own, with a worker beside it and a site to crawl."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn

from perseid.api.app import create_app
from perseid.config.settings import ApiSettings, FetchSettings, Settings, WorkerSettings
from perseid.runtime.service import Service
from perseid.testing import Site, in_thread
from perseid.testing.ground import standing
from perseid.worker.stop import Stop

SETTINGS = Settings(
    fetch=FetchSettings(allow_private="true", page_timeout_s=10),
    worker=WorkerSettings(poll_s=0.05, sweep_s=0.5),
)


class Api:
    """A client that knows where the server is."""

    def __init__(self, base: str, **headers: str) -> None:
        self.base = base
        self.http = httpx.Client(base_url=base, timeout=60, headers=headers)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.http.get(path, headers=headers)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(path, json=body)

    def delete(self, path: str) -> httpx.Response:
        return self.http.delete(path)

    def told(self, path: str, **body: Any) -> dict[str, Any]:
        """The body of an answer that must be a success."""
        answer = self.post(path, **body) if body else self.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def finished(self, path: str, within_s: float = 60) -> dict[str, Any]:
        """The state of a job once it is over."""
        until = time.monotonic() + within_s
        while (state := self.told(path))["status"] == "scraping":
            assert time.monotonic() < until, f"{path} did not end: {state}"
            threading.Event().wait(0.05)
        return state

    def crawled(self, path: str = "/v2/crawl", **body: Any) -> dict[str, Any]:
        return self.finished(f"{path}/{self.told(path, **body)['id']}")


@contextmanager
def serving(folder: Path, settings: Settings = SETTINGS, *, work: bool = True) -> Iterator[str]:
    """The address of a server that runs in a thread of its own; without `work` nobody crawls."""
    with standing() as ground, _serving(folder, ground.under(settings), work=work) as address:
        yield address


@contextmanager
def _serving(folder: Path, settings: Settings, *, work: bool) -> Iterator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()
    failed: list[BaseException] = []

    async def serve() -> None:
        async with Service.open(folder, settings) as service:
            app = create_app(lambda: nullcontext(service), settings)
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, proxy_headers=False))
            serving = asyncio.create_task(server.serve([listener]))
            working = asyncio.create_task(_work(service, work, over))
            while not server.started:  # noqa: ASYNC110 - uvicorn offers nothing to wait for
                await asyncio.sleep(0.01)
            ready.set()
            await over.wait()
            await working
            server.should_exit = True
            await serving

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:  # noqa: BLE001 - raised where the server was asked for
            failed.append(error)
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run, name="perseid-test-server")
    thread.start()
    ready.wait(30)
    try:
        if not failed:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        if not failed:
            loop.call_soon_threadsafe(over.set)
        thread.join(30)
        listener.close()
    if failed:
        raise failed[0]


async def _work(service: Service, work: bool, over: asyncio.Event) -> None:
    stop = Stop()

    async def never() -> bool:
        return False

    running = asyncio.create_task(service.engine.work(stop, never, concurrency=8)) if work else None
    await over.wait()
    stop.ask()
    if running is not None:
        await running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("store")) as base:
        yield base


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that wants a key."""
    settings = msgspec.structs.replace(SETTINGS, api=ApiSettings(keys=("fc-secret",)))
    with serving(tmp_path_factory.mktemp("locked"), settings, work=False) as base:
        yield base


@pytest.fixture
def api(server: str) -> Iterator[Api]:
    client = Api(server)
    with client.http:
        yield client


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server whose crawls wait: nobody works on its store."""
    with serving(tmp_path_factory.mktemp("idle"), work=False) as base:
        client = Api(base)
        with client.http:
            yield client


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.links({"/": ["/a", "/blog", "/private"], "/a": ["/a/b"], "/a/b": ["/"]})
    site.robots("User-agent: *\nDisallow: /private\n")
    with in_thread(site):
        yield site
