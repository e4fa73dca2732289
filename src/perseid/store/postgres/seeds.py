"""Sites and seeds: what is to be collected, when, and which run is under way.

A site is locked before its seeds, and they before the crawls of their runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.seeds import NewSeed, SeedRow, SeedState, SiteRow
from perseid.ports.store import NewCrawl
from perseid.store.postgres.start import start
from perseid.store.postgres.tx import PgTx
from perseid.store.publishing import seed_changed
from perseid.store.reading.rows import Rows
from perseid.store.reading.seeds import RUNNING, SEED, SITE, SeedReader, seed_of, site_of
from perseid.store.schema import clean

Write = Callable[[Callable[[PgTx], Awaitable[Any]]], Awaitable[Any]]


class PgSeeds(SeedReader):
    """`Seeds`; `write` is synced."""

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows, clock)
        self._write = write

    async def put_site(self, team: int, name: str) -> SiteRow:
        async def work(tx: PgTx) -> SiteRow:
            row = await tx.one(f"{SITE} WHERE id = $1", await _put_site(tx, team, name))
            assert row is not None
            return site_of(row)

        site: SiteRow = await self._write(work)
        return site

    async def pause_site(self, site: int, reason: str | None) -> bool:
        changed: bool = await self._write(lambda tx: pause_site(tx, site, reason))
        return changed

    async def put_seed(self, new: NewSeed) -> SeedRow:
        seed: SeedRow = await self._write(lambda tx: put_seed(tx, new))
        return seed

    async def set_seed(self, row: SeedRow, state: SeedState, *, next_at: int | None) -> bool:
        changed: bool = await self._write(lambda tx: set_seed(tx, row, state, next_at))
        return changed

    async def delete_seed(self, team: int, seed: str) -> bool:
        gone: bool = await self._write(lambda tx: delete_seed(tx, team, seed))
        return gone

    async def start_run(self, row: SeedRow, crawl: NewCrawl, *, next_at: int | None) -> CrawlId | None:
        run: CrawlId | None = await self._write(lambda tx: start_run(tx, row, crawl, next_at))
        return run


async def _put_site(tx: PgTx, team: int, name: str) -> int:
    """Its number, made where it isn't there; nobody pauses it meanwhile."""
    await tx.execute("INSERT INTO site (team, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", team, clean(name))
    return int(await tx.value("SELECT id FROM site WHERE team = $1 AND name = $2 FOR SHARE", team, clean(name)))


async def pause_site(tx: PgTx, site: int, reason: str | None) -> bool:
    paused, why = int(reason is not None), clean(reason or "")
    before = await tx.one("SELECT paused, reason, paused_at FROM site WHERE id = $1 FOR NO KEY UPDATE", site)
    if before is None or (before["paused"], before["reason"]) == (paused, why):
        return False
    at = (before["paused_at"] or tx.now) if paused else None
    await tx.execute("UPDATE site SET paused = $1, reason = $2, paused_at = $3 WHERE id = $4", paused, why, at, site)
    seeds = await tx.all("SELECT id FROM seed WHERE site = $1 ORDER BY id FOR NO KEY UPDATE", site)
    await _pause_runs(tx, [seed for (seed,) in seeds])
    return True


async def _pause_runs(tx: PgTx, seeds: Sequence[int]) -> None:
    """Runs of these seeds are held while their seed, or its site, is paused. The caller holds them and their sites."""
    for crawl, paused in await tx.all(
        "SELECT c.id, CASE WHEN s.state = 1 OR t.paused = 1 THEN 1 ELSE 0 END FROM seed s JOIN site t ON t.id = s.site"
        " JOIN crawl c ON c.seed = s.id AND c.status = 0 WHERE s.id = ANY ($1::bigint[]) ORDER BY c.id",
        seeds,
    ):
        if await tx.value("SELECT pause_v1($1, $2)", crawl, paused):
            tx.stirred = True


async def _cancel_runs(tx: PgTx, seed: int) -> None:
    """The caller holds the seed."""
    runs = "SELECT id FROM crawl WHERE seed = $1 AND status = 0 ORDER BY id FOR NO KEY UPDATE"
    for (crawl,) in await tx.all(runs, seed):
        await tx.execute("SELECT 1 FROM queue WHERE crawl = $1 ORDER BY id FOR NO KEY UPDATE", crawl)
        if await tx.value("SELECT status FROM crawl WHERE id = $1", crawl) == CrawlStatus.SCRAPING:
            await tx.execute("SELECT end_v1($1, $2, $3)", tx.now, crawl, int(CrawlStatus.CANCELLED))


async def put_seed(tx: PgTx, new: NewSeed) -> SeedRow:
    site = await _put_site(tx, new.team, new.site)
    seed = await tx.value(
        "INSERT INTO seed AS s (team, name, site, spec, priority, next_at, created_at, updated_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (team, name) DO UPDATE SET site = excluded.site,"
        " spec = excluded.spec, priority = excluded.priority, next_at = excluded.next_at,"
        " updated_at = excluded.updated_at, edition = s.edition + 1 WHERE coalesce($8, s.edition) = s.edition"
        " RETURNING id",
        new.team, clean(new.seed), site, new.spec, new.priority, new.next_at, tx.now, new.edition,
    )  # fmt: skip
    if seed is None:
        raise seed_changed(new)
    await _pause_runs(tx, [seed])
    row = await tx.one(f"{SEED} WHERE s.id = $1", seed)
    assert row is not None
    return seed_of(row)


async def _hold(tx: PgTx, row: SeedRow) -> bool:
    """Lock a seed after its site; False where it is not of that edition any more."""
    await tx.execute("SELECT 1 FROM site WHERE team = $1 AND name = $2 FOR SHARE", row.team, row.site)
    edition = await tx.value("SELECT edition FROM seed WHERE id = $1 FOR NO KEY UPDATE", row.id)
    return bool(edition == row.edition)


async def set_seed(tx: PgTx, row: SeedRow, state: SeedState, next_at: int | None) -> bool:
    if not await _hold(tx, row):
        return False
    await tx.execute(
        "UPDATE seed SET state = $1, next_at = $2, updated_at = $3, edition = edition + 1 WHERE id = $4",
        int(state), next_at, tx.now, row.id,
    )  # fmt: skip
    if state is SeedState.STOPPED:
        await _cancel_runs(tx, row.id)
    else:
        await _pause_runs(tx, [row.id])
    return True


async def delete_seed(tx: PgTx, team: int, seed: str) -> bool:
    number = await tx.value("DELETE FROM seed WHERE team = $1 AND name = $2 RETURNING id", team, clean(seed))
    if number is None:
        return False
    await _cancel_runs(tx, number)
    return True


async def start_run(tx: PgTx, row: SeedRow, new: NewCrawl, next_at: int | None) -> CrawlId | None:
    """Compare and set: of two dispatchers that saw the same row one begins a run."""
    if not await _hold(tx, row):
        return None
    free = f"SELECT 1 FROM seed s WHERE s.id = $1 AND s.state = 0 AND NOT {RUNNING}"  # noqa: S608 - a constant
    if await tx.one(free, row.id) is None:
        return None
    crawl = await start(tx, replace(new, priority=row.priority))
    await tx.execute("UPDATE crawl SET seed = $1 WHERE id = $2", row.id, crawl)
    await tx.execute(
        "UPDATE seed SET run = $1, runs = runs + 1, next_at = $2, updated_at = $3, edition = edition + 1 WHERE id = $4",
        crawl, next_at, tx.now, row.id,
    )  # fmt: skip
    await _pause_runs(tx, [row.id])
    return crawl
