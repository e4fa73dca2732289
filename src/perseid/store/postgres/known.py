"""What teams have seen before: the index of known URLs, and snapshots of pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from perseid.ports.known import Snapshot
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.known import KnownReader
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean

Write = Callable[[Callable[[PgTx], Awaitable[Any]]], Awaitable[Any]]

CHUNK = 5_000


async def expire(write: Write, table: str, column: str, before_us: int) -> int:
    """Delete rows of a time before, in chunks that others get between; a row that is just being renewed stays."""

    async def work(tx: PgTx) -> int:
        return await tx.execute(
            f"DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {column} < $1"  # noqa: S608 - constants
            f" ORDER BY {column} LIMIT {CHUNK} FOR UPDATE SKIP LOCKED))",
            before_us,
        )

    gone = 0
    while found := await write(work):
        gone += found
    return gone


class PgKnown(KnownReader):
    """`KnownUrls` and `Snapshots`."""

    def __init__(self, write: Write, rows: Rows) -> None:
        super().__init__(rows)
        self._write = write

    async def forget_urls(self, before_us: int) -> int:
        return await expire(self._write, "known_url", "seen_at", before_us)

    async def forget_snapshots(self, before_us: int) -> int:
        return await expire(self._write, "snapshot", "taken_at", before_us)

    async def put_snapshot(self, team: int, url: str, tag: str, snapshot: Snapshot) -> None:
        async def work(tx: PgTx) -> None:
            await tx.execute(
                "INSERT INTO snapshot (team, url, tag, taken_at, body) VALUES ($1, $2, $3, $4, $5)"
                " ON CONFLICT (team, md5(url), md5(tag)) DO UPDATE SET taken_at = excluded.taken_at,"
                " body = excluded.body WHERE excluded.taken_at >= snapshot.taken_at",
                team, clean(url), clean(tag), *snapshot,
            )  # fmt: skip

        await self._write(work)
