"""The outbox: events written with what made them true, claimed crawl by crawl, settled one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from perseid.model.ids import CrawlId, JobId
from perseid.model.terms import EventKind
from perseid.ports.outbox import Attempt, Event
from perseid.store.reading.outbox import OutboxReader
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean
from perseid.store.sqlite.post import release_last
from perseid.store.sqlite.tx import Tx

Write = Callable[[Callable[[Tx], Any]], Awaitable[Any]]

LANE_TAKE = 16
"""Events of one crawl that are taken at once."""


def take(tx: Tx, limit: int, lease_us: int) -> list[Event]:
    """Claim due events, the longest waiting crawls first."""
    taken: list[Event] = []
    lanes = tx.all("SELECT crawl FROM outbox_lane WHERE next_at <= ? ORDER BY next_at LIMIT ?", (tx.now, max(0, limit)))
    for (crawl,) in lanes:
        if len(taken) >= limit:
            break
        taken += _take_of(tx, crawl, min(LANE_TAKE, limit - len(taken)), tx.now + lease_us)
    return taken


def _take_of(tx: Tx, crawl: int, limit: int, until: int) -> list[Event]:
    lock = tx.random.getrandbits(62) | 1
    rows = tx.all(
        "SELECT id, kind, job, attempts, created_at, uid FROM outbox WHERE crawl = ? AND due_at <= ?"
        " ORDER BY due_at, id LIMIT ?",
        (crawl, tx.now, limit),
    )
    if not rows:
        _reopen(tx, crawl)
        return []
    tx.executemany("UPDATE outbox SET due_at = ?, lock = ? WHERE id = ?", [(until, lock, row[0]) for row in rows])
    tx.execute(
        "UPDATE outbox_lane SET next_at = ?, lock = ?, busy = ? WHERE crawl = ?", (until, lock, len(rows), crawl)
    )
    return [
        Event(id_, CrawlId(crawl), EventKind(kind), None if job is None else JobId(job), attempts, at, uid, lock)
        for id_, kind, job, attempts, at, uid in rows
    ]


def _reopen(tx: Tx, crawl: int) -> None:
    """Nothing of the crawl is taken: look at it when its next event is due, or never again."""
    row = tx.one("SELECT due_at FROM outbox WHERE crawl = ? ORDER BY due_at LIMIT 1", (crawl,))
    if row is None:
        tx.execute("DELETE FROM outbox_lane WHERE crawl = ?", (crawl,))
        _told(tx, crawl)
        return
    tx.execute(
        "UPDATE outbox_lane SET next_at = max(held_until, ?), lock = 0, busy = 0 WHERE crawl = ?", (row[0], crawl)
    )


def _told(tx: Tx, crawl: int) -> None:
    """No event is left: if every page of an ended crawl was told and taken, it has been delivered."""
    tx.execute(
        "UPDATE erasure SET due_at = min(due_at, ?1) WHERE crawl = (SELECT id FROM crawl WHERE id = ?2 AND status <> 0"
        " AND events & ?3) AND NOT EXISTS (SELECT 1 FROM delivery WHERE crawl = ?2 AND final = 1"
        " AND coalesce(status, 0) NOT BETWEEN 200 AND 299)",
        (tx.now, crawl, int(EventKind.PAGE)),
    )


def _let_go(tx: Tx, crawl: int, lock: int, count: int) -> None:
    """`count` events fewer are out under this lock; the last one opens the lane."""
    row = tx.one(
        "UPDATE outbox_lane SET busy = busy - ? WHERE crawl = ? AND lock = ? RETURNING busy", (count, crawl, lock)
    )
    if row is not None and row[0] <= 0:
        _reopen(tx, crawl)


def settle(tx: Tx, event: Event, attempt: Attempt, again_in_us: int | None) -> bool:
    _log(tx, event.crawl, attempt)
    if again_in_us is None:
        tx.execute("DELETE FROM outbox WHERE id = ? AND lock = ?", (event.id, event.lock))
    else:
        tx.execute(
            "UPDATE outbox SET due_at = ?, attempts = attempts + 1, lock = 0 WHERE id = ? AND lock = ?",
            (tx.now + max(0, again_in_us), event.id, event.lock),
        )
    ours = tx.connection.changes() > 0
    if ours and again_in_us is None:
        release_last(tx.connection, tx.now, event.crawl)
    if ours:
        _let_go(tx, event.crawl, event.lock, 1)
    return ours


def _log(tx: Tx, crawl: CrawlId, attempt: Attempt) -> None:
    """Unless the crawl is gone, or its log with it."""
    tx.execute(
        "INSERT INTO delivery (crawl, at, uid, kind, url, attempt, status, error, elapsed, final)"
        " SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS"
        " (SELECT 1 FROM crawl WHERE id = ?1 AND erased_at IS NULL)",
        (
            crawl, attempt.at, attempt.uid, int(attempt.kind), clean(attempt.url), attempt.attempt, attempt.status,
            clean(attempt.error), attempt.elapsed_us, int(attempt.final),
        ),
    )  # fmt: skip


def put_back(tx: Tx, events: Sequence[Event], in_us: int) -> None:
    for event in events:
        tx.execute(
            "UPDATE outbox SET due_at = ?, lock = 0 WHERE id = ? AND lock = ?",
            (tx.now if event.attempts else event.created_at, event.id, event.lock),
        )
        if tx.connection.changes():
            tx.execute(
                "UPDATE outbox_lane SET held_until = max(held_until, ?) WHERE crawl = ?",
                (tx.now + max(0, in_us), event.crawl),
            )
            _let_go(tx, event.crawl, event.lock, 1)


def drop(tx: Tx, crawl: int, chunk: int) -> bool:
    """Forget a crawl's events and deliveries, `chunk` rows of each kind; True when none is left."""
    left = False
    for statement in (
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE crawl = ? LIMIT ?)",
        "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE crawl = ? LIMIT ?)",
    ):
        tx.execute(statement, (crawl, chunk))
        left = left or tx.connection.changes() == chunk
    tx.execute("DELETE FROM outbox_lane WHERE crawl = ?", (crawl,))
    return not left


class SqliteOutbox(OutboxReader):
    """`Outbox` through the two connections of a store."""

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows, clock)
        self._write = write

    async def take_events(self, limit: int, *, lease_us: int) -> list[Event]:
        found: list[Event] = await self._write(lambda tx: take(tx, limit, lease_us))
        return found

    async def settle(self, event: Event, attempt: Attempt, *, again_in_us: int | None) -> bool:
        ours: bool = await self._write(lambda tx: settle(tx, event, attempt, again_in_us))
        return ours

    async def put_back(self, events: Sequence[Event], *, in_us: int) -> None:
        await self._write(lambda tx: put_back(tx, events, in_us))

    async def expire_attempts(self, before_us: int) -> int:
        def work(tx: Tx) -> int:
            tx.execute(
                "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE at < ? LIMIT 5000)", (before_us,)
            )
            return tx.connection.changes()

        gone = 0
        while found := await self._write(work):
            gone += found
        return gone
