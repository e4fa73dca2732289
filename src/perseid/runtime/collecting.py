"""What runs the seeds of a store in one process: the runners of their jobs, their scheduler, and until when."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

from perseid.config.named import OF_TEAM, prefix_of
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.job import JobKind
from perseid.model.terms import DEFAULT_TEAM
from perseid.ports.seeds import SeedState
from perseid.runtime.limiting import limiting
from perseid.runtime.uid import new_uid
from perseid.worker.stop import Stop

if TYPE_CHECKING:
    from perseid.crawls.executor import Runner, Work
    from perseid.model.ids import WorkerId
    from perseid.ports.work import Lease
    from perseid.runtime.engine import Engine
    from perseid.seeds.expand import Sources
    from perseid.seeds.site import Sites
    from perseid.seeds.starting import Starter
    from perseid.worker.duties.scheduler import Scheduler

_SEED_BITS = 62
_PAGE = 1_000


class Collecting:
    """What one worker needs for jobs of seeds, made when the first of them comes: crawls need none of it."""

    def __init__(self, engine: Engine, *, whose: Callable[[], WorkerId]) -> None:
        self._engine = engine
        self._whose = whose
        self._lock = asyncio.Lock()
        self._made: dict[JobKind, Runner] = {}
        self._sites: Sites | None = None
        self._open = AsyncExitStack()

    @property
    def runners(self) -> dict[JobKind, Runner]:
        return {kind: _Later(self, kind) for kind in (JobKind.EXPAND, JobKind.TASK)}

    async def runner(self, kind: JobKind) -> Runner:
        """Raises `ConfigError`, `MissingExtra` as `limiting` does."""
        if kind not in self._made:
            async with self._lock:
                if kind not in self._made:
                    self._made = await self._make()
        return self._made[kind]

    @property
    def sites(self) -> Sites:
        if self._sites is None:
            from perseid.seeds.site import Sites  # noqa: PLC0415 - crawls need none of it

            engine = self._engine
            self._sites = Sites(
                engine.store.seeds,
                engine.store.configs,
                secrets_of=self._secrets_of,
                now_s=engine.clock.monotonic_s,
            )
        return self._sites

    async def _secrets_of(self, team: int) -> Callable[[str], str | None]:
        """Those of the default team are the operator's own; those of another one bear its name before theirs."""
        prefix = ""
        if team != DEFAULT_TEAM:
            prefix = prefix_of((await self._engine.store.team(team)).name)

        def known(name: str) -> str | None:
            name = name.lower()
            return None if OF_TEAM in name else self._engine.settings.secrets.get(prefix + name)

        return known

    def starter(self) -> Starter:
        from perseid.seeds.starting import Identity, Starter  # noqa: PLC0415 - see above

        def identity() -> Identity:
            return Identity(new_uid(), secrets.randbits(_SEED_BITS))

        return Starter(self._engine.store.seeds, self.sites, clock=self._engine.clock, identity=identity)

    def scheduler(self, begun: Callable[[], None]) -> Scheduler:
        from perseid.worker.duties.scheduler import Scheduler  # noqa: PLC0415 - see above

        engine = self._engine
        every_s = engine.settings.worker.poll_s
        return Scheduler(engine.store.seeds, self.starter, telemetry=engine.telemetry, begun=begun, every_s=every_s)

    async def aclose(self) -> None:
        await self._open.aclose()

    async def _make(self) -> dict[JobKind, Runner]:
        from perseid.seeds.chain import Gear  # noqa: PLC0415 - see above
        from perseid.seeds.expand import Expansions  # noqa: PLC0415
        from perseid.seeds.pace import Pace  # noqa: PLC0415
        from perseid.seeds.reading import Reader  # noqa: PLC0415
        from perseid.seeds.runs import Runs  # noqa: PLC0415
        from perseid.seeds.sieve import Sieve  # noqa: PLC0415
        from perseid.seeds.task import Tasks  # noqa: PLC0415

        engine, store = self._engine, self._engine.store
        # Other processes ask the same sites, beside the same folder even.
        limits = await self._open.enter_async_context(
            limiting(engine.settings.limit, store, whose=self._whose, clock=engine.clock, shared=True)
        )
        gear = Gear(
            fetcher=engine.fetcher,
            robots=engine.robots,
            contexts=engine.contexts,
            bounds=engine.bounds,
            clock=engine.clock,
            token=Pace(limits, engine.clock).token,
        )
        runs = Runs(store, engine.block_list.entries)
        sieve = Sieve(store.seeds)
        return {
            JobKind.EXPAND: Expansions(
                gear=gear, runs=runs, sites=self.sites, sieve=sieve, inspect=store, sources=self._sources()
            ),
            JobKind.TASK: Tasks(
                gear=gear,
                runs=runs,
                sites=self.sites,
                seeds=store.seeds,
                store=store,
                reader=Reader(engine.clock.monotonic_s),
            ),
        }

    def _sources(self) -> Sources:
        from perseid.seeds.expand import Sources  # noqa: PLC0415 - see above
        from perseid.source.folders import NamedFolders  # noqa: PLC0415
        from perseid.source.tables import NamedTables  # noqa: PLC0415

        settings = self._engine.settings
        tables = NamedTables(settings.connections)
        self._open.push_async_callback(tables.close)
        return Sources(tables, NamedFolders(settings.folders))


class _Later(NamedTuple):
    """The runner of a kind, made when its first job comes."""

    collecting: Collecting
    kind: JobKind

    async def begin(self, lease: Lease) -> Work:
        return await (await self.collecting.runner(self.kind)).begin(lease)


class Collector:
    """Works on the seeds of a store in this process, for who waits until it is done.

    Seeds are put, dispatched, held and listed by `runtime.seeding.Seeding`; a seed that it makes due (`put`, `run`)
    is begun by the scheduler that runs here, as in every process that works on the store:

        sites.seeding.put(seed)                     # due by its schedule, at once by default
        await Collector(engine).run_until_idle(stop, concurrency=16)
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run_until_idle(self, stop: Stop, *, concurrency: int = 16) -> None:
        """Work until `idle`, or until a stop is asked for."""
        await self._engine.work(stop, self.idle, concurrency=concurrency)

    async def idle(self) -> bool:
        """Whether no seed is due now, no run goes on that nobody holds, and no item waits for a sink that works."""
        store = self._engine.store
        due_us = await store.seeds.next_due_us()
        if due_us is not None and due_us <= 0:
            return False
        if not await store.crawls(kinds=[CrawlKind.SEED], status=CrawlStatus.SCRAPING, limit=1):
            return not await self.items_wait()
        return not await self._some_run_goes_on() and not await self.items_wait()

    async def items_wait(self) -> bool:
        """Whether any is in line, or on its way, to a sink that took the last batch: those in trouble are not
        waited for.
        """
        store = self._engine.store
        if await store.items.next_batch_us() is None:
            return False
        lines = [await store.items.sink_states(team.id) for team in await store.teams()]
        return any(state.waiting and not state.error for line in lines for state in line)

    async def _some_run_goes_on(self) -> bool:
        """Of those that are not held: neither the seed is paused nor its site."""
        store = self._engine.store
        for team in await store.teams():
            held = {site.name for site in await store.seeds.sites(team.id, limit=_PAGE) if site.paused}
            after = ""
            while rows := await store.seeds.seeds(team.id, after=after, limit=_PAGE):
                if any(row.running and row.state is SeedState.ACTIVE and row.site not in held for row in rows):
                    return True
                after = rows[-1].seed
        return False
