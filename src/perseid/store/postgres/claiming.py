"""Claiming, and the life of workers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from perseid.errors import PerseidError
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.inspect import HostView
from perseid.ports.store import AuditFinding, Beat, Drain, NewCrawl, WorkerSeen
from perseid.ports.work import Lease
from perseid.store.order import Order
from perseid.store.postgres import rule, workers
from perseid.store.postgres.audit import audit
from perseid.store.postgres.blocks import PgBlocks
from perseid.store.postgres.claim import Claimed, claim, fail_given_up
from perseid.store.postgres.connection import errors_of
from perseid.store.postgres.take import take_all
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import clean

_PATIENCE = 3
"""Times that a claim waits for rows of others before it comes home with nothing."""
_ORDERS_AT_ONCE = 100

_LONGEST_ORIGIN = 600
"""Of which an index takes any; no host has a longer name."""


class PgClaiming(PgBlocks):
    """The part of the store that hands out work."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._orders: deque[Order] = deque()
        self._ordering = asyncio.Lock()

    async def _claim_after(
        self,
        before: Claimed,
        worker: WorkerId,
        want: int,
        *,
        kinds: Sequence[JobKind],
        lease_us: int,
        only: CrawlId | None,
    ) -> Claimed:
        """What a claim left to do once its transaction is over: wait for what stood in its way, holding nothing."""

        async def again(tx: PgTx) -> Claimed:
            return await claim(tx, worker, want, kinds=kinds, lease_us=lease_us, only=only, wait_for=claimed.blocked)

        claimed = before
        for _ in range(_PATIENCE):
            if claimed.blocked is None:
                break
            claimed = await self._write(again, single=True)
        if before.given_up or claimed.given_up:
            await self._write(fail_given_up)
        return claimed

    async def take(self, crawl: NewCrawl, worker: WorkerId, *, lease_us: int) -> tuple[CrawlId, Lease | None]:
        order = Order(crawl, worker, lease_us)
        self._orders.append(order)
        # Whoever comes first carries out what has gathered; one who is cancelled leaves nobody's order behind.
        await asyncio.shield(self._carry_out(order))
        return order.outcome()

    async def _carry_out(self, order: Order) -> None:
        async with self._ordering:
            if order.over:
                return
            orders = [self._orders.popleft() for _ in range(min(len(self._orders), _ORDERS_AT_ONCE))]
            if order not in orders:
                orders.append(order)  # whoever had taken it was stopped
            if not await self._try(orders) and len(orders) > 1:
                # One order's data upset them all, or the server did: each is told for itself.
                for one in orders:
                    await self._try([one])

    async def _try(self, orders: list[Order]) -> bool:
        async def work(tx: PgTx) -> None:
            for order in orders:
                order.taken = order.error = None
            await take_all(tx, orders)

        try:
            await self._write(work)
        except PerseidError as error:
            for order in orders:
                order.taken, order.error = None, order.error or error
            return False
        except Exception as error:  # noqa: BLE001 - it belongs to whoever gave the order
            for order in orders:
                order.taken, order.error = None, error
            return False
        return True

    async def register(
        self,
        host: str,
        pid: int,
        pid_started: int,
        *,
        slots: int = 0,
        version: str = "",
        kinds: Sequence[JobKind] = tuple(JobKind),
    ) -> WorkerId:
        return await self._write(
            lambda tx: workers.register(tx, host, pid, pid_started, slots=slots, version=version, kinds=kinds)
        )

    async def beat(self, worker: WorkerId) -> Beat | None:
        return await self._write(lambda tx: workers.beat(tx, worker))

    async def drain(self, worker: WorkerId, how: Drain) -> bool:
        return await self._write(lambda tx: workers.drain(tx, worker, how), synced=True)

    async def workers(self) -> list[WorkerSeen]:
        return workers.seen(await self._all(workers.SEEN))

    async def reap(self, dead: Sequence[WorkerId]) -> int:
        await self._reap_blocks()
        return await self._write(lambda tx: workers.reap(tx, dead))

    async def unpark(self) -> int:
        async def work(tx: PgTx) -> int:
            return int(await tx.value("SELECT unpark_v1($1)", tx.now))

        return await self._write(work)

    async def audit(self, *, crawls: int = 1_000) -> list[AuditFinding]:
        with errors_of(self.address):
            async with self._pool.acquire() as connection:
                return await audit(connection, crawls=crawls)

    async def put_robots(self, origin: str, status: int, body: bytes) -> None:
        if len(origin) > _LONGEST_ORIGIN:
            return
        await self._write(
            lambda tx: tx.execute(
                "INSERT INTO robots (origin, fetched_at, status, body) VALUES ($1, $2, $3, $4) ON CONFLICT (origin)"
                " DO UPDATE SET fetched_at = $2, status = $3, body = $4",
                clean(origin),
                tx.now,
                status,
                body,
            )
        )

    async def set_crawl_limits(self, crawl: CrawlId, *, max_concurrency: int | None) -> None:
        await self._write(lambda tx: rule.set_crawl_limits(tx, crawl, max_concurrency))

    async def set_host(
        self,
        name: str,
        *,
        paused_until: int | None = None,
        max_active: int | None = None,
        interval_us: int | None = None,
    ) -> HostView:
        return await self._write(
            lambda tx: rule.set_host(
                tx, name, paused_until=paused_until, max_active=max_active, interval_us=interval_us
            ),
            synced=True,
        )

    async def set_team_limit(self, team: int, max_active: int | None) -> None:
        await self._write(lambda tx: rule.set_team_limit(tx, team, max_active))
