"""Further worker processes beside this one, so that all cores work.

Where the system can fork safely they are forked before this process has threads, a database or an event
loop, and share what was imported; elsewhere each is started afresh. They wait for an order on a pipe and
end when the pipe closes: with their parent, however that ends. One that dies at work is replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from perseid.config.settings import Settings
from perseid.model.crawl import CrawlStatus
from perseid.observe import log
from perseid.worker.garbage import collect_rarely
from perseid.worker.stop import Stop

_GRACE_S = 35.0
_LOOK_S = 0.5
MOST_DEATHS = 5
"""Members that may die within `PERIOD_S` and be replaced; with one more the cause is taken to be lasting."""
PERIOD_S = 60.0


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
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)

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
        line = msgspec.json.encode(order) + b"\n"
        for member in self._members:
            _send(member, line)
        watch = [asyncio.create_task(self._pass_on(stop)), asyncio.create_task(self._refill(line, stop))]
        try:
            yield
        finally:
            for task in watch:
                task.cancel()
            await self._dismiss()

    async def _refill(self, line: bytes, stop: Stop) -> None:
        """Put a fresh member in the place of each that dies, unless they die faster than that could help."""
        while not stop.asked:
            await asyncio.sleep(_LOOK_S)
            for member in list(self._members):
                status = _status(member)
                if status is None or stop.asked:
                    continue
                self._members.remove(member)
                _close(member)
                if status and self._worth_replacing(member, status):
                    self._members.append(_send(_spawn(), line))

    def _worth_replacing(self, member: Member, status: int) -> bool:
        now = asyncio.get_running_loop().time()
        lasting = len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < PERIOD_S
        if not lasting:
            self._deaths.append(now)
        what = f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
        then = (
            f"{MOST_DEATHS} had died within {PERIOD_S:g} s: no more are started, the others go on"
            if lasting
            else "another takes its place"
        )
        log.event("worker.dead", pid=member.pid, message=f"worker process {member.pid} {what}; {then}")
        return not lasting

    async def _pass_on(self, stop: Stop) -> None:
        await stop.wait()
        _signal(self._members, signal.SIGTERM)
        await stop.wait_now()
        _signal(self._members, signal.SIGTERM)

    async def _dismiss(self) -> None:
        for member in self._members:
            _close(member)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GRACE_S
        left = list(self._members)
        while left:
            left = [member for member in left if _status(member) is None]
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


def _send(member: Member, line: bytes) -> Member:
    with contextlib.suppress(BrokenPipeError):
        member.orders.write(line)
        member.orders.flush()
    return member


def _close(member: Member) -> None:
    with contextlib.suppress(BrokenPipeError):
        member.orders.close()


def _status(member: Member) -> int | None:
    """How it ended, below 0 by a signal; None while it runs, 0 where nobody can tell any more."""
    if member.process is not None:
        return member.process.poll()
    try:
        pid, status = os.waitpid(member.pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if pid else None


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
