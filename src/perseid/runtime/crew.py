"""Further worker processes beside this one, so that all cores work.

Where the system can fork safely they are forked before this process has threads, a database or an event
loop, and share what was imported; elsewhere each is started afresh. They wait for an order on a pipe and
end when the pipe closes: with their parent, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from perseid.config.settings import Settings
from perseid.model.crawl import CrawlStatus
from perseid.worker.garbage import collect_rarely
from perseid.worker.stop import Stop

_GRACE_S = 35.0


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a crew member is to do: work on one crawl until it ends, or on all there is until told to stop."""

    folder: str
    settings: Settings
    uid: str | None
    concurrency: int
    allow_named_host: bool


class Member(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    orders: BinaryIO
    process: subprocess.Popen[bytes] | None = None


class Crew:
    """Made before the work begins; `at_work` sends the members off and brings them home."""

    def __init__(self, members: list[Member]) -> None:
        self._members = members

    @classmethod
    def prepare(cls, count: int) -> Crew:
        """Call early, from a process without threads: members are forked at once where that is safe."""
        if sys.platform == "linux" and threading.active_count() == 1:
            return cls(_fork(count))
        return cls.started(count)

    @classmethod
    def started(cls, count: int) -> Crew:
        """Members as fresh interpreters; slower to begin, safe from any process."""
        return cls([_spawn() for _ in range(count)])

    @asynccontextmanager
    async def at_work(self, order: Order, stop: Stop) -> AsyncIterator[None]:
        """Members work on the crawl while the body runs; a stop is passed on, the end waited for."""
        line = msgspec.json.encode(order)
        for member in self._members:
            with contextlib.suppress(BrokenPipeError):
                member.orders.write(line + b"\n")
                member.orders.flush()
        watch = asyncio.create_task(self._pass_on(stop))
        try:
            yield
        finally:
            watch.cancel()
            await self._dismiss()

    async def _pass_on(self, stop: Stop) -> None:
        await stop.wait()
        _signal(self._members, signal.SIGTERM)
        await stop.wait_now()
        _signal(self._members, signal.SIGTERM)

    async def _dismiss(self) -> None:
        for member in self._members:
            with contextlib.suppress(BrokenPipeError):
                member.orders.close()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GRACE_S
        left = list(self._members)
        while left:
            left = [member for member in left if not _gone(member)]
            self._members = left
            if left and loop.time() > deadline:
                _signal(left, signal.SIGKILL)
                deadline += _GRACE_S
            if left:
                await asyncio.sleep(0.005)


def _signal(members: Sequence[Member], number: signal.Signals) -> None:
    for member in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member.pid, number)


def _gone(member: Member) -> bool:
    if member.process is not None:
        return member.process.poll() is not None
    try:
        return os.waitpid(member.pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _fork(count: int) -> list[Member]:
    # Imported before the fork, so that members share it.
    import perseid.runtime.engine  # noqa: F401, PLC0415 - see above

    members: list[Member] = []
    for _ in range(count):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(writing)
                for member in members:
                    member.orders.close()
                with os.fdopen(reading, "rb") as orders:
                    serve(orders)
                status = 0
            finally:
                os._exit(status)
        os.close(reading)
        members.append(Member(pid=pid, orders=os.fdopen(writing, "wb")))
    return members


def _spawn() -> Member:
    process = subprocess.Popen(
        [sys.executable, "-m", "perseid.runtime.crew"], stdin=subprocess.PIPE, start_new_session=False
    )
    assert process.stdin is not None
    return Member(pid=process.pid, orders=process.stdin, process=process)  # type: ignore[arg-type] # IO[bytes] is what Popen promises


def serve(orders: BinaryIO) -> None:
    """A member's life: one order, then home. Ctrl-C is the parent's business; its end is ours too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = orders.readline()
    if line:
        asyncio.run(_obey(msgspec.json.decode(line, type=Order), orders))


async def _obey(order: Order, orders: BinaryIO) -> None:
    from perseid.runtime.engine import Engine  # noqa: PLC0415 - a started member imports it only now

    stop = Stop()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: stop.now() if stop.asked else stop.ask())

    def parent_gone() -> None:
        # A pipe at its end stays readable: once is enough.
        loop.remove_reader(orders.fileno())
        stop.ask()

    loop.add_reader(orders.fileno(), parent_gone)
    engine = await Engine.open(Path(order.folder), order.settings, allow_named_host=order.allow_named_host)
    try:
        crawl = None if order.uid is None else (await engine.store.crawl(order.uid)).id

        async def over() -> bool:
            if crawl is None:
                return False
            return (await engine.store.crawl_by_id(crawl)).status is not CrawlStatus.SCRAPING

        await engine.work(stop, over, concurrency=order.concurrency, only=crawl)
    finally:
        loop.remove_reader(orders.fileno())
        await engine.close()


if __name__ == "__main__":
    collect_rarely()
    serve(sys.stdin.buffer)
