"""Writing events into the outbox, in the transaction that made them true."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from perseid.model.terms import LAST_EVENTS, EventKind
from perseid.store.schema import EVER
from perseid.store.sqlite.connection import Connection

_LAST = ", ".join(str(int(kind)) for kind in EventKind if kind & LAST_EVENTS)


class News(NamedTuple):
    """An event to be written."""

    crawl: int
    kind: EventKind
    job: int | None


def post(connection: Connection, now: int, news: Sequence[News]) -> None:
    """Write what happened in this transaction; a crawl's last event waits for all before it."""
    connection.executemany(
        "INSERT INTO outbox (crawl, kind, job, uid, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (item.crawl, int(item.kind), item.job, str(uuid.uuid4()), now, EVER if item.kind & LAST_EVENTS else now)
            for item in news
        ],
    )
    for crawl in dict.fromkeys(item.crawl for item in news):
        connection.execute(
            "INSERT INTO outbox_lane (crawl, next_at) VALUES (?1, ?2) ON CONFLICT (crawl) DO UPDATE"
            " SET next_at = max(held_until, min(next_at, ?2)) WHERE busy = 0",
            (crawl, now),
        )
        if any(item.crawl == crawl and item.kind & LAST_EVENTS for item in news):
            release_last(connection, now, crawl)


def release_last(connection: Connection, now: int, crawl: int) -> None:
    """The last event becomes due where it is the only one left."""
    connection.execute(
        "UPDATE outbox SET due_at = ?2 WHERE crawl = ?1 AND due_at = ?3"
        " AND NOT EXISTS (SELECT 1 FROM outbox WHERE crawl = ?1 AND due_at < ?3)",
        (crawl, now, EVER),
    )


def withdraw_last(connection: Connection, crawl: int) -> None:
    """A crawl goes on after all: an end that nobody was told of yet is not told."""
    connection.execute(
        f"DELETE FROM outbox WHERE crawl = ? AND kind IN ({_LAST}) AND lock = 0 AND attempts = 0",  # noqa: S608 - integers
        (crawl,),
    )
