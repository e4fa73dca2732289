"""What a worker holds, as it was told when it claimed."""

from __future__ import annotations

from perseid.model.ids import WorkerId
from perseid.ports.work import Lease
from perseid.store.lease import lease_of
from perseid.store.reading.rows import Rows

_HELD = (
    "SELECT u.id, l.crawl, l.lock, u.kind, u.url, u.key, u.depth, u.attempts, u.stalls, u.flags, u.payload, u.hops,"
    " h.name, h.gap, h.private, h.backoffs, l.expires_at FROM lease l JOIN url u ON u.id = l.job"
    " JOIN host h ON h.id = l.host WHERE l.worker = $1 ORDER BY l.job"
)


async def held(rows: Rows, worker: WorkerId) -> list[Lease]:
    return [lease_of(row) for row in await rows.all(_HELD, worker)]
