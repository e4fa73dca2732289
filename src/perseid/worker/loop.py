"""The worker: claims leases, runs them, commits what they bring home in groups.

One writer talks to the store. While a commit is in flight, finished pages gather into the next one; a worker
that would starve commits at once, a busy one waits a little so that a commit carries more pages.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from perseid.crawls.executor import Executor
from perseid.errors import StoreError
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.clock import Clock
from perseid.ports.store import StepResult, Store
from perseid.ports.telemetry import Telemetry
from perseid.ports.work import Again, Finished, HostNote, Lease
from perseid.worker.news import News
from perseid.worker.stop import Stop

_MAX_PAUSE_S = 30.0
_BUG_PAUSE_US = 5_000_000
_MOST_AHEAD = 8
"""Times the concurrency: what is claimed ahead is what a kill holds up, and what another process can't have."""
_STALE_S = 25.0
"""A lease that waited here for longer has less time left than its job may take."""
T = TypeVar("T")


class LoopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How one worker process works; `only` binds it to one crawl."""

    concurrency: int = 16
    batch_pages: int = 100
    batch_bytes: int = 4 * 1024 * 1024
    linger_s: float = 0.05
    """How long the first finished page of a batch waits for company while there is other work."""
    idle_s: float = 0.05
    """First pause when there is nothing to do; doubles up to `poll_s`."""
    poll_s: float = 2.0
    grace_s: float = 30.0
    """How long a graceful stop waits for pages in flight."""
    lease_s: float = 210.0
    only: CrawlId | None = None
    kinds: tuple[JobKind, ...] = tuple(JobKind)

    ahead_s: float = 0.1
    """For how long there should be work at hand when no more is claimed: that of the one crawl."""
    shared_ahead_s: float = 0.02
    """The same of a worker for all crawls: what others start meanwhile has its turn behind it."""

    def ahead(self, finished: int, seconds: float) -> int:
        """Leases to claim beyond those that run, where `finished` pages took `seconds`: few claims while pages are
        fast, and none that grows old here while they are slow.
        """
        enough_s = self.shared_ahead_s if self.only is None else self.ahead_s
        worth = int(finished * enough_s / max(seconds, 0.001))
        return min(max(worth, self.concurrency), _MOST_AHEAD * self.concurrency)


class WorkerLoop:
    """Runs until stopped, or until `over` says that there is nothing left to wait for."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        options: LoopOptions,
        *,
        enroll: Callable[[], Awaitable[WorkerId]],
        clock: Clock,
        telemetry: Telemetry,
        news: News | None = None,
    ) -> None:
        self._store = store
        self._executor = executor
        self._options = options
        self._enroll = enroll
        self._clock = clock
        self._telemetry = telemetry
        self._news = news
        self.worker = WorkerId(0)
        self._ready: deque[Lease] = deque()
        self._running: dict[JobId, tuple[Lease, asyncio.Task[None]]] = {}
        self._taken_in: dict[JobId, float] = {}
        self._finished: list[Finished] = []
        self._waiting_since = 0.0
        self._claim_at = 0.0
        self._ahead = options.concurrency
        self._committed_at = clock.monotonic_s()
        self._idle_s = options.idle_s
        self._careful = True
        """Claims one at a time: what was claimed last took its process down before, as the next may have."""
        self._wake = asyncio.Event()
        self._hungry = asyncio.Event()
        self._offered = 0
        """Tickets that the next claim is for; 0 is for as much as there are slots."""
        self._answered: asyncio.Future[int] | None = None
        self._answer_lost = False
        """The store may have done what it could not tell us of."""
        self._connected = 0
        """`Store.connected` at the last step: since it grew, the store may have forgotten what we did."""
        self._stop = Stop()

    async def run(self, stop: Stop, over: Callable[[], Awaitable[bool]]) -> None:
        """Work; on the way out everything held is either committed or given back."""
        self._stop = stop
        self.worker = await self._patiently(self._enroll)
        asked = asyncio.create_task(self._watch(stop))
        try:
            while not stop.asked:
                if self._step_due():
                    await self._step(self._most())
                    await self._isolate()
                    self._launch()
                if self._idle and await self._patiently(over):
                    break
                await self._pause()
            await self._wind_down(stop)
        finally:
            asked.cancel()
            for _lease, task in self._running.values():
                task.cancel()

    async def hungry(self) -> int:
        """Wait until there are free slots and nothing to claim for them was found; how many."""
        while not self._is_hungry:
            self._hungry.clear()
            await self._hungry.wait()
        return max(1, min(self._want(), self._options.concurrency - len(self._running) - len(self._ready)))

    def offer(self, tickets: int) -> asyncio.Future[int]:
        """There is work for so many slots: claim that much now. How much was claimed; -1 where slots are free no more.

        One offer at a time.
        """
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if not self._is_hungry:
            answer.set_result(-1)
            return answer
        self._offered = tickets
        self._answered = answer
        self.nudge()
        return answer

    def nudge(self) -> None:
        """There is new work: ask for it now."""
        self._claim_at = 0.0
        self._idle_s = self._options.idle_s
        self._wake.set()

    def drop(self, crawls: set[CrawlId]) -> None:
        """These crawls have ended: give unstarted leases of theirs back (their slots are freed by it)."""
        dropped = [lease for lease in self._ready if lease.crawl in crawls]
        if dropped:
            self._ready = deque(lease for lease in self._ready if lease.crawl not in crawls)
            self._give_back(dropped)

    async def start_over(self) -> None:
        """We were declared dead: all our leases are somebody else's by now. Forget them, and enrol anew to go on."""
        self._ready.clear()
        self._taken_in.clear()
        for _lease, task in self._running.values():
            task.cancel()
        self._running.clear()
        self._finished.clear()
        if not self._stop.asked:  # who winds down would leave a row behind
            self.worker = await self._enroll()
        self.nudge()

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the store until it answers, or until told to stop now."""
        pause_s = 0.5
        while True:
            try:
                return await ask()
            except StoreError as error:
                if not error.retryable or self._stop.urgent:
                    raise
                self._answer_lost = True
                self._telemetry.trouble("store.failed", f"{error}; trying again in {pause_s:g} s")
            await self._stop.rest(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    @property
    def _idle(self) -> bool:
        return not (self._running or self._ready or self._finished)

    @property
    def _starving(self) -> bool:
        return len(self._ready) <= self._options.concurrency // 4

    @property
    def _one_alone(self) -> bool:
        """What runs is a job that took its process down before: nothing else was begun beside it."""
        return len(self._running) == 1 and next(iter(self._running.values()))[0].alone

    def _want(self) -> int:
        if self._one_alone or any(lease.alone for lease in self._ready):
            return 0
        if self._careful:
            # A kill is blamed on all that is held, begun or not.
            return 0 if self._ready else 1
        return max(0, self._options.concurrency + self._ahead - len(self._ready) - len(self._running))

    def _most(self) -> int:
        """Others have tickets too: who was offered some claims for those, and asks for more a little later."""
        want = self._want()
        return min(want, self._offered) if self._offered else want

    @property
    def _is_hungry(self) -> bool:
        return self._starving and self._want() > 0 and self._clock.monotonic_s() < self._claim_at

    def _step_due(self) -> bool:
        now = self._clock.monotonic_s()
        if self._finished:
            return (
                self._starving
                or len(self._finished) >= self._options.batch_pages
                or now - self._waiting_since >= self._options.linger_s
            )
        return self._starving and self._want() > 0 and now >= self._claim_at

    async def _pause(self) -> None:
        """Until something finishes, or the time for the next step has come."""
        if self._step_due():
            return
        now = self._clock.monotonic_s()
        timeout = self._options.poll_s
        if self._finished:
            timeout = self._waiting_since + self._options.linger_s - now
        elif self._starving and self._want() > 0:
            timeout = self._claim_at - now
            self._hungry.set()
        self._wake.clear()
        try:
            async with asyncio.timeout(max(0.0, min(timeout, self._options.poll_s))):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _step(self, want: int) -> None:
        """Commit what is finished and claim more. While the store is away, keep all and try again.

        Told to stop now, it gives up at the first refusal: what is not committed is fetched again.
        """
        batch = self._take_batch()
        began = self._clock.monotonic_s()
        result = await self._patiently(
            lambda: self._store.step(
                self.worker,
                batch,
                want,
                kinds=self._options.kinds,
                lease_us=int(self._options.lease_s * 1_000_000),
                crawl=self._options.only,
            )
        )
        now = self._clock.monotonic_s()
        self._telemetry.step(finished=len(batch), claimed=len(result.leases), seconds=now - began)
        if self._answer_lost or self._store.connected != self._connected:
            self._answer_lost, self._connected = False, self._store.connected
            result = result._replace(leases=result.leases + await self._unheard(result.leases))
        if batch:
            self._ahead = self._options.ahead(len(batch), now - self._committed_at)
            self._committed_at = now
        self._take_in(result)
        if self._news is not None:
            self._news.stepped(result, more=bool(batch) and len(result.leases) >= want)

    async def _unheard(self, told: list[Lease]) -> list[Lease]:
        """What was claimed by a step whose answer never came: nobody else may run it before it expires."""
        known = {lease.job for lease in (*told, *self._ready)} | self._running.keys()
        known |= {item.lease.job for item in self._finished}
        held = await self._patiently(lambda: self._store.held(self.worker))
        return [lease for lease in held if lease.job not in known]

    def _take_batch(self) -> list[Finished]:
        most, size = self._options.batch_pages, 0
        for count, item in enumerate(self._finished[:most], start=1):
            document = getattr(item.end, "document", None)
            size += len(document.body) if document is not None else 0
            if size >= self._options.batch_bytes:
                most = count
                break
        batch, self._finished = self._finished[:most], self._finished[most:]
        self._waiting_since = self._clock.monotonic_s()
        return batch

    def _take_in(self, result: StepResult) -> None:
        now = self._clock.monotonic_s()
        for lease in result.leases:
            self._taken_in[lease.job] = now
            # A host that wants pauses between requests has waited already.
            if lease.gap_us > 0:
                self._ready.appendleft(lease)
            else:
                self._ready.append(lease)
        offered, self._offered = self._offered, 0
        if self._answered is not None:
            if not self._answered.done():
                self._answered.set_result(len(result.leases))
            self._answered = None
        if result.leases:
            self._careful = any(lease.alone for lease in result.leases)
            self._idle_s = self._options.idle_s
            self._claim_at = now + (self._idle_s if offered else 0.0)
        else:
            prompt, timely = (False, False) if self._news is None else (self._news.prompt, self._news.timely)
            known_s = float("inf") if timely or result.wait_us is None else result.wait_us / 1_000_000
            idle_s = self._options.poll_s if prompt else self._idle_s
            self._claim_at = now + min(idle_s, known_s + 0.001)
            self._idle_s = min(2 * self._idle_s, self._options.poll_s)

    async def _isolate(self) -> None:
        """Before a job that took its process down runs again, give back what could be blamed for the next time."""
        alone = next((lease for lease in self._ready if lease.alone), None)
        if alone is None or len(self._ready) == 1:
            return
        self._give_back([lease for lease in self._ready if lease is not alone])
        self._ready.clear()  # nothing may begin before that is written
        while self._finished:
            await self._step(0)
        self._ready.append(alone)

    def _launch(self) -> None:
        """Start what may run: up to the concurrency, and a job that took its process down before alone."""
        while self._ready and len(self._running) < self._options.concurrency:
            lease = self._ready[0]
            if lease.alone and self._running:
                return
            if self._one_alone:
                return
            self._ready.popleft()
            if self._clock.monotonic_s() - self._taken_in.pop(lease.job, 0.0) > _STALE_S:
                self._give_back([lease])
                continue
            task = asyncio.create_task(self._run_one(lease))
            self._running[lease.job] = (lease, task)

    async def _run_one(self, lease: Lease) -> None:
        try:
            finished = await self._executor.run(lease)
        except Exception as error:  # noqa: BLE001 - the executor lets nothing through; if it does, the job must not vanish
            self._telemetry.internal_error(lease, error)
            finished = Finished(lease=lease, end=Again(delay_us=_BUG_PAUSE_US, attempted=True, message=repr(error)))
        held = self._running.get(lease.job)
        if held is None or held[0].lock != lease.lock:
            return  # given up, or claimed anew since: that run is another one
        del self._running[lease.job]
        if not self._finished:
            self._waiting_since = self._clock.monotonic_s()
        self._finished.append(finished)
        self._launch()
        if self._step_due() or len(self._finished) == 1:
            self._wake.set()

    async def _watch(self, stop: Stop) -> None:
        await stop.wait()
        self._wake.set()
        await stop.wait_now()
        self._wake.set()

    def _give_back(self, leases: list[Lease]) -> None:
        for lease in leases:
            self._taken_in.pop(lease.job, None)
        self._finished += [Finished(lease=lease, end=Again(hops=lease.hops)) for lease in leases]

    def _break_off(self) -> None:
        """Cancel what runs and give it back; a host that wants pauses has just been asked."""
        for lease, task in self._running.values():
            task.cancel()
            notes = (HostNote(host=lease.host, request_age_us=0),) if lease.gap_us > 0 else ()
            self._finished.append(Finished(lease=lease, end=Again(hops=lease.hops), hosts=notes))
        self._running.clear()

    async def _wind_down(self, stop: Stop) -> None:
        """Give back what has not begun, wait for what has (unless told not to), commit it all."""
        self._give_back(list(self._ready))
        self._ready.clear()
        deadline = self._clock.monotonic_s() + self._options.grace_s
        while self._running and not stop.urgent and self._clock.monotonic_s() < deadline:
            if self._finished:
                await self._step(0)
            self._wake.clear()
            try:
                async with asyncio.timeout(0.25):
                    await self._wake.wait()
            except TimeoutError:
                pass
        self._break_off()
        while self._finished:
            await self._step(0)
        try:
            await self._store.reap([self.worker])
        except StoreError as error:
            # Our row stays: whoever starts here next sees that its process is gone.
            self._telemetry.trouble("store.retry", str(error))
