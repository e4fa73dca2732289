"""The life of seeds, on behalf of a team: added, run, held, ended; what their runs and tasks came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from perseid.errors import Busy, ConfigError, NotFound, VersionConflict
from perseid.model.crawl import Crawl
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import JobKind
from perseid.model.seed import CsvSource, Seed, SqlSource, UrlList
from perseid.ports.inspect import FailureRow, JobView
from perseid.ports.items import RunStats, StoredException, StoredItem
from perseid.ports.seeds import NewSeed, SeedRow, SeedState
from perseid.ports.truth import Truth
from perseid.publishing.kinds import Targets
from perseid.seeds import schedule
from perseid.seeds.run import read_note, read_options

_TRIES = 20
"""Of a change that others may have been quicker with."""
_MOST_URLS = 200_000
"""That wait in one seed."""


class RunView(NamedTuple):
    """One run: the crawl it is, its figures, and how its source was read."""

    crawl: Crawl
    stats: RunStats
    left_out: int = 0
    """Of what its source holds: no addresses, or broken."""
    notes: tuple[str, ...] = ()
    """For people: what was left out and why, of the first of it."""
    trouble: str = ""
    """Why its source could not be read to its end."""


class Trace(NamedTuple):
    """One task: its job, the seed whose run it belongs to, and what it gave."""

    job: JobView
    run: Crawl
    seed: Seed
    items: list[StoredItem]
    exceptions: list[StoredException]


class Seeding:
    """`targets` are the connections and folders that seeds may name; `now_us` is the wall clock, µs."""

    def __init__(self, store: Truth, team: int, *, targets: Targets, now_us: Callable[[], int]) -> None:
        self.team = team
        self._store = store
        self._seeds = store.seeds
        self._targets = targets
        self._now_us = now_us

    async def put(self, seed: Seed) -> SeedRow:
        """Add the seed, or replace what it says; it is due by its schedule from now on.

        Raises `ConfigError` where it names what the operator has not defined.
        """
        return await self._put(seed)

    async def _put(self, seed: Seed, *, edition: int | None = None) -> SeedRow:
        _check_source(seed, self._targets)
        return await self._seeds.put_seed(
            NewSeed(
                team=self.team,
                seed=seed.seed_id,
                site=seed.site_id,
                spec=msgspec.json.encode(seed),
                priority=seed.priority,
                next_at=schedule.first(seed.schedule, self._now_us()),
                edition=edition,
            )
        )

    async def dispatch(self, seed: Seed) -> SeedRow:
        """The same, to run now whatever became of an earlier seed of that name.

        Addresses of one that has not begun yet are added to it: none is lost by being dispatched at the same moment as
        others. Raises as `put` does, and `Busy`.
        """
        for _ in range(_TRIES):
            before = await self._seeds.seed(self.team, seed.seed_id)
            whole = seed if before is None or not self._waits(before) else _together(said(before), seed)
            try:
                row = await self._put(whole, edition=0 if before is None else before.edition)
            except VersionConflict:
                continue
            return row if row.state is not SeedState.STOPPED else await self.run(seed.seed_id)
        raise Busy(f"others dispatch the seed {seed.seed_id!r} all the time", retry_after_s=1)

    def _waits(self, row: SeedRow) -> bool:
        """It is due, and nobody has begun it yet."""
        return row.next_at is not None and row.next_at <= self._now_us()

    async def go_on(self, seed: Seed) -> str:
        """Run it now, whatever its schedule, unless just that is running already; its name. Raises as `dispatch`."""
        row = await self._seeds.seed(self.team, seed.seed_id)
        if row is None or not row.running or said(row) != seed:
            row = await self.dispatch(seed)
            if not self._waits(row):
                await self.run(seed.seed_id)
        return seed.seed_id

    async def row(self, name: str) -> SeedRow:
        """Raises `NotFound`."""
        found = await self._seeds.seed(self.team, name)
        if found is None:
            raise NotFound(f"there is no seed {name!r}")
        return found

    async def rows(self, *, site: str | None = None, after: str = "", limit: int = 100) -> list[SeedRow]:
        """By name."""
        return await self._seeds.seeds(self.team, site=site, after=after, limit=limit)

    async def run(self, name: str) -> SeedRow:
        """Begin a run as soon as somebody dispatches, after the one that goes on. Raises `NotFound`."""
        return await self._change(name, SeedState.ACTIVE, lambda _row: self._now_us())

    async def pause(self, name: str) -> SeedRow:
        """Hold its run and begin no other. Raises `NotFound`."""
        return await self._change(name, SeedState.PAUSED, lambda row: row.next_at)

    async def resume(self, name: str) -> SeedRow:
        """Go on with the run that was held, and by the schedule. Raises `NotFound`."""

        def due(row: SeedRow) -> int | None:
            return row.next_at or schedule.next_after(said(row).schedule, self._now_us())

        return await self._change(name, SeedState.ACTIVE, due)

    async def stop(self, name: str) -> SeedRow:
        """Cancel its run and begin no other; what it has stays. Raises `NotFound`."""
        return await self._change(name, SeedState.STOPPED, lambda _row: None)

    async def delete(self, name: str) -> None:
        """What it collected stays. Raises `NotFound`."""
        if not await self._seeds.delete_seed(self.team, name):
            raise NotFound(f"there is no seed {name!r}")

    async def runs(self, row: SeedRow, *, before: CrawlId | None = None, limit: int = 100) -> list[RunView]:
        """The newest first."""
        return [await self.run_of(run) for run in await self._seeds.runs(row, before=before, limit=limit)]

    async def run_of(self, run: CrawlId) -> RunView:
        """Raises `NotFound`."""
        crawl = await self._store.crawl_by_id(run)
        note = read_note(crawl.note)
        # Of a run the job that reads its source is the first, and bears its name.
        failed = await self._store.failures(run, limit=1)
        trouble = next((row.message or row.code for row in failed if row.url == crawl.url), "")
        notes = note.notes
        most = read_options(crawl.options).seed.limit
        if crawl.counts.discovered >= most:
            notes = (*notes, f"it made {most:,} tasks, which is the seed's `limit`: what lies beyond was left")
        return RunView(crawl, await self._store.items.run_stats(run), note.skipped, notes, trouble)

    async def total(self, row: SeedRow) -> RunStats:
        """Over all its runs that are still kept."""
        return await self._store.items.seed_stats(row.id)

    async def newest(self, row: SeedRow) -> RunView | None:
        """Its newest run; None before the first, and where that was pruned."""
        if row.run is None:
            return None
        try:
            return await self.run_of(row.run)
        except NotFound:
            return None

    async def failures(self, view: RunView, *, limit: int = 10) -> list[FailureRow]:
        """Tasks of a run that failed, the first ones."""
        rows = await self._store.failures(view.crawl.id, limit=limit + 1)
        return [row for row in rows if row.url != view.crawl.url][:limit]

    async def trace(self, task: int) -> Trace:
        """Raises `NotFound`, also for a job that is no task."""
        for job in await self._store.jobs(team=self.team, after=task - 1, limit=1):
            if job.job == task and job.kind is JobKind.TASK:
                run = await self._store.crawl_by_id(job.crawl)
                items, exceptions = self._store.items.items_of, self._store.items.exceptions_of
                number = JobId(task)
                return Trace(job, run, read_options(run.options).seed, await items(number), await exceptions(number))
        raise NotFound(f"there is no task {task}")

    async def _change(self, name: str, state: SeedState, next_at: Callable[[SeedRow], int | None]) -> SeedRow:
        for _ in range(_TRIES):
            row = await self.row(name)
            if await self._seeds.set_seed(row, state, next_at=next_at(row)):
                return await self.row(name)
        raise Busy(f"others change the seed {name!r} all the time", retry_after_s=1)


def said(row: SeedRow) -> Seed:
    """What the seed says."""
    return msgspec.json.decode(row.spec, type=Seed)


def _together(waiting: Seed, more: Seed) -> Seed:
    """Raises `Busy` where the two are not of one kind."""
    one, other = waiting.source, more.source
    if isinstance(one, UrlList) and isinstance(other, UrlList):
        urls = tuple(dict.fromkeys((*one.urls, *other.urls)))
        if len(urls) <= _MOST_URLS and waiting == msgspec.structs.replace(
            more, source=one, timestamp=waiting.timestamp
        ):
            return msgspec.structs.replace(more, source=msgspec.structs.replace(other, urls=urls))
    if waiting == more:
        return more
    raise Busy(f"the seed {more.seed_id!r} is about to run; try again then, or name another", retry_after_s=5)


def _check_source(seed: Seed, targets: Targets) -> None:
    match seed.source:
        case SqlSource(connection=name) if name not in targets.connections:
            known, what = targets.connections, "connection"
        case CsvSource(folder=name) if name not in targets.folders:
            known, what = targets.folders, "folder"
        case _:
            return
    names = ", ".join(sorted(known)) or "none"
    raise ConfigError(f"the seed {seed.seed_id!r} names the {what} {name!r}; the operator has defined {names}")
