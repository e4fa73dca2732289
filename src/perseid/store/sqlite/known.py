"""What teams have seen before: the index of known URLs, and snapshots of pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from perseid.ports.known import Snapshot
from perseid.ports.work import StoredDocument
from perseid.store.reading.known import KnownReader
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean
from perseid.store.sqlite.tx import CrawlRow, Tx

Write = Callable[[Callable[[Tx], Any]], Awaitable[Any]]

_CHUNK = 5_000


def remember(tx: Tx, crawl: CrawlRow, document: StoredDocument) -> None:
    """The page enters the team's index, where it carries a site; never one of a crawl that is to be erased."""
    if document.site is None or crawl.erase:
        return
    tx.execute(
        "INSERT INTO known_url (team, site, url, title, description, seen_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (team, site, url) DO UPDATE SET title = excluded.title, description = excluded.description,"
        " seen_at = excluded.seen_at",
        (
            crawl.team, clean(document.site), clean(document.url), _cleaned(document.title),
            _cleaned(document.description), tx.now,
        ),
    )  # fmt: skip


def _cleaned(text: str | None) -> str | None:
    return None if text is None else clean(text)


class SqliteKnown(KnownReader):
    """`KnownUrls` and `Snapshots` through the two connections of a store."""

    def __init__(self, write: Write, rows: Rows) -> None:
        super().__init__(rows)
        self._write = write

    async def forget_urls(self, before_us: int) -> int:
        return await self._expire(
            "DELETE FROM known_url WHERE (team, site, url) IN"
            " (SELECT team, site, url FROM known_url WHERE seen_at < ? LIMIT ?)",
            before_us,
        )

    async def put_snapshot(self, team: int, url: str, tag: str, snapshot: Snapshot) -> None:
        await self._write(
            lambda tx: tx.execute(
                "INSERT INTO snapshot (team, url, tag, taken_at, body) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (team, url, tag) DO UPDATE SET taken_at = excluded.taken_at, body = excluded.body"
                " WHERE excluded.taken_at >= taken_at",
                (team, clean(url), clean(tag), *snapshot),
            )
        )

    async def forget_snapshots(self, before_us: int) -> int:
        return await self._expire(
            "DELETE FROM snapshot WHERE (team, url, tag) IN"
            " (SELECT team, url, tag FROM snapshot WHERE taken_at < ? LIMIT ?)",
            before_us,
        )

    async def _expire(self, statement: str, before_us: int) -> int:
        def work(tx: Tx) -> int:
            tx.execute(statement, (before_us, _CHUNK))
            return tx.connection.changes()

        gone = 0
        while found := await self._write(work):
            gone += found
        return gone
