"""Serving: the store is opened, the door is looked at, workers are sent off, and HTTP is spoken until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import msgspec
import uvicorn

from perseid.api.app import create_app
from perseid.api.firecrawl.reporting import wire_page
from perseid.api.loopback import is_loopback
from perseid.api.patience import MAX_HEAD_BYTES, PatientProtocol
from perseid.config.settings import Settings
from perseid.errors import ConfigError, StoreUnavailable
from perseid.observe import log
from perseid.runtime.crew import Crew, Order
from perseid.runtime.service import Service
from perseid.worker.stop import Stop

_KEEP_ALIVE_S = 30
_GRACE_S = 30
_POLL_S = 0.2
_SEARCHED_AFTER = (5_000, 20, 20)
"""New objects, and searches of the next younger ones, before unreachable ones are searched for."""


async def serve(
    folder: Path,
    settings: Settings,
    crew: Crew | None,
    *,
    on_ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` is told the address once it can be asked.

    Raises `ConfigError` when it would listen beyond loopback with nothing to tell friends from strangers, and
    `StoreUnavailable` when the address is taken.
    """
    async with Service.open(folder, settings, render=wire_page) as service:
        await _check_door(service, settings)
        log.adopt("uvicorn", "asyncio")
        app = create_app(lambda: nullcontext(service), settings)
        server = _Server(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                host=settings.api.host,
                port=settings.api.port,
                log_config=None,
                access_log=False,
                server_header=False,
                # Whose X-Forwarded headers are believed is decided where they are read.
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
                ws_max_size=64 * 1024,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            ),
            on_ready,
        )
        stop = Stop()
        async with _signals(server, stop), _at_work(crew, folder, settings, stop):
            await _run(server)


def event_loop() -> asyncio.AbstractEventLoop:
    """A new one, of the quickest kind there is for this platform."""
    try:
        import uvloop  # noqa: PLC0415  not made for every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _spare_what_stays()
            self._on_ready(_address(self))

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are set where the workers hear of them as well."""
        yield


def _spare_what_stays() -> None:
    """Modules and routes are there for good, and a request leaves little that only a search finds: a tenth of its cost
    was to look through all of it time and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SEARCHED_AFTER)


async def _run(server: _Server) -> None:
    try:
        await server.serve()
    except SystemExit:
        # uvicorn has logged why; the only reason that is not a bug is the address.
        config = server.config
        message = f"can't listen on {config.host}:{config.port}; is it taken? --port names another"
        raise StoreUnavailable(message) from None


def _address(server: _Server) -> str:
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def _signals(server: _Server, stop: Stop) -> AsyncIterator[None]:
    """The first one ends what is in flight, a second one waits for nothing."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if server.should_exit:
            server.force_exit = True
            stop.now()
        server.should_exit = True
        stop.ask()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def _at_work(crew: Crew | None, folder: Path, settings: Settings, stop: Stop) -> AsyncIterator[None]:
    if crew is None:
        yield
        return
    worker = settings.worker
    # Callers wait for what they start: nobody tells other processes that there is work.
    watchful = msgspec.structs.replace(worker, poll_s=min(worker.poll_s, _POLL_S))
    order = Order(
        folder=str(folder),
        settings=msgspec.structs.replace(settings, worker=watchful),
        uid=None,
        concurrency=settings.worker.concurrency,
        allow_named_host=False,
    )
    async with crew.at_work(order, stop):
        yield


async def _check_door(service: Service, settings: Settings) -> None:
    api = settings.api
    if is_loopback(api.host) or api.keys or api.insecure_no_auth or await service.store.keys():
        return
    raise ConfigError(
        f"{api.host} can be reached from other machines, and no key protects the server: make one with"
        " `perseid keys create`, name some in PERSEID_API__KEYS, or serve on 127.0.0.1"
        " (--insecure-no-auth lets everybody in)"
    )
