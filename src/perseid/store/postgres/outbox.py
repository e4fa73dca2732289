"""The outbox: events written with what made them true (`post_v1`), claimed crawl by crawl, settled one by one.

Whoever changes events that are there already holds the row of their lane, and took it before; new ones may be written
without. So two who settle the last two events of a crawl see each other, and its last event leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from perseid.model.ids import CrawlId, JobId
from perseid.model.terms import EventKind
from perseid.ports.outbox import Attempt, Event
from perseid.store.postgres.known import Write, expire
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.outbox import OutboxReader
from perseid.store.reading.rows import Row, Rows
from perseid.store.schema import EVER, clean

LANE_TAKE = 16
"""Events of one crawl that are taken at once."""

_DUE = (
    "SELECT n.crawl, o.id, o.kind, o.job, o.attempts, o.created_at, o.uid"
    " FROM unnest($1::bigint[]) WITH ORDINALITY n (crawl, place) CROSS JOIN LATERAL (SELECT id, kind, job, attempts,"
    " created_at, uid, due_at FROM outbox WHERE outbox.crawl = n.crawl AND due_at <= $2 ORDER BY due_at, id LIMIT $3"
    " FOR UPDATE SKIP LOCKED) o ORDER BY n.place, o.due_at, o.id"
)
_LOG = (
    "INSERT INTO delivery (crawl, at, uid, kind, url, attempt, status, error, elapsed, final)"
    " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM"
    " (SELECT 1 FROM crawl WHERE id = $1 AND erased_at IS NULL FOR {}) c"
)


async def hold(tx: PgTx, crawls: Sequence[int]) -> list[int]:
    """Lock the lanes of these crawls; those that have one."""
    rows = await tx.all(
        "SELECT crawl FROM outbox_lane WHERE crawl = ANY ($1::bigint[]) ORDER BY crawl FOR UPDATE", sorted(set(crawls))
    )
    return [row[0] for row in rows]


async def release_last(tx: PgTx, crawls: Sequence[int]) -> None:
    """The last event becomes due where it is the only one left. Under the lock of the lane."""
    await tx.execute(
        "UPDATE outbox o SET due_at = $2 WHERE o.crawl = ANY ($1::bigint[]) AND o.due_at = $3 AND NOT EXISTS"
        " (SELECT 1 FROM outbox b WHERE b.crawl = o.crawl AND b.due_at < $3)",
        list(crawls),
        tx.now,
        EVER,
    )


async def take(tx: PgTx, limit: int, lease_us: int) -> list[Event]:
    """Claim due events, the longest waiting crawls first; lanes that another process looks at are left to it."""
    lanes = await tx.all(
        "SELECT crawl FROM outbox_lane WHERE next_at <= $1 ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED",
        tx.now, max(0, limit),
    )  # fmt: skip
    if not lanes:
        return []
    due: dict[int, list[Row]] = {crawl: [] for (crawl,) in lanes}
    for crawl, *event in await tx.all(_DUE, list(due), tx.now, min(LANE_TAKE, limit)):
        due[crawl].append(tuple(event))
    idle = [crawl for crawl, events in due.items() if not events]
    if idle:
        await _reopen(tx, idle)
    taken: list[Event] = []
    for crawl, events in due.items():
        lock = tx.random.getrandbits(62) | 1
        taken += [
            Event(id_, CrawlId(crawl), EventKind(kind), None if job is None else JobId(job), attempts, at, uid, lock)
            for id_, kind, job, attempts, at, uid in events[: limit - len(taken)]
        ]
    if taken:
        await _mark_taken(tx, taken, tx.now + lease_us)
    return taken


async def _mark_taken(tx: PgTx, events: Sequence[Event], until: int) -> None:
    await tx.execute(
        "UPDATE outbox SET due_at = $3, lock = n.lock FROM unnest($1::bigint[], $2::bigint[]) n (id, lock)"
        " WHERE outbox.id = n.id",
        [event.id for event in events],
        [event.lock for event in events],
        until,
    )
    lanes = Counter((event.crawl, event.lock) for event in events)
    await tx.execute(
        "UPDATE outbox_lane SET next_at = $4, lock = n.lock, busy = n.busy"
        " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) n (crawl, lock, busy)"
        " WHERE outbox_lane.crawl = n.crawl",
        [crawl for crawl, _lock in lanes],
        [lock for _crawl, lock in lanes],
        list(lanes.values()),
        until,
    )


async def _reopen(tx: PgTx, crawls: Sequence[int]) -> None:
    """Nothing of these crawls is taken: look at them when their next event is due, or never again."""
    over = await tx.all(
        "DELETE FROM outbox_lane WHERE crawl = ANY ($1::bigint[]) AND NOT EXISTS"
        " (SELECT 1 FROM outbox WHERE outbox.crawl = outbox_lane.crawl) RETURNING crawl",
        list(crawls),
    )
    if over:
        await _told(tx, [row[0] for row in over])
    if len(over) < len(crawls):
        await tx.execute(
            "UPDATE outbox_lane SET lock = 0, busy = 0, next_at = greatest(held_until,"
            " (SELECT due_at FROM outbox WHERE outbox.crawl = outbox_lane.crawl ORDER BY due_at LIMIT 1))"
            " WHERE crawl = ANY ($1::bigint[])",
            list(crawls),
        )


async def _told(tx: PgTx, crawls: Sequence[int]) -> None:
    """No event is left: if every page of an ended crawl was told and taken, it has been delivered.

    Who is just ending the crawl anew has its row: then it waits for its hour, rather than we for them.
    """
    await tx.execute(
        "UPDATE erasure SET due_at = least(due_at, $2) WHERE crawl IN (SELECT e.crawl FROM erasure e"
        " JOIN crawl c ON c.id = e.crawl WHERE e.crawl = ANY ($1::bigint[]) AND c.status <> 0 AND c.events & $3 <> 0"
        " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.crawl = e.crawl AND d.final = 1"
        " AND coalesce(d.status, 0) NOT BETWEEN 200 AND 299) FOR UPDATE OF e SKIP LOCKED)",
        list(crawls),
        tx.now,
        int(EventKind.PAGE),
    )


async def _let_go(tx: PgTx, out: Counter[tuple[CrawlId, int]]) -> None:
    """So many events fewer are out, by crawl and lock; the last one opens the lane."""
    rows = await tx.all(
        "UPDATE outbox_lane SET busy = outbox_lane.busy - n.busy"
        " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) n (crawl, lock, busy)"
        " WHERE outbox_lane.crawl = n.crawl AND outbox_lane.lock = n.lock"
        " RETURNING outbox_lane.crawl, outbox_lane.busy",
        [crawl for crawl, _lock in out],
        [lock for _crawl, lock in out],
        list(out.values()),
    )
    free = [crawl for crawl, busy in rows if busy <= 0]
    if free:
        await _reopen(tx, free)


async def settle(tx: PgTx, event: Event, attempt: Attempt, again_in_us: int | None) -> bool:
    held = await hold(tx, [event.crawl])
    # The lane keeps out whoever forgets the crawl; without one the crawl's own row must.
    await _log(tx, event.crawl, attempt, "KEY SHARE" if held else "SHARE")
    if again_in_us is None:
        ours = await tx.execute("DELETE FROM outbox WHERE id = $1 AND lock = $2", event.id, event.lock)
    else:
        ours = await tx.execute(
            "UPDATE outbox SET due_at = $3, attempts = attempts + 1, lock = 0 WHERE id = $1 AND lock = $2",
            event.id, event.lock, tx.now + max(0, again_in_us),
        )  # fmt: skip
    if not ours:
        return False
    if again_in_us is None:
        await release_last(tx, [event.crawl])
    await _let_go(tx, Counter({(event.crawl, event.lock): 1}))
    return True


async def _log(tx: PgTx, crawl: CrawlId, attempt: Attempt, lock: str) -> None:
    """Unless the crawl is gone, or its log with it."""
    await tx.execute(
        _LOG.format(lock),
        crawl, attempt.at, attempt.uid, int(attempt.kind), clean(attempt.url), attempt.attempt, attempt.status,
        clean(attempt.error), attempt.elapsed_us, int(attempt.final),
    )  # fmt: skip


async def put_back(tx: PgTx, crawl: CrawlId, events: Sequence[Event], in_us: int) -> None:
    """Of one crawl: who holds the lanes of several would have to take them in an order that all keep."""
    await hold(tx, [crawl])
    rows = await tx.all(
        "UPDATE outbox SET due_at = n.due_at, lock = 0 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
        " n (id, lock, due_at) WHERE outbox.id = n.id AND outbox.lock = n.lock RETURNING n.lock",
        [event.id for event in events],
        [event.lock for event in events],
        [tx.now if event.attempts else event.created_at for event in events],
    )
    if rows:
        await tx.execute(
            "UPDATE outbox_lane SET held_until = greatest(held_until, $2) WHERE crawl = $1",
            crawl, tx.now + max(0, in_us),
        )  # fmt: skip
        await _let_go(tx, Counter((crawl, lock) for (lock,) in rows))


class PgOutbox(OutboxReader):
    """`Outbox`; `clock` gives µs since the epoch."""

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
        for crawl in sorted({event.crawl for event in events}):
            of_crawl = [event for event in events if event.crawl == crawl]
            await self._write(partial(put_back, crawl=crawl, events=of_crawl, in_us=in_us))

    async def expire_attempts(self, before_us: int) -> int:
        return await expire(self._write, "delivery", "at", before_us)
