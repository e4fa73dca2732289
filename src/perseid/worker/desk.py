"""Jobs whose callers wait for them: leased, run and committed in this process, beside the queue's own workers.

The leases are ordinary ones, under the same limits of team, host and crawl. Whoever dies with them is reaped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

from perseid.crawls.executor import Executor
from perseid.errors import NotFound, StoreError, StoreUnavailable, Unavailable
from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.clock import Clock
from perseid.ports.inspect import Inspect
from perseid.ports.store import NewCrawl, StepResult, Store
from perseid.ports.work import Again, Finished, Lease
from perseid.worker.door import Door, busy
from perseid.worker.stop import Stop

_FIRST_LOOK_S = 0.02
_LONGEST_LOOK_S = 0.5
_BATCH = 100
_PAUSE_S = 0.5
"""Between two attempts to write while the store is away."""


class Served(NamedTuple):
    """How a job ended that was waited for; `finished` is None where another process has done it."""

    crawl: CrawlId
    finished: Finished | None
    waited_s: float
    """For a slot, before it began."""


class Desk:
    """One a process. `run` keeps its enrolment alive and writes what its jobs bring home."""

    def __init__(
        self,
        store: Store,
        inspect: Inspect,
        executor: Executor,
        *,
        enroll: Callable[[], Awaitable[WorkerId]],
        clock: Clock,
        lease_s: float,
        listen: Callable[[CrawlId], AbstractAsyncContextManager[asyncio.Event]] | None = None,
    ) -> None:
        """`listen` hears of the end of jobs that other processes ran, sooner than by looking."""
        self._store = store
        self._inspect = inspect
        self._executor = executor
        self._enroll = enroll
        self._clock = clock
        self._lease_us = int(lease_s * 1_000_000)
        self._listen = listen or _deaf
        self.worker = WorkerId(0)
        self._pending: list[tuple[Finished, asyncio.Future[bool] | None]] = []
        self._abandoned: list[CrawlId] = []
        """To be cancelled: nobody waits for them any more, and the store was away when that came to pass."""
        self._doubtful: list[str] = []
        """Ids of those that may have begun: the store went away before it answered."""
        self._served: set[CrawlId] = set()
        self._closed = False
        self._door = Door()
        self._written = asyncio.Event()
        self._waiters: deque[asyncio.Event] = deque()

    async def open(self) -> None:
        self.worker = await self._enroll()

    async def run(self, stop: Stop) -> None:
        """Write until stopped, and then what is still at hand. Who waits even then is told to go elsewhere."""
        asked = asyncio.create_task(self._watch(stop))
        try:
            while not stop.asked or self._pending:
                await self._written.wait()
                self._written.clear()
                while self._pending or self._abandoned or self._doubtful:
                    if not await self._write() and await stop.sleep(_PAUSE_S):
                        return
        finally:
            asked.cancel()
            await self._close()

    async def _close(self) -> None:
        """What is not written by now is lost; the leases left go back to waiting, but of crawls waited for here."""
        self._closed = True
        self._door.close(_gone())
        for _finished, future in self._pending:
            if future is not None and not future.done():
                future.set_exception(_gone())
        self._pending.clear()
        self._abandoned += self._served
        await self._cancel_abandoned()
        await self._store.reap([self.worker])

    def drop(self, crawls: set[CrawlId]) -> None:
        """Cancelled while they run here: their end is written in vain, which frees their slots."""

    async def start_over(self) -> None:
        """We were declared dead: what runs here finds its leases gone, and its callers look for the outcome."""
        self.worker = await self._enroll()

    async def serve(self, new: NewCrawl, *, timeout_s: float | None, wait_s: float, most: int | None = None) -> Served:
        """Run the one job of `new` and wait for its end; no more than `most` of its team are begun at once.

        Raises `Busy` when no slot comes free within `wait_s`, `TimeoutError` past `timeout_s`, and `Unavailable`
        when the desk closes: in all cases nothing of it runs on.
        """
        if self._closed:
            raise _gone()
        began = self._clock.monotonic_s()
        async with self._door.passed(new.team, most, wait_s) as waited:
            return await self._serve(new, began, timeout_s, wait_s, waited=waited)

    async def _serve(
        self, new: NewCrawl, began: float, timeout_s: float | None, wait_s: float, *, waited: bool
    ) -> Served:
        waited_s = self._clock.monotonic_s() - began if waited else 0.0
        crawl, lease = await self._take(new)
        until = None if timeout_s is None else began + timeout_s
        self._served.add(crawl)
        try:
            if lease is None:
                lease = await self._claim(crawl, began + wait_s)
                waited_s = self._clock.monotonic_s() - began
            else:
                self._executor.expect(crawl, new)
            async with asyncio.timeout(None if until is None else max(0.0, until - self._clock.monotonic_s())):
                while lease is not None:
                    finished = await self._run(lease)
                    kept = await self._commit(finished)
                    if kept and not isinstance(finished.end, Again):
                        return Served(crawl, finished, waited_s)
                    lease = await self._claim(crawl, None)
            return Served(crawl, None, waited_s)
        except BaseException:
            # Nobody waits for it any more: whatever is left of it must not run later.
            await asyncio.shield(self._cancel(crawl))
            raise
        finally:
            self._served.discard(crawl)

    async def _cancel(self, crawl: CrawlId) -> None:
        """At once, or by the writer when the store is back."""
        if self._closed:
            return
        try:
            await self._store.cancel(crawl)
        except StoreError:
            self._abandon(crawl)

    def _abandon(self, crawl: CrawlId) -> None:
        self._abandoned.append(crawl)
        self._written.set()

    async def _take(self, new: NewCrawl) -> tuple[CrawlId, Lease | None]:
        """Begin it, and claim its job if there is room. Cancelled meanwhile, what has begun is cancelled."""
        if self._closed:
            raise _gone()
        asked = asyncio.ensure_future(self._store.take(new, self.worker, lease_us=self._lease_us))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._abandon_taken)
            raise
        except StoreUnavailable:
            self._doubtful.append(new.uid)
            self._written.set()
            raise

    def _abandon_taken(self, asked: asyncio.Future[tuple[CrawlId, Lease | None]]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            crawl, lease = asked.result()
            self._abandon(crawl)
            if lease is not None:
                self._give_back([lease])

    async def drain(self, crawl: CrawlId, kinds: Sequence[JobKind], *, concurrency: int) -> None:
        """Work on jobs of these kinds of one crawl until none of them is open."""
        running: set[asyncio.Task[bool]] = set()
        pause_s = _FIRST_LOOK_S
        try:
            while True:
                result = await self._step(crawl, concurrency - len(running), kinds)
                running |= {asyncio.create_task(self._one(lease)) for lease in result.leases}
                if result.leases:
                    pause_s = _FIRST_LOOK_S
                elif not running and not await self._inspect.open_of(crawl, kinds):
                    return
                else:
                    pause_s = min(2 * pause_s, _LONGEST_LOOK_S)
                if not running:
                    await asyncio.sleep(pause_s)
                    continue
                done, running = await asyncio.wait(running, timeout=pause_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in running:
                task.cancel()

    async def _one(self, lease: Lease) -> bool:
        return await self._commit(await self._run(lease))

    async def _run(self, lease: Lease) -> Finished:
        try:
            return await self._executor.run(lease)
        except BaseException:
            # Cancelled, or by a fault of ours: its slots must not wait for the lease's end.
            self._give_back([lease])
            raise

    def _give_back(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self._put((Finished(lease=lease, end=Again(hops=lease.hops)), None))

    async def _step(self, crawl: CrawlId, want: int, kinds: Sequence[JobKind] = tuple(JobKind)) -> StepResult:
        """Claim for one crawl. Cancelled meanwhile, what it claims goes back."""
        if self._closed:
            raise _gone()
        asked = asyncio.ensure_future(
            self._store.step(self.worker, (), want, kinds=kinds, lease_us=self._lease_us, crawl=crawl)
        )
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._return_claimed)
            raise

    def _return_claimed(self, asked: asyncio.Future[StepResult]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            self._give_back(asked.result().leases)

    async def _claim(self, crawl: CrawlId, until: float | None) -> Lease | None:
        """The job's lease once its gates have room; None when the crawl has ended elsewhere. Raises `Busy`."""
        async with self._listen(crawl) as ended:
            return await self._claim_until(crawl, until, ended)

    async def _claim_until(self, crawl: CrawlId, until: float | None, ended: asyncio.Event) -> Lease | None:
        pause_s = _FIRST_LOOK_S
        while True:
            result = await self._step(crawl, 1)
            if result.leases:
                return result.leases[0]
            if await self._ended(crawl):
                return None
            left_s = float("inf") if until is None else until - self._clock.monotonic_s()
            if left_s <= 0:
                raise busy()
            known_s = pause_s if result.wait_us is None else min(pause_s, result.wait_us / 1_000_000 + 0.001)
            await self._look_again(min(known_s, left_s), ended)
            pause_s = min(2 * pause_s, _LONGEST_LOOK_S)

    async def _ended(self, crawl: CrawlId) -> bool:
        try:
            return (await self._inspect.crawl_by_id(crawl)).status is not CrawlStatus.SCRAPING
        except NotFound:
            return True

    async def _look_again(self, seconds: float, ended: asyncio.Event) -> None:
        """Wait, or less when a slot of ours comes free, or it has ended: the longest waiter looks first."""
        turn = asyncio.Event()
        self._waiters.append(turn)
        waits = [asyncio.ensure_future(turn.wait()), asyncio.ensure_future(ended.wait())]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            with contextlib.suppress(ValueError):  # its turn came in the same moment
                self._waiters.remove(turn)

    async def _commit(self, finished: Finished) -> bool:
        """Written, or in vain since the lease was no longer ours."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._put((finished, future))
        return await future

    def _put(self, item: tuple[Finished, asyncio.Future[bool] | None]) -> None:
        if not self._closed:
            self._pending.append(item)
            self._written.set()
        elif item[1] is not None:
            item[1].set_exception(_gone())

    async def _write(self) -> bool:
        """One transaction for all that finished while the last one was in flight; False while the store is away.

        Those who wait are told of trouble. What they waited for is kept, for its slots are to be freed.
        """
        batch, self._pending = self._pending[:_BATCH], self._pending[_BATCH:]
        try:
            result = await self._store.step(self.worker, [finished for finished, _future in batch], 0)
        except Exception as error:  # noqa: BLE001 - those who wait are to know; the writer goes on
            for _finished, future in batch:
                if future is not None and not future.done():
                    future.set_exception(error)
            away = isinstance(error, StoreError) and error.retryable
            if away:
                self._pending[:0] = [(finished, None) for finished, _future in batch]
            return not away
        for (_finished, future), kept in zip(batch, result.kept, strict=True):
            if future is not None and not future.done():
                future.set_result(kept)
        for _ in batch:
            if self._waiters:
                self._waiters.popleft().set()
        return await self._clear_doubts() and await self._cancel_abandoned()

    async def _clear_doubts(self) -> bool:
        """What began though we were not told is given up. False while the store is away."""
        while self._doubtful:
            try:
                crawl = (await self._inspect.crawl(self._doubtful[-1])).id
                held = await self._store.held(self.worker)
            except NotFound:
                pass
            except StoreError as error:
                return not error.retryable
            else:
                self._abandoned.append(crawl)
                self._give_back([lease for lease in held if lease.crawl == crawl])
            self._doubtful.pop()
        return True

    async def _cancel_abandoned(self) -> bool:
        """False while the store is away."""
        while self._abandoned:
            crawl = self._abandoned.pop()
            try:
                await self._store.cancel(crawl)
            except StoreError as error:
                if error.retryable:
                    self._abandoned.append(crawl)
                    return False
        return True

    async def _watch(self, stop: Stop) -> None:
        await stop.wait()
        self._written.set()


@asynccontextmanager
async def _deaf(_crawl: CrawlId) -> AsyncIterator[asyncio.Event]:
    yield asyncio.Event()


def _gone() -> Unavailable:
    return Unavailable("the server is shutting down; ask again when it is back", retryable=True)
