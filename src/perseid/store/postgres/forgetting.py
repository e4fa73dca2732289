"""Pruning, and zero retention: what was deleted leaves the tables too, as far as a server lets us see to that."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from functools import partial

from perseid.model.ids import CrawlId
from perseid.store.postgres import forget
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.connection import errors_of
from perseid.store.postgres.tx import PgTx

_VACUUM_S = 3_600.0
_LOOKS = 10
_LOOK_EVERY_S = 0.1
# Transactions that may still see rows which transaction $1 deleted, as far as we are told of them.
_SEEN_BY_OTHERS = (
    "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    " AND backend_type = 'client backend' AND age(backend_xmin) >= age($1::text::xid))"
)


class PgForgetting(PgBase):
    """The part of the store that lets go of crawls."""

    @abstractmethod
    async def sweep(self, *, chunk: int = 5_000) -> int: ...

    async def prune(
        self, *, ended_before_us: int = 0, crawl: CrawlId | None = None, rounds: int | None = None
    ) -> list[CrawlId]:
        patient = rounds is None
        while patient and await self.sweep():
            pass
        while await self._write(lambda tx: forget.mark(tx, ended_before_us, crawl, patient=patient)) and patient:
            pass
        gone: list[CrawlId] = []
        more = True
        while more and rounds != 0:
            fresh, more = await self._write(lambda tx: forget.prune_round(tx, crawl, patient=patient))
            self._forget_keys(fresh)
            gone += [CrawlId(number) for number in fresh]
            rounds = None if rounds is None else rounds - 1
        return gone

    async def mark_delivered(self, crawl: CrawlId, seq: int) -> None:
        await self._write(lambda tx: forget.deliver(tx, crawl, seq))

    async def erasures(self, *, limit: int = 100) -> list[CrawlId]:
        rows = await self._all(
            "SELECT e.crawl FROM erasure e LEFT JOIN crawl c ON c.id = e.crawl WHERE e.due_at <= $1 AND (c.id IS NULL"
            " OR c.status <> 0 AND c.swept = 1) ORDER BY e.due_at LIMIT $2",
            (self._clock(), limit),
        )
        return [CrawlId(row[0]) for row in rows]

    async def erase(self, *crawls: CrawlId) -> bool:
        """The rows are deleted, and VACUUM takes them out of the tables.

        What no client of a server can take away: the server's write-ahead log until its segments are used again, its
        backups and replicas, and bytes in the unused middle of a page until something is written there.
        """
        ended = [crawl for crawl in crawls if await self._write(partial(forget.blank, crawl=crawl), synced=True)]
        while ended and not await self._write(partial(forget.clear_rows, crawls=ended), synced=True):
            pass
        self._forget_keys(ended)
        if not await self._vacuumed():
            return False

        async def done(tx: PgTx) -> None:
            await tx.execute("DELETE FROM erasure WHERE crawl = ANY ($1::bigint[])", ended)

        await self._write(done, synced=True)
        return len(ended) == len(crawls)

    def _forget_keys(self, crawls: list[CrawlId] | list[int]) -> None:
        for crawl in crawls:
            self._memory.forget(crawl)

    async def _vacuumed(self) -> bool:
        """No dead row is left of what was deleted so far; False where somebody's snapshot still holds it."""

        async def number(tx: PgTx) -> str:
            found: int = await tx.value("SELECT txid_current()")
            return str(found % (1 << 32))

        last = await self._write(number)
        held = True
        for _ in range(_LOOKS):
            ((held,),) = await self._all(_SEEN_BY_OTHERS, (last,))
            if not held:
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        with errors_of(self.address):
            async with self._pool.acquire() as connection:
                # No file is shortened: that would shut everybody out for a moment.
                tables = ", ".join(forget.TOUCHED)
                await connection.execute(f"VACUUM (TRUNCATE FALSE) {tables}", timeout=_VACUUM_S)
        return not held
