"""One process's way into the database: transactions, the clock they go by, and reads beside them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.errors import StoreUnavailable
from perseid.ports.store import HostDefaults
from perseid.store.postgres.connection import CLASHES, PLANS, Address, Connection, Row, errors_of
from perseid.store.postgres.memory import Memory
from perseid.store.postgres.tx import PgTx, host_name
from perseid.store.schema import clean

T = TypeVar("T")
_log = logging.getLogger("perseid.store")

_HOSTS_KEPT = 100_000
_TRIES = 10
"""Of a transaction that clashed with others."""
_CLOCK_GOOD_FOR_US = 30_000_000
# Behind a pooler a session can't be told once how to plan.
_PLANS = "; ".join(f"SET LOCAL {name} = {value}" for name, value in PLANS.items() if name != "plan_cache_mode")


def _steady_us() -> int:
    """A clock that nobody sets, and that goes on while the machine sleeps where the system has one."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000


class ServerClock:
    """The database's time, so that machines whose clocks are apart agree: measured, and counted on from there."""

    def __init__(self) -> None:
        self._measured_at = 0
        self._ahead = 0

    def __call__(self) -> int:
        return _steady_us() + self._ahead

    async def measure(self, connection: Connection) -> None:
        """Ask the server, if the last answer is too old to go by."""
        before = _steady_us()
        if self._measured_at and before - self._measured_at < _CLOCK_GOOD_FOR_US:
            return
        theirs: int = await connection.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        now = _steady_us()
        self._ahead = theirs - (before + now) // 2
        self._measured_at = now


class _Anew(Exception):
    """A connection was made in the meantime."""


class PgBase:
    """What the parts of the store share. `work` of a write may be run more than once, from its start."""

    def __init__(
        self,
        address: Address,
        pool: asyncpg.Pool,
        defaults: HostDefaults,
        clock: Callable[[], int] | None,
        memory: Memory,
    ) -> None:
        self.address = address
        self.clashes: Counter[str] = Counter()
        """Transactions that were run again, by the kind of clash."""
        self._pool = pool
        self._defaults = defaults
        self._server_clock = ServerClock() if clock is None else None
        self._clock: Callable[[], int] = clock or self._server_clock or time.time_ns
        self._memory = memory

    @property
    def connected(self) -> int:
        return self._memory.connected

    async def _write(self, work: Callable[[PgTx], Awaitable[T]], *, synced: bool = False, single: bool = False) -> T:
        """One transaction; `synced` ones are on disk before this returns, others some moments later.

        Work that is a `single` statement is a transaction by itself: the messages that begin and end one are spared.
        Raises `StoreUnavailable` where the server is away, or clashes don't end.
        """
        begin = None if single and not self.address.pooled else _begin(synced=synced, pooled=self.address.pooled)
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(random_pause_s(attempt))
            try:
                with errors_of(self.address):
                    async with self._pool.acquire() as connection:
                        return await self._transaction(connection, begin, work)
            except CLASHES as error:
                self.clashes[type(error).__name__] += 1
                _log.warning("a transaction clashed with another and is run again: %s", error)
        raise StoreUnavailable(f"{self.address.shown}: a transaction clashed {_TRIES} times with others")

    async def _transaction(self, connection: Connection, begin: str | None, work: Callable[[PgTx], Awaitable[T]]) -> T:
        if self._server_clock is not None:
            await self._in_transaction(connection, self._server_clock.measure)
        if begin is None:
            tx = PgTx(connection, self._clock(), self._defaults, self._memory)
            result = await work(tx)
        else:
            await connection.execute(begin)
            try:
                tx = PgTx(connection, self._clock(), self._defaults, self._memory)
                result = await work(tx)
                await connection.execute("COMMIT")
            except BaseException:
                if not connection.is_closed():
                    await connection.execute("ROLLBACK")
                raise
        tx.committed()
        if tx.stirred:
            self._stirred()
        return result

    async def _write_at(
        self, names: Collection[str], work: Callable[[PgTx, Mapping[str, int]], Awaitable[T]], *, synced: bool = False
    ) -> T:
        """A write that is given the numbers of these hosts, found out before, and apart from it.

        And once more where a connection was made since: the numbers may stand for nothing then.
        """
        while True:
            met = self._memory.connected
            hosts = await self._meet(names)

            async def checked(tx: PgTx, met: int = met, hosts: Mapping[str, int] = hosts) -> T:
                if self._memory.connected != met:
                    raise _Anew
                return await work(tx, hosts)

            with suppress(_Anew):
                return await self._write(checked, synced=synced)

    async def _meet(self, names: Collection[str]) -> Mapping[str, int]:
        """The number of each of these hosts, made where it is missing."""
        memory = self._memory
        hosts = memory.hosts if memory.keeps else {}
        missing = {name: host_name(clean(name)) for name in names if name not in hosts}
        if missing:

            async def make(tx: PgTx) -> dict[str, int]:
                rows = await tx.all("SELECT name, id FROM hosts_v1($1, 0, $2)", list(missing.values()), tx.settings)
                return dict(rows)

            made = await self._write(make)
            if len(hosts) + len(missing) > _HOSTS_KEPT:
                hosts = {name: hosts[name] for name in names if name in hosts}
                memory.hosts = hosts
            hosts.update((name, made[folded]) for name, folded in missing.items())
        return hosts

    def _stirred(self) -> None:
        """Work came in: see `PgNotices`."""

    async def _read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Statements that change nothing; each sees the newest state."""
        with errors_of(self.address):
            async with self._pool.acquire() as connection:
                return await self._in_transaction(connection, work)

    async def _in_transaction(self, connection: Connection, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Behind a pooler even a single statement needs a transaction: it is prepared and run in two messages."""
        if not self.address.pooled:
            return await work(connection)
        async with connection.transaction():
            await connection.execute(_PLANS)
            return await work(connection)

    async def _all(self, statement: str, bindings: Sequence[Any] = ()) -> list[Row]:
        async def work(connection: Connection) -> list[Row]:
            rows: list[Row] = await connection.fetch(statement, *bindings)
            return rows

        return await self._read(work)


def _begin(*, synced: bool, pooled: bool) -> str:
    """Each statement that a write runs knows its one index, so one plan is good for ever."""
    begin = "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan"
    if synced or pooled:  # else it is off already
        begin += f"; SET LOCAL synchronous_commit = {'on' if synced else 'off'}"
    return f"{begin}; {_PLANS}" if pooled else begin


def random_pause_s(attempt: int) -> float:
    """Longer from try to try, and different in each process."""
    return float(min(0.5, 0.002 * 2**attempt) * (0.5 + time.monotonic_ns() % 1_000 / 1_000))
