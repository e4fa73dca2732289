"""`PageCache` in the database of the crawls: all machines share it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from perseid.errors import StoreError
from perseid.ports.pages import KnownPage
from perseid.store.postgres.known import Write, expire
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.pages import COLUMNS, PageReader, values_of
from perseid.store.reading.rows import Rows

_GATHER_S = 0.1
_MOST_WAITING = 50
_PUT = (
    f"INSERT INTO page_cache (key, {', '.join(COLUMNS)}, put_at)"  # noqa: S608 - constants
    f" VALUES ({', '.join(f'${n}' for n in range(1, len(COLUMNS) + 3))}) ON CONFLICT (key) DO UPDATE SET"
    f" {', '.join(f'{name} = excluded.{name}' for name in (*COLUMNS, 'put_at'))}"
)
_Waiting = Mapping[bytes, tuple[KnownPage, int]]


class PgPageCache(PageReader):
    """Pages by the digest of the request that brought them.

    Pages that are put are written some at a time, a moment later: alone each would cost a transaction. What dies with
    the process, or the database refuses, was a copy. Close it when done.
    """

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows)
        self._write = write
        self._clock = clock
        self._waiting: dict[bytes, tuple[KnownPage, int]] = {}
        self._gathering: asyncio.Task[None] | None = None

    async def get(self, key: bytes) -> KnownPage | None:
        waiting = self._waiting.get(key)
        return waiting[0] if waiting is not None else await super().get(key)

    async def put(self, key: bytes, page: KnownPage) -> None:
        self._waiting[key] = (page, self._clock())
        if len(self._waiting) >= _MOST_WAITING:
            await self._flush()
        elif self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._gather(), name="perseid-pages")

    async def drop(self, key: bytes) -> None:
        await self._flush()

        async def work(tx: PgTx) -> None:
            await tx.execute("DELETE FROM page_cache WHERE key = $1", key)

        await self._write(work)

    async def expire(self, before_us: int) -> int:
        await self._flush()
        return await expire(self._write, "page_cache", "put_at", before_us)

    async def close(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            with suppress(asyncio.CancelledError):
                await self._gathering
        with suppress(StoreError):
            await self._flush()

    async def _gather(self) -> None:
        await asyncio.sleep(_GATHER_S)
        with suppress(StoreError):
            await self._flush()

    async def _flush(self) -> None:
        """Write what waits. Raises `StoreUnavailable`; then they are lost, and are fetched again one day."""
        taken = dict(sorted(self._waiting.items()))  # all processes lock them in one order
        try:
            if taken:
                await self._put(taken)
        finally:
            for key, entry in taken.items():
                if self._waiting.get(key) is entry:
                    del self._waiting[key]

    async def _put(self, pages: _Waiting) -> None:
        async def work(tx: PgTx) -> None:
            await tx.executemany(_PUT, [(key, *values_of(page), at) for key, (page, at) in pages.items()])

        try:
            await self._write(work)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one page's data did that: the others are written without it
            if len(pages) > 1:
                for key, entry in pages.items():
                    await self._put({key: entry})
