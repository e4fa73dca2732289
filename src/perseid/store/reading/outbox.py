"""The reading half of `Outbox`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from perseid.model.ids import CrawlId, JobId
from perseid.model.terms import EventKind
from perseid.ports.outbox import Attempt, EventPage
from perseid.store.reading.rows import Rows


def _attempt(columns: Sequence[Any]) -> Attempt:
    at, uid, kind, url, attempt, status, error, elapsed, final = columns
    return Attempt(at, uid, EventKind(kind), url, attempt, status, error, elapsed, bool(final))


class OutboxReader:
    """What waits to be told, and what became of what was; `clock` gives µs since the epoch."""

    def __init__(self, rows: Rows, clock: Callable[[], int]) -> None:
        self._rows = rows
        self._clock = clock

    async def next_event_us(self) -> int | None:
        ((next_at,),) = await self._rows.all("SELECT min(next_at) FROM outbox_lane")
        return None if next_at is None else max(0, next_at - self._clock())

    async def event_page(self, job: JobId) -> EventPage | None:
        rows = await self._rows.all(
            "SELECT CASE WHEN u.payload <> '' AND u.kind <> 1 THEN u.payload ELSE u.url END, coalesce(e.code, ''),"
            " coalesce(e.message, ''), d.body, d.blob, d.seq FROM url u LEFT JOIN ended e ON e.job = u.id"
            " LEFT JOIN document d ON d.crawl = u.crawl AND d.seq = e.seq WHERE u.id = $1",
            job,
        )
        return EventPage(*rows[0]) if rows else None

    async def attempts(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[tuple[int, Attempt]]:
        rows = await self._rows.all(
            "SELECT id, at, uid, kind, url, attempt, status, error, elapsed, final FROM delivery"
            " WHERE crawl = $1 AND id > $2 ORDER BY id LIMIT $3",
            crawl, after, limit,
        )  # fmt: skip
        return [(number, _attempt(rest)) for number, *rest in rows]
