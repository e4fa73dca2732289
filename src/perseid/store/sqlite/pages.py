"""`PageCache` in the database of the crawls: it is pruned, backed up and locked with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from perseid.ports.pages import KnownPage
from perseid.store.sqlite.connection import Row
from perseid.store.sqlite.tx import Tx

Write = Callable[[Callable[[Tx], int]], Awaitable[int]]
Read = Callable[[str, tuple[Any, ...]], Awaitable[list[Row]]]


class SqlitePageCache:
    """Works through the two connections of a store."""

    def __init__(self, write: Write, read: Read) -> None:
        self._write = write
        self._read = read

    async def get(self, key: bytes) -> KnownPage | None:
        rows = await self._read("SELECT url, etag, last_modified, headers, body FROM page_cache WHERE key = ?", (key,))
        if not rows:
            return None
        url, etag, last_modified, headers, body = rows[0]
        return KnownPage(
            url=url,
            etag=etag,
            last_modified=last_modified,
            headers=msgspec.json.decode(headers, type=tuple[tuple[str, str], ...]),
            body=body,
        )

    async def put(self, key: bytes, page: KnownPage) -> None:
        row = (key, page.url, page.etag, page.last_modified, msgspec.json.encode(page.headers), page.body)

        def work(tx: Tx) -> int:
            tx.execute(
                "INSERT OR REPLACE INTO page_cache (key, url, etag, last_modified, headers, body, put_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, tx.now),
            )
            return 1

        await self._write(work)

    async def drop(self, key: bytes) -> None:
        def work(tx: Tx) -> int:
            tx.execute("DELETE FROM page_cache WHERE key = ?", (key,))
            return tx.connection.changes()

        await self._write(work)

    async def expire(self, before_us: int) -> int:
        def work(tx: Tx) -> int:
            tx.execute("DELETE FROM page_cache WHERE put_at < ?", (before_us,))
            return tx.connection.changes()

        return await self._write(work)
