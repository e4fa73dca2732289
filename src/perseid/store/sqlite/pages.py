"""`PageCache` in the database of the crawls: it is pruned, backed up and locked with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import apsw

from perseid.ports.pages import KnownPage
from perseid.store.reading.pages import COLUMNS, PageReader, values_of
from perseid.store.reading.rows import Rows
from perseid.store.sqlite.tx import Tx

_MOST_WAITING = 50
Write = Callable[[Callable[[Tx], int]], Awaitable[int]]

_PUT = (
    f"INSERT OR REPLACE INTO page_cache (key, {', '.join(COLUMNS)}, put_at)"  # noqa: S608 - constants
    f" VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)


class Passengers:
    """Pages put into the cache, which travel with the next transaction: alone each would cost one of its own.

    A page of a crawl is written soon after it was put, or the process's sign of life is. What dies with the process,
    or does not fit into the database, was a copy.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes, KnownPage] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def get(self, key: bytes) -> KnownPage | None:
        return self._waiting.get(key)

    def put(self, key: bytes, page: KnownPage) -> None:
        self._waiting[key] = page

    def drop(self, key: bytes) -> None:
        self._waiting.pop(key, None)

    def board(self, tx: Tx) -> None:
        """To be called in the writing thread, in any transaction."""
        while self._waiting:
            key, page = self._waiting.popitem()
            tx.execute("SAVEPOINT passenger")
            try:
                tx.execute(_PUT, (key, *values_of(page), tx.now))
            except (apsw.ConstraintError, apsw.TooBigError, apsw.MismatchError, UnicodeEncodeError):
                tx.execute("ROLLBACK TO passenger")
            tx.execute("RELEASE passenger")


class SqlitePageCache(PageReader):
    """Works through the two connections of a store."""

    def __init__(self, write: Write, rows: Rows, passengers: Passengers) -> None:
        super().__init__(rows)
        self._write = write
        self._passengers = passengers

    async def get(self, key: bytes) -> KnownPage | None:
        return self._passengers.get(key) or await super().get(key)

    async def put(self, key: bytes, page: KnownPage) -> None:
        self._passengers.put(key, page)
        if len(self._passengers) >= _MOST_WAITING:
            await self._write(lambda _tx: 1)

    async def drop(self, key: bytes) -> None:
        self._passengers.drop(key)

        def work(tx: Tx) -> int:
            tx.execute("DELETE FROM page_cache WHERE key = ?", (key,))
            return tx.connection.changes()

        await self._write(work)

    async def expire(self, before_us: int) -> int:
        def work(tx: Tx) -> int:
            tx.execute("DELETE FROM page_cache WHERE put_at < ?", (before_us,))
            return tx.connection.changes()

        return await self._write(work)
