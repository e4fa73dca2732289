"""The SQLite store behind its two ports: one thread writes, one reads, so that the event loop never waits for long."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from perseid.errors import StoreError
from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobKind
from perseid.model.verdict import Denied
from perseid.ports.inspect import HostView
from perseid.ports.store import AuditFinding, Beat, Drain, HostDefaults, NewCrawl, StepResult, WorkerSeen
from perseid.ports.truth import Check
from perseid.ports.work import Finished, Lease, NewUrl
from perseid.store.order import Order
from perseid.store.poison import Halving
from perseid.store.schema import UNLIMITED, clean
from perseid.store.seen import Memory
from perseid.store.sqlite import erase, gates, lifecycle, operate, workers
from perseid.store.sqlite.audit import audit
from perseid.store.sqlite.blocks import SqliteBlocks
from perseid.store.sqlite.claim import claim
from perseid.store.sqlite.configs import SqliteConfigs
from perseid.store.sqlite.connection import Connection, connect, migrate, reading, transaction
from perseid.store.sqlite.finish import finish_all
from perseid.store.sqlite.gates import take_settings
from perseid.store.sqlite.group import Orders
from perseid.store.sqlite.hand import Hand
from perseid.store.sqlite.items import SqliteItems
from perseid.store.sqlite.known import SqliteKnown
from perseid.store.sqlite.outbox import SqliteOutbox
from perseid.store.sqlite.pages import Passengers, SqlitePageCache
from perseid.store.sqlite.prune import mark, prune_round
from perseid.store.sqlite.rows import SqliteRows
from perseid.store.sqlite.rule import set_host
from perseid.store.sqlite.scrub import scrub
from perseid.store.sqlite.seeds import SqliteSeeds
from perseid.store.sqlite.start import start
from perseid.store.sqlite.teams import SqliteTeams
from perseid.store.sqlite.tx import Tx

T = TypeVar("T")
_ALL_KINDS = tuple(JobKind)
_JOBS_AT_ONCE = 500


def _wall_clock_us() -> int:
    return time.time_ns() // 1_000


def _apply(work: Callable[[Tx, Sequence[JobId]], int], jobs: Sequence[JobId], tx: Tx) -> int:
    return work(tx, jobs)


class SqliteStore(Halving, SqliteTeams, SqliteBlocks):
    """`Store`, `Inspect` and `Teams` on one database file. Any number of processes may open it."""

    def __init__(
        self,
        path: Path,
        writer: Connection,
        reader: Connection,
        defaults: HostDefaults,
        clock: Callable[[], int],
    ) -> None:
        rows = SqliteRows(path, reader)
        super().__init__(rows, clock)
        self.path = path
        self._file = rows
        self._writer = writer
        self._defaults = defaults
        self._wal_limit_bytes = 64 * 1024 * 1024
        self._memory = Memory()
        self._orders = Orders(self._tx)
        self._passengers = Passengers()
        self._thread = Hand("perseid-store")

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        defaults: HostDefaults | None = None,
        clock: Callable[[], int] = _wall_clock_us,
        cache_kib: int = 16_384,
        busy_timeout_s: float = 30.0,
        wal_limit_bytes: int = 64 * 1024 * 1024,
    ) -> SqliteStore:
        """Open or create. `clock` gives µs since the epoch. Raises `StoreUnavailable`, `StoreCorrupt`."""

        def opening() -> tuple[Connection, Connection]:
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = connect(path, cache_kib=cache_kib, busy_timeout_s=busy_timeout_s)
            migrate(writer, path)
            take_settings(writer, path, defaults or HostDefaults())
            reader = connect(path, cache_kib=2_048, busy_timeout_s=busy_timeout_s)
            reader.execute("PRAGMA query_only=ON")
            return writer, reader

        writer, reader = await asyncio.to_thread(opening)
        store = cls(path, writer, reader, defaults or HostDefaults(), clock)
        store._wal_limit_bytes = wal_limit_bytes
        return store

    @property
    def pages(self) -> SqlitePageCache:
        return SqlitePageCache(self._write, self._rows, self._passengers)

    @property
    def items(self) -> SqliteItems:
        return SqliteItems(self._write, self._rows, self._clock)

    @property
    def known(self) -> SqliteKnown:
        return SqliteKnown(self._write, self._rows)

    @property
    def configs(self) -> SqliteConfigs:
        return SqliteConfigs(partial(self._write, synced=True), self._rows)

    @property
    def seeds(self) -> SqliteSeeds:
        return SqliteSeeds(partial(self._write, synced=True), self._rows, self._clock)

    @property
    def outbox(self) -> SqliteOutbox:
        return SqliteOutbox(self._write, self._rows, self._clock)

    connected = 1

    async def close(self) -> None:
        if self._thread.stopped:
            return
        if len(self._passengers):
            with contextlib.suppress(StoreError):  # they were copies
                await self._write(lambda _tx: None)
        await self._run(self._writer.close)
        await self._thread.stop()
        await self._file.close()

    async def _run(self, work: Callable[[], T], *, brief: bool = False) -> T:
        return await self._thread.do(work, brief=brief)

    @contextmanager
    def _tx(self) -> Iterator[Tx]:
        with transaction(self._writer, self.path):
            tx = Tx(self._writer, self._clock(), self._defaults, self._memory)
            yield tx
            self._passengers.board(tx)
            tx.flush()
        tx.committed()

    async def _write(self, work: Callable[[Tx], T], *, synced: bool = False, brief: bool = False) -> T:
        """One transaction; `synced` ones are on disk before this returns, others at the next checkpoint.

        `brief` ones may be done in the caller's thread: some milliseconds of work, and no wait for the disk.
        """

        def run() -> T:
            if synced:
                self._writer.execute("PRAGMA synchronous=FULL")
            try:
                with self._tx() as tx:
                    return work(tx)
            finally:
                if synced:
                    self._writer.execute("PRAGMA synchronous=NORMAL")

        return await self._run(run, brief=brief)

    async def start(self, crawl: NewCrawl) -> CrawlId:
        return await self._write(lambda tx: start(tx, crawl), synced=True)

    async def take(self, crawl: NewCrawl, worker: WorkerId, *, lease_us: int) -> tuple[CrawlId, Lease | None]:
        order = Order(crawl, worker, lease_us)
        self._orders.put(order)
        await self._run(self._orders.carry_out)
        return order.outcome()

    async def add(
        self,
        crawl: CrawlId,
        urls: Sequence[NewUrl],
        *,
        parent: Lease | None = None,
        denied: Sequence[Denied] = (),
    ) -> int:
        return await self._write(lambda tx: lifecycle.add(tx, crawl, urls, parent, denied))

    async def step(
        self,
        worker: WorkerId,
        finished: Sequence[Finished],
        want: int,
        *,
        kinds: Sequence[JobKind] = _ALL_KINDS,
        lease_us: int = 120_000_000,
        crawl: CrawlId | None = None,
    ) -> StepResult:
        def work(tx: Tx) -> StepResult:
            kept = finish_all(tx, finished)
            tx.release_slots()
            leases: list[Lease] = []
            if want > 0 and workers.claims(tx, worker):
                leases = claim(tx, worker, want, kinds=kinds, lease_us=lease_us, only=crawl)
            # Which crawls that completes is known when the transaction is written out.
            return StepResult(kept, leases, None if leases or want <= 0 else gates.next_wake(tx), tx.completed)

        try:
            return await self._write(work, brief=True)
        except (StoreError, apsw.InterruptError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever one page's data did must not cost the others theirs
            return await self._halve(worker, finished, want, error, kinds=kinds, lease_us=lease_us, crawl=crawl)

    async def append(self, crawl: CrawlId, urls: Sequence[NewUrl]) -> int:
        return await self._write(lambda tx: operate.append(tx, crawl, urls), synced=True)

    async def retry_jobs(self, jobs: Sequence[JobId]) -> int:
        return await self._in_chunks(operate.retry, jobs)

    async def cancel_jobs(self, jobs: Sequence[JobId]) -> int:
        return await self._in_chunks(operate.cancel, jobs)

    async def _in_chunks(self, work: Callable[[Tx, Sequence[JobId]], int], jobs: Sequence[JobId]) -> int:
        """Other writers get between them."""
        chunks = [jobs[at : at + _JOBS_AT_ONCE] for at in range(0, len(jobs), _JOBS_AT_ONCE)]
        return sum([await self._write(partial(_apply, work, chunk), synced=True) for chunk in chunks])

    async def cancel(self, crawl: CrawlId) -> bool:
        return await self._write(lambda tx: lifecycle.end(tx, crawl, CrawlStatus.CANCELLED, None), synced=True)

    async def pause(self, crawl: CrawlId, *, paused: bool = True) -> bool:
        return await self._write(lambda tx: lifecycle.pause(tx, crawl, paused=paused), synced=True)

    async def fail(self, crawl: CrawlId, error: str) -> bool:
        return await self._write(lambda tx: lifecycle.end(tx, crawl, CrawlStatus.FAILED, error), synced=True)

    async def register(
        self,
        host: str,
        pid: int,
        pid_started: int,
        *,
        slots: int = 0,
        version: str = "",
        kinds: Sequence[JobKind] = _ALL_KINDS,
    ) -> WorkerId:
        return await self._write(
            lambda tx: workers.register(tx, host, pid, pid_started, slots=slots, version=version, kinds=kinds)
        )

    async def beat(self, worker: WorkerId) -> Beat | None:
        return await self._write(lambda tx: workers.beat(tx, worker))

    async def drain(self, worker: WorkerId, how: Drain) -> bool:
        return await self._write(lambda tx: workers.drain(tx, worker, how))

    async def workers(self) -> list[WorkerSeen]:
        return await self._write(workers.seen)

    async def reap(self, dead: Sequence[WorkerId]) -> int:
        return await self._write(lambda tx: lifecycle.reap(tx, dead))

    async def sweep(self, *, chunk: int = 5_000) -> int:
        return await self._write(lambda tx: lifecycle.sweep(tx, chunk))

    async def unpark(self) -> int:
        return await self._write(gates.wake_sleeping)

    async def prune(
        self, *, ended_before_us: int = 0, crawl: CrawlId | None = None, rounds: int | None = None
    ) -> list[CrawlId]:
        while rounds is None and await self.sweep():
            pass
        while await self._write(lambda tx: mark(tx, ended_before_us, crawl)) and rounds is None:
            pass
        gone: list[CrawlId] = []
        more = True
        while more and rounds != 0:
            fresh, more = await self._write(lambda tx: prune_round(tx, crawl))
            for number in fresh:
                self._memory.forget(number)
            gone += fresh
            rounds = None if rounds is None else rounds - 1
        return gone

    async def mark_delivered(self, crawl: CrawlId, seq: int) -> None:
        await self._write(lambda tx: erase.deliver(tx, crawl, seq))

    async def erasures(self, *, limit: int = 100) -> list[CrawlId]:
        return [CrawlId(crawl) for crawl in await self._write(lambda tx: erase.due(tx, limit))]

    async def erase(self, *crawls: CrawlId) -> bool:
        ended = [crawl for crawl in crawls if await self._write(partial(erase.blank, crawl=crawl))]
        for crawl in ended:
            while not await self._write(partial(erase.clear_rows, crawl=crawl, chunk=5_000)):
                pass
            self._memory.forget(crawl)
        if not await asyncio.to_thread(scrub, self.path):
            return False
        for crawl in ended:
            await self._write(partial(erase.done, crawl=crawl))
        return len(ended) == len(crawls)

    async def audit(self, *, crawls: int = 1_000) -> list[AuditFinding]:
        return await self._file.run(lambda connection: audit(connection, crawls=crawls))

    async def checkpoint(self) -> None:
        """Move the log into the database; shorten the log file once it has grown large. Raises `StoreUnavailable`."""

        def run(writer: Connection) -> None:
            wal = self.path.with_name(self.path.name + "-wal")
            large = wal.exists() and wal.stat().st_size > self._wal_limit_bytes
            mode = "TRUNCATE" if large else "PASSIVE"
            with contextlib.suppress(apsw.BusyError, apsw.LockedError):  # another process is at it
                writer.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

        await self._run(lambda: reading(self._writer, self.path, run))

    async def checks(self) -> list[Check]:
        from perseid.store.sqlite import health  # noqa: PLC0415 - few ask, and all would wait for it

        return await asyncio.to_thread(health.checks, self.path)

    async def put_robots(self, origin: str, status: int, body: bytes) -> None:
        await self._write(
            lambda tx: tx.execute(
                "INSERT OR REPLACE INTO robots (origin, fetched_at, status, body) VALUES (?, ?, ?, ?)",
                (clean(origin), tx.now, status, body),
            )
        )

    async def set_crawl_limits(self, crawl: CrawlId, *, max_concurrency: int | None) -> None:
        most = UNLIMITED if max_concurrency is None else max_concurrency

        def work(tx: Tx) -> None:
            tx.execute("UPDATE crawl SET max_active = ? WHERE id = ?", (max_concurrency, crawl))
            tx.execute(
                "UPDATE queue SET max_active = CASE WHEN gap > 0 THEN 1 ELSE ? END WHERE crawl = ? AND class IN (?, ?)",
                (most, crawl, int(JobKind.PAGE), int(JobKind.TASK)),
            )
            row = tx.crawl(crawl)
            if row is not None:
                tx.stirred_teams.add(row.team)

        await self._write(work)

    async def set_host(
        self,
        name: str,
        *,
        paused_until: int | None = None,
        max_active: int | None = None,
        interval_us: int | None = None,
    ) -> HostView:
        return await self._write(
            lambda tx: set_host(tx, name, paused_until=paused_until, max_active=max_active, interval_us=interval_us),
            synced=True,
        )

    async def set_team_limit(self, team: int, max_active: int | None) -> None:
        most = UNLIMITED if max_active is None else max_active
        await self._write(
            lambda tx: tx.execute(
                "INSERT INTO team (id, max_active) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET max_active = ?2",
                (team, most),
            )
        )
