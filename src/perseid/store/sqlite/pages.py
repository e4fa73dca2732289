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
        rows = await self._read(
            "SELECT url, etag, last_modified, headers, body, status, fetched_at, chain FROM page_cache WHERE key = ?",
            (key,),
        )
        if not rows:
            return None
        url, etag, last_modified, headers, body, status, fetched_at, chain = rows[0]
        return KnownPage(
            url=url,
            etag=etag,
            last_modified=last_modified,
            headers=msgspec.json.decode(headers, type=tuple[tuple[str, str], ...]),
            body=body,
            status=status,
            fetched_at=fetched_at,
            chain=chain,
        )

    async def put(self, key: bytes, page: KnownPage) -> None:
        headers = msgspec.json.encode(page.headers)
        sent = (page.url, page.etag, page.last_modified, headers, page.body, page.status, page.fetched_at, page.chain)

        def work(tx: Tx) -> int:
            tx.execute(
                "INSERT OR REPLACE INTO page_cache"
                " (key, url, etag, last_modified, headers, body, status, fetched_at, chain, put_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (key, *sent, tx.now),
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
