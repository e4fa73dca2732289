"""Further worker processes beside this one, so that all cores work.

Where the system can fork safely they are forked before this process has threads, a database or an event
loop, and share what was imported; elsewhere each is started afresh. They wait for an order on a pipe and
end when the pipe closes: with their parent, however that ends. One that dies at work is replaced, and so is one
that has done enough.
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
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from perseid.config.settings import Settings
from perseid.errors import StoreUnavailable
from perseid.model.crawl import CrawlStatus
from perseid.observe import log, metrics
from perseid.runtime.wear import Wear
from perseid.worker.garbage import collect_rarely
from perseid.worker.stop import Stop

if TYPE_CHECKING:
    from perseid.ports.telemetry import Telemetry
    from perseid.runtime.engine import Engine

_MARGIN_S = 5.0
"""How much longer than its own grace a member may take to go."""
_LOOK_S = 0.25
_LONGEST_PAUSE_S = 10.0
ENOUGH = 75
"""Exit status of a member that has finished all it had, and wants another in its place."""
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
        self._leaving: set[int] = set()
        """Who was sent home: nobody takes their places."""
        self._line = b""
        self._grace_s = _MARGIN_S
        self.given_up = False
        """So many died that some places were left empty."""
        self.empty = asyncio.Event()
        """Nobody is at work any more."""

    @property
    def pids(self) -> list[int]:
        return [member.pid for member in self._members]

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
        self._line = msgspec.json.encode(order) + b"\n"
        self._grace_s = order.settings.worker.grace_s + _MARGIN_S
        for member in self._members:
            _send(member, self._line)
        passing_on = asyncio.create_task(self._pass_on(stop))
        refilling = asyncio.create_task(self._refill(stop))
        try:
            yield
        finally:
            refilling.cancel()
            try:
                await self._dismiss()
            finally:
                passing_on.cancel()

    async def roll(self, stop: Stop) -> None:
        """Put a fresh process in the place of each, one after the other: the fresh one is there before the old goes."""
        for member in list(self._members):
            if stop.asked or member not in self._members:
                continue
            try:
                self._members.append(_send(_spawn(), self._line))
            except OSError as error:
                log.event("worker.dead", message=f"no process can be started ({error}): those at work stay")
                return
            self._leaving.add(member.pid)
            _signal([member], signal.SIGTERM)
            until = asyncio.get_running_loop().time() + self._grace_s
            while member in self._members and not stop.asked:
                if asyncio.get_running_loop().time() > until:
                    _signal([member], signal.SIGKILL)
                await asyncio.sleep(_LOOK_S)

    async def _refill(self, stop: Stop) -> None:
        """Put a fresh member in the place of each that dies, unless they die faster than that could help."""
        missing, told = 0, False
        while not stop.asked:
            await asyncio.sleep(_LOOK_S)
            for member in list(self._members):
                status = _status(member)
                if status is None or stop.asked:
                    continue
                self._members.remove(member)
                _close(member)
                metrics.fold(member.pid)
                missing += self._wants_another(member, status)
            try:
                while missing:
                    self._members.append(_send(_spawn(), self._line))
                    missing, told = missing - 1, False
            except OSError as error:
                if not told:
                    log.event("worker.dead", message=f"no process can be started ({error}); trying on")
                told = True
            if not self._members and not missing:
                self.empty.set()

    def _wants_another(self, member: Member, status: int) -> bool:
        if member.pid in self._leaving:
            self._leaving.discard(member.pid)
            return False
        if status == ENOUGH:
            return True
        return status != 0 and self._worth_replacing(member, status)

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
        self.given_up = self.given_up or lasting
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
        deadline = loop.time() + self._grace_s
        left = list(self._members)
        while left:
            left = [member for member in left if _status(member) is None]
            self._members = left
            if left and loop.time() > deadline:
                _signal(left, signal.SIGKILL)
                deadline += self._grace_s
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
    import perseid.runtime.engine  # noqa: PLC0415 - see above
    import perseid.store.sqlite.store  # noqa: F401, PLC0415 - see above

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
                    status = serve(orders)
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


def serve(orders: BinaryIO) -> int:
    """A member's life: one order, then home; its exit status. Ctrl-C is the parent's business; its end is ours too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    line = orders.readline()
    if not line:
        return 0
    return asyncio.run(_obey(msgspec.json.decode(line, type=Order), orders))


async def _obey(order: Order, orders: BinaryIO) -> int:
    from perseid.ports.store import Drain  # noqa: PLC0415 - a started member imports it only now

    stop = Stop()
    loop = asyncio.get_running_loop()
    # That the parent is gone, which may come to be known first, makes no signal the second one.
    told = Stop()

    def asked() -> None:
        (stop.now if told.asked else stop.ask)()
        told.ask()

    loop.add_signal_handler(signal.SIGTERM, asked)

    def parent_gone() -> None:
        # A pipe at its end stays readable: once is enough.
        loop.remove_reader(orders.fileno())
        stop.ask()

    loop.add_reader(orders.fileno(), parent_gone)
    wear = Wear(order.settings.worker)
    engine = await _open(order, stop, [wear] if wear.bounded else [])
    if engine is None:
        return 0
    try:
        crawl = None if order.uid is None else (await engine.store.crawl(order.uid)).id

        async def over() -> bool:
            if crawl is None:
                return False
            return (await engine.store.crawl_by_id(crawl)).status is not CrawlStatus.SCRAPING

        watch = asyncio.create_task(_watch(wear, engine, stop)) if wear.bounded and crawl is None else None
        try:
            await engine.work(stop, over, concurrency=order.concurrency, only=crawl)
        finally:
            if watch is not None:
                watch.cancel()
    finally:
        loop.remove_reader(orders.fileno())
        await engine.close()
    return ENOUGH if engine.drained is Drain.REPLACE else 0


async def _open(order: Order, stop: Stop, listeners: Sequence[Telemetry]) -> Engine | None:
    """The engine, once the store is there; None where a stop was asked for before. Others' errors are raised."""
    from perseid.runtime.engine import Engine  # noqa: PLC0415 - a started member imports it only now

    pause_s = 0.5
    while True:
        try:
            return await Engine.open(
                Path(order.folder),
                order.settings,
                allow_named_host=order.allow_named_host,
                listeners=listeners,
            )
        except StoreUnavailable as error:
            log.event("store.failed", message=f"{error}; trying again in {pause_s:g} s")
        if await stop.sleep(pause_s):
            return None
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def _watch(wear: Wear, engine: Engine, stop: Stop) -> None:
    from perseid.ports.store import Drain  # noqa: PLC0415 - a started member imports it only now

    if why := await wear.until_enough(stop):
        log.event("worker.stop", message=f"this process finishes and is replaced: {why}")
        engine.drained = Drain.REPLACE
        stop.ask()


if __name__ == "__main__":
    collect_rarely()
    sys.exit(serve(sys.stdin.buffer))
