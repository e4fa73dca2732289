"""The processes that work: they enrol, show life, are asked to go, and are reaped."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.store import Beat, Drain, WorkerSeen
from perseid.store.postgres import sinks
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import clean

SEEN = "SELECT id, host, pid, pid_started, beat, slots, version, kinds, drain FROM worker ORDER BY id"


async def register(
    tx: PgTx, host: str, pid: int, pid_started: int, *, slots: int, version: str, kinds: Sequence[JobKind]
) -> WorkerId:
    number = await tx.value(
        "INSERT INTO worker (host, pid, pid_started, slots, version, kinds) VALUES ($1, $2, $3, $4, $5, $6)"
        " RETURNING id",
        clean(host), pid, pid_started, slots, version, sum(1 << kind for kind in set(kinds)),
    )  # fmt: skip
    return WorkerId(number)


async def beat(tx: PgTx, worker: WorkerId) -> Beat | None:
    how = await tx.value("UPDATE worker SET beat = beat + 1 WHERE id = $1 RETURNING drain", worker)
    if how is None:
        return None
    ended = await tx.all(
        "SELECT DISTINCT l.crawl FROM lease l LEFT JOIN crawl c ON c.id = l.crawl"
        " WHERE l.worker = $1 AND (c.id IS NULL OR c.status <> $2)",
        worker,
        int(CrawlStatus.SCRAPING),
    )
    return Beat({CrawlId(row[0]) for row in ended}, Drain(how))


async def drain(tx: PgTx, worker: WorkerId, how: Drain) -> bool:
    return await tx.execute("UPDATE worker SET drain = $1 WHERE id = $2 AND slots > 0", int(how), worker) > 0


def seen(rows: Sequence[Sequence[object]]) -> list[WorkerSeen]:
    """Of the columns of `SEEN`."""
    found = []
    for row in rows:
        worker = WorkerSeen(*row)  # type: ignore[arg-type]
        found.append(worker._replace(id=WorkerId(worker.id), drain=Drain(worker.drain)))
    return found


async def reap(tx: PgTx, dead: Sequence[WorkerId]) -> int:
    """Leases of the dead, and all past their expiry, return to waiting; the dead lose their worker rows."""
    leases = int(await tx.value("SELECT reap_v1($1, $2, $3)", list(dead), tx.now, tx.settings))
    tx.stirred = tx.stirred or leases > 0
    if dead:
        await sinks.free(tx, dead)
    return leases
