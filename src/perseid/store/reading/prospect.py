"""How much work waits that could be claimed now, and how many slots are free for it: what tickets are published by."""

from __future__ import annotations

from typing import Any, Protocol

from perseid.ports.delivery import Prospect

_NEVER = 1 << 62
# $1 is the bound, $2 the time. Each part ends after as many rows as the bound: all that more could say is "enough".
_CLAIMABLE = (
    "(SELECT coalesce(sum(CASE WHEN ready.gap > 0 THEN 1 WHEN ready.n < ready.room THEN ready.n"
    "  ELSE ready.room END), 0)"
    " FROM (SELECT q.gap, q.max_active - q.active AS room, (SELECT sum(first.n) FROM"
    "  (SELECT tail - head AS n FROM lane WHERE queue = q.id AND state = 1 ORDER BY ord LIMIT $1) AS first) AS n"
    "  FROM queue q JOIN team t ON t.id = q.team WHERE t.active < t.max_active"
    "  AND q.ready > 0 AND q.closed = 0 AND q.active < q.max_active AND q.next_at <= $2 LIMIT $1) AS ready)"
)
_WOKEN = (
    "(SELECT count(*) FROM (SELECT 1 AS n FROM host"
    " WHERE waiting > 0 AND active < max_active AND open_at <= $2 AND paused_until <= $2 LIMIT $1) AS open)"
    " + (SELECT count(*) FROM (SELECT 1 AS n FROM retry WHERE run_at <= $2 LIMIT $1) AS due)"
    " + (SELECT count(*) FROM (SELECT 1 AS n FROM lane WHERE state = 3 LIMIT 1) AS given_up)"
)
_FREE = (
    "(SELECT coalesce(sum(CASE WHEN w.drain = 0 AND w.slots > coalesce(held.n, 0) THEN w.slots - coalesce(held.n, 0)"
    "  ELSE 0 END), 0) FROM worker w"
    " LEFT JOIN (SELECT worker, count(*) AS n FROM lease GROUP BY worker) AS held ON held.worker = w.id)"
)
_WAIT = (
    "(SELECT min(later.at) FROM ("  # noqa: S608 - constants
    "SELECT min(open_at) AS at FROM host WHERE waiting > 0 AND active < max_active AND open_at > $2"
    "  AND paused_until <= $2"
    f" UNION ALL SELECT min(paused_until) FROM host WHERE paused_until > $2 AND paused_until < {_NEVER} AND waiting > 0"
    " UNION ALL SELECT min(run_at) FROM retry WHERE run_at > $2"
    " UNION ALL SELECT min(next_at) FROM queue"
    "  WHERE ready > 0 AND closed = 0 AND active < max_active AND next_at > $2) AS later)"
)
_PROSPECT = f"SELECT {_CLAIMABLE}, {_WOKEN}, {_FREE}, {_WAIT}, (SELECT coalesce(min(id), 0) FROM worker)"  # noqa: S608 - constants


class Asked(Protocol):
    """A database, or a transaction of it."""

    async def all(self, statement: str, *bindings: Any) -> list[Any]: ...


async def prospect(rows: Asked, now: int, most: int) -> Prospect:
    """By indexes of what waits and runs: the same with ten rows or ten million."""
    ((ready, woken, free, next_at, first),) = await rows.all(_PROSPECT, most, now)
    return Prospect(
        claimable=min(most, int(ready) + int(woken)),
        free=int(free),
        wait_us=None if next_at is None else max(0, int(next_at) - now),
        first=int(first),
    )
