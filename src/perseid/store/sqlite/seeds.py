"""Sites and seeds: what is to be collected, when, and which run is under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.seeds import NewSeed, SeedRow, SeedState, SiteRow
from perseid.ports.store import NewCrawl
from perseid.store.publishing import seed_changed
from perseid.store.reading.rows import Rows
from perseid.store.reading.seeds import RUNNING, SEED, SITE, SeedReader, seed_of, site_of
from perseid.store.schema import clean
from perseid.store.sqlite import gates, lifecycle
from perseid.store.sqlite.start import start
from perseid.store.sqlite.tx import Tx

Write = Callable[[Callable[[Tx], Any]], Awaitable[Any]]


class SqliteSeeds(SeedReader):
    """`Seeds` through the two connections of a store; `write` is synced."""

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows, clock)
        self._write = write

    async def put_site(self, team: int, name: str) -> SiteRow:
        def work(tx: Tx) -> SiteRow:
            (row,) = tx.all(f"{SITE} WHERE id = ?", (_site(tx, team, name),))
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


def _site(tx: Tx, team: int, name: str) -> int:
    tx.execute("INSERT INTO site (team, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (team, clean(name)))
    ((number,),) = tx.all("SELECT id FROM site WHERE team = ? AND name = ?", (team, clean(name)))
    return int(number)


def pause_site(tx: Tx, site: int, reason: str | None) -> bool:
    paused = reason is not None
    row = tx.one(
        "UPDATE site SET paused = ?1, reason = ?2, paused_at = CASE WHEN ?1 THEN coalesce(paused_at, ?3) END"
        " WHERE id = ?4 AND (paused <> ?1 OR reason <> ?2) RETURNING id",
        (paused, clean(reason or ""), tx.now, site),
    )
    if row is None:
        return False
    for (seed,) in tx.all("SELECT id FROM seed WHERE site = ?", (site,)):
        _pause_runs(tx, seed)
    return True


def _pause_runs(tx: Tx, seed: int) -> None:
    """Runs of a seed are held while it, or its site, is paused."""
    for number, paused in tx.all(
        "SELECT c.id, s.state = 1 OR t.paused FROM seed s JOIN site t ON t.id = s.site"
        " JOIN crawl c ON c.seed = s.id AND c.status = 0 WHERE s.id = ?",
        (seed,),
    ):
        crawl = tx.crawl(number)
        assert crawl is not None
        gates.pause(tx, crawl, paused=bool(paused))


def _cancel_runs(tx: Tx, seed: int) -> None:
    for (crawl,) in tx.all("SELECT id FROM crawl WHERE seed = ? AND status = 0", (seed,)):
        lifecycle.end(tx, CrawlId(crawl), CrawlStatus.CANCELLED, None)


def put_seed(tx: Tx, new: NewSeed) -> SeedRow:
    site = _site(tx, new.team, new.site)
    found = tx.one(
        "INSERT INTO seed (team, name, site, spec, priority, next_at, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?7, ?7) ON CONFLICT (team, name) DO UPDATE SET site = excluded.site,"
        " spec = excluded.spec, priority = excluded.priority, next_at = excluded.next_at,"
        " updated_at = excluded.updated_at, edition = edition + 1 WHERE coalesce(?8, edition) = edition RETURNING id",
        (new.team, clean(new.seed), site, new.spec, new.priority, new.next_at, tx.now, new.edition),
    )
    if found is None:
        raise seed_changed(new)
    (seed,) = found
    _pause_runs(tx, seed)
    (row,) = tx.all(f"{SEED} WHERE s.id = ?", (seed,))
    return seed_of(row)


def set_seed(tx: Tx, row: SeedRow, state: SeedState, next_at: int | None) -> bool:
    changed = tx.one(
        "UPDATE seed SET state = ?, next_at = ?, updated_at = ?, edition = edition + 1 WHERE id = ? AND edition = ?"
        " RETURNING id",
        (int(state), next_at, tx.now, row.id, row.edition),
    )
    if changed is None:
        return False
    if state is SeedState.STOPPED:
        _cancel_runs(tx, row.id)
    else:
        _pause_runs(tx, row.id)
    return True


def delete_seed(tx: Tx, team: int, seed: str) -> bool:
    row = tx.one("DELETE FROM seed WHERE team = ? AND name = ? RETURNING id", (team, clean(seed)))
    if row is None:
        return False
    _cancel_runs(tx, row[0])
    return True


def start_run(tx: Tx, row: SeedRow, new: NewCrawl, next_at: int | None) -> CrawlId | None:
    """Compare and set: of two dispatchers that saw the same row one begins a run."""
    free = tx.one(
        f"SELECT 1 FROM seed s WHERE s.id = ? AND s.edition = ? AND s.state = 0 AND NOT {RUNNING}",  # noqa: S608 - a constant
        (row.id, row.edition),
    )
    if free is None:
        return None
    crawl = start(tx, replace(new, priority=row.priority))
    tx.execute("UPDATE crawl SET seed = ? WHERE id = ?", (row.id, crawl))
    tx.execute(
        "UPDATE seed SET run = ?, runs = runs + 1, next_at = ?, updated_at = ?, edition = edition + 1 WHERE id = ?",
        (crawl, next_at, tx.now, row.id),
    )
    _pause_runs(tx, row.id)
    return crawl
