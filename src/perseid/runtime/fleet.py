"""One machine's share of a fleet: worker processes, watched from one that holds no work of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

from perseid.config.settings import Settings
from perseid.errors import StoreError, StoreUnavailable
from perseid.model.terms import DEFAULT_TEAM
from perseid.observe import log, metrics
from perseid.ports.truth import Truth
from perseid.runtime.crew import Crew, Order
from perseid.runtime.probe import Answer, Probe, probes, told
from perseid.runtime.stores import open_store
from perseid.worker.enroll import host_identity
from perseid.worker.stop import Stop

_PING_S = 3.0
_LONGEST_PAUSE_S = 10.0
_THIRD = 3


async def supervise(folder: Path, settings: Settings, crew: Crew, *, on_ready: Callable[[str], None]) -> bool:
    """Work on all there is until SIGTERM or SIGINT, or until nobody is left; whether that was as it should be.

    The first signal finishes what is in flight and gives the rest back, the second one gives back all, a third leaves
    at once. SIGHUP puts fresh processes in the place of those at work, one after the other. While the store is away
    at the start it is waited for. Raises `ConfigError`, `StoreError`, `MissingExtra`.
    """
    post = Post(folder, settings, crew)
    async with post.signals(), post.probing() as port:
        if not await post.open():
            return True
        order = Order(
            folder=str(folder),
            settings=settings,
            uid=None,
            concurrency=settings.worker.concurrency,
            allow_named_host=False,
        )
        try:
            async with crew.at_work(order, post.stop):
                on_ready(f", probes on {settings.worker.probe_host}:{port}" if port else "")
                await post.until_over()
        finally:
            await post.close()
    return not crew.given_up


class Post:
    """Where the processes are watched from."""

    def __init__(self, folder: Path, settings: Settings, crew: Crew) -> None:
        self.stop = Stop()
        self._folder = folder
        self._settings = settings
        self._crew = crew
        self._store: Truth | None = None
        self._rolling: asyncio.Task[None] | None = None
        self._signals = 0

    async def open(self) -> bool:
        """Reach the store, however long that takes; False where a stop was asked for before."""
        pause_s = 0.5
        while True:
            try:
                self._store = (await open_store(self._folder, self._settings)).store
            except StoreUnavailable as error:
                log.event("store.failed", message=f"{error}; trying again in {pause_s:g} s")
            else:
                return True
            if await self.stop.sleep(pause_s):
                return False
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def close(self) -> None:
        if self._rolling is not None:
            self._rolling.cancel()
        if self._store is not None:
            await self._store.close()
            self._store = None

    async def until_over(self) -> None:
        ends = [asyncio.create_task(self.stop.wait()), asyncio.create_task(self._crew.empty.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    @asynccontextmanager
    async def signals(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGTERM: self._asked, signal.SIGINT: self._asked, signal.SIGHUP: self._roll}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    def _asked(self) -> None:
        self._signals += 1
        if self._signals == 1:
            log.event("worker.stop", message="finishing what is in flight; once more to give it back at once")
            self.stop.ask()
        elif self._signals < _THIRD:
            self.stop.now()
        else:
            _leave()

    def _roll(self) -> None:
        if self._rolling is None or self._rolling.done():
            log.event("worker.start", message="putting fresh processes in the place of those at work")
            self._rolling = asyncio.get_running_loop().create_task(self._crew.roll(self.stop))

    @asynccontextmanager
    async def probing(self) -> AsyncIterator[int]:
        """Answer probes, where that is wanted; the port, or 0."""
        worker = self._settings.worker
        if not worker.probe_port:
            yield 0
            return
        routes: dict[str, Probe] = {"/live": self._live, "/ready": self._ready}
        with contextlib.suppress(ModuleNotFoundError):
            import prometheus_client  # noqa: F401, PLC0415 - an extra

            routes["/metrics"] = _counted
        async with probes(worker.probe_host, worker.probe_port, routes) as port:
            yield port

    async def _live(self) -> Answer:
        """Somebody is at work, or is going home, or waits for the store."""
        return told(ok=not self._crew.empty.is_set(), processes=len(self._crew.pids))

    async def _ready(self) -> Answer:
        """The store answers, and at least one of ours is enrolled with it."""
        if self.stop.asked:
            return told(ok=False, reason="stopping")
        if self._store is None:
            return told(ok=False, reason="the store is away")
        try:
            async with asyncio.timeout(_PING_S):
                await self._store.team(DEFAULT_TEAM)
                seen = await self._store.workers()
        except (StoreError, TimeoutError) as error:
            return told(ok=False, reason=f"the store is away: {str(error) or 'no answer'}"[:300])
        here, pids = host_identity(), set(self._crew.pids)
        enrolled = sum(worker.host == here and worker.pid in pids for worker in seen)
        return told(ok=enrolled > 0, processes=len(pids), enrolled=enrolled)


async def _counted() -> Answer:
    """What the processes of this machine counted."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 - an extra

    # In this thread, as is the folding of those that ended.
    return Answer(200, generate_latest(metrics.registry()), CONTENT_TYPE_LATEST)


def _leave() -> NoReturn:
    """The store is whole whenever a process ends."""
    os._exit(1)
