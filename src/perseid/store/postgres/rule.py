"""What the operator says of hosts, teams and crawls while they run: pauses, slots, rates."""

from __future__ import annotations

from perseid.errors import NotFound, StoreError
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.ports.inspect import HostView
from perseid.store.postgres.tx import PgTx, host_name
from perseid.store.reading.hosts import HOST, host_view
from perseid.store.schema import FOREVER, UNLIMITED, clean


async def set_host(
    tx: PgTx, name: str, *, paused_until: int | None, max_active: int | None, interval_us: int | None
) -> HostView:
    """Change what is not None; -1 is a pause without end, and of the others what the settings say."""
    if max_active is not None and (max_active == 0 or max_active < -1):
        raise StoreError(f"a host takes at least one request at a time, not {max_active}; pause it instead")
    host = await tx.value("SELECT id FROM host WHERE name = $1 FOR NO KEY UPDATE", host_name(clean(name)))
    if host is None:
        raise NotFound(f"no host {name}: nobody has asked it for anything yet")
    if paused_until is not None:
        until = FOREVER if paused_until < 0 else paused_until if paused_until > tx.now else 0
        await tx.execute(
            "UPDATE host SET paused_until = $1, freed_at = greatest(freed_at, $2) WHERE id = $3", until, tx.now, host
        )
    if max_active is not None:
        own_max = None if max_active < 0 else max_active
        await tx.execute("UPDATE host SET own_max = $1 WHERE id = $2", own_max, host)
        await tx.execute("SELECT room_v1($1, $2, $3)", tx.now, host, tx.settings)
    if interval_us is not None:
        own = None if interval_us < 0 else interval_us
        await tx.execute(
            "UPDATE host SET own_interval = $1::bigint, interval = coalesce($1::bigint, $2) WHERE id = $3",
            own,
            tx.defaults.interval_us,
            host,
        )
    tx.stirred = True
    seen = await tx.one(f"{HOST} WHERE id = $1", host)
    assert seen is not None
    return host_view(seen)


async def set_team_limit(tx: PgTx, team: int, max_active: int | None) -> None:
    await tx.execute(
        "INSERT INTO team (id, max_active) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET max_active = $2",
        team,
        UNLIMITED if max_active is None else max_active,
    )
    tx.stirred = True


async def set_crawl_limits(tx: PgTx, crawl: CrawlId, max_concurrency: int | None) -> None:
    """How many pages of the crawl run at once from now on; a crawl with a pause between pages keeps to one."""
    await tx.execute("UPDATE crawl SET max_active = $1 WHERE id = $2", max_concurrency, crawl)
    await tx.execute(
        "UPDATE queue SET max_active = CASE WHEN gap > 0 THEN 1 ELSE $1::bigint END"
        " WHERE crawl = $2 AND class IN ($3, $4)",
        UNLIMITED if max_concurrency is None else max_concurrency,
        crawl,
        int(JobKind.PAGE),
        int(JobKind.TASK),
    )
    tx.stirred = True
