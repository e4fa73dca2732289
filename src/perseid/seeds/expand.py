"""The job that makes a seed's tasks: a step of its source each time, held back while many of them wait."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from perseid.crawls.chain import Arrival, Hops
from perseid.crawls.executor import Work
from perseid.errors import ConfigError, SourceFailed
from perseid.links.foreign import trusted
from perseid.links.host import politeness_host
from perseid.model.job import JobKind
from perseid.model.seed import ApiSource, FeedSource, SitemapSource
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import Response
from perseid.ports.inspect import Inspect
from perseid.ports.source import Chunk, Folders, Query, Rows, Tables
from perseid.ports.work import Again, Done, End, Failed, Finished, HostNote, Lease, NewUrl, Refused
from perseid.seeds import schedule
from perseid.seeds.chain import Gear, TaskChain
from perseid.seeds.expanding import Expander
from perseid.seeds.expansion import Stepped
from perseid.seeds.run import Address, ExpandNote, TaskPayload, address
from perseid.seeds.runs import Run, Runs
from perseid.seeds.sieve import Sieve
from perseid.seeds.site import NoRule, Site, Sites
from perseid.seeds.task import Settled, collected_since, unready

MOST_OPEN = 2_000
"""Tasks of a run that wait or run at once; while there are more, no further ones are made."""
HELD_US = 500_000
DEADLINE_S = 170.0
TRIES = 5
"""Of one step, where its source is away."""
_LONGEST_PAUSE_S = 300.0
_MOST_NOTES = 20


class State(msgspec.Struct, array_like=True):
    """What is known between two steps: `Lease.hops`."""

    cursor: bytes | None = None
    steps: int = 0
    tries: int = 0
    """Of this step."""
    asked: str = ""
    """The address that was being asked for, and how far it got."""
    hops: bytes = b""
    skipped: int = 0
    notes: list[str] = []


class Sources(NamedTuple):
    """Where addresses may come from beside HTTP."""

    tables: Tables
    folders: Folders


class _GiveUp(Exception):
    """The step can't go on under this lease."""

    def __init__(self, end: End) -> None:
        super().__init__()
        self.end = end


class Expansions:
    """Runs the leases that expand seeds. See `perseid.crawls.executor.Runner`."""

    def __init__(  # collaborators, each named where it is wired
        self,
        *,
        gear: Gear,
        runs: Runs,
        sites: Sites,
        sieve: Sieve,
        inspect: Inspect,
        sources: Sources,
        most_open: int = MOST_OPEN,
    ) -> None:
        self.gear = gear
        self.sieve = sieve
        self.inspect = inspect
        self.sources = sources
        self.expander = Expander()
        self.most_open = most_open
        self.runs = runs
        self._sites = sites

    async def begin(self, lease: Lease) -> Work:
        run = await self.runs.get(lease.crawl)
        try:
            site = await self._sites.current(run.crawl.team, run.options.seed.site_id, own=run.own_rule)
        except NoRule as error:
            return Settled(lease, run.crawl.uid, Failed(code=FailureCode.NO_RULE.value, message=str(error)))
        except ConfigError as error:
            return Settled(lease, run.crawl.uid, unready(lease, error))
        return Expansion(self, lease, run, site)


class Expansion:
    """One step. See `perseid.crawls.executor.Work`; for the step itself it is `perseid.seeds.expansion.Asks`."""

    shown = True
    deadline_s = DEADLINE_S
    max_attempts = TRIES

    def __init__(self, jobs: Expansions, lease: Lease, run: Run, site: Site) -> None:
        self._jobs = jobs
        self._lease = lease
        self._run = run
        self._site = site
        self._state = msgspec.msgpack.decode(lease.hops, type=State) if lease.hops else State()
        self._chain: TaskChain | None = None
        self.crawl = run.crawl.uid

    @property
    def learnt(self) -> Sequence[HostNote]:
        return () if self._chain is None else self._chain.learnt

    async def run(self) -> Finished:
        open_tasks = await self._jobs.inspect.open_of(self._lease.crawl, [JobKind.TASK])
        if open_tasks > self._jobs.most_open:
            return self._finished(Again(delay_us=HELD_US, hops=self._lease.hops))
        source = self._run.options.seed.source
        try:
            stepped = await self._jobs.expander.step(source, self._state.cursor, self)
        except _GiveUp as given_up:
            return self._finished(given_up.end)
        except SourceFailed as error:
            return self._finished(self._failed(error))
        return await self._brought(stepped)

    async def _brought(self, stepped: Stepped) -> Finished:
        state = self._state
        notes = [*state.notes, *stepped.notes][:_MOST_NOTES]
        skipped = state.skipped + stepped.skipped
        urls = await self._tasks(stepped.urls)
        if stepped.cursor is None:
            note = ExpandNote(skipped=skipped, notes=tuple(notes)) if skipped or notes else None
            return self._finished(Done(), urls, note=note)
        following = State(stepped.cursor, state.steps + 1, skipped=skipped, notes=notes)
        return self._finished(Again(host=stepped.next_host, hops=msgspec.msgpack.encode(following)), urls)

    def _finished(self, end: End, urls: Sequence[NewUrl] = (), *, note: ExpandNote | None = None) -> Finished:
        told = None if note is None else msgspec.json.encode(note)
        return Finished(lease=self._lease, end=end, urls=urls, hosts=self.learnt, note=told)

    async def _tasks(self, urls: Sequence[str]) -> list[NewUrl]:
        seed, key_seed = self._run.options.seed, self._run.crawl.key_seed
        source = seed.source
        home = source.url if isinstance(source, SitemapSource | FeedSource | ApiSource) else ""
        found: list[tuple[Address, TaskPayload]] = []
        for url in urls:
            led = home if home and not trusted(home, url) else ""
            payload = TaskPayload(kind=source.page, method=source.method, body=source.body or "", home=led)
            asked = address(url, payload)
            if asked is not None:
                found.append((asked, payload))
        kind = source.page or self._site.rule.start_kind()
        if kind == "detail" and not seed.force:
            found = await self._uncollected(found)
        return [asked.task(payload, key_seed) for asked, payload in found]

    async def _uncollected(self, found: list[tuple[Address, TaskPayload]]) -> list[tuple[Address, TaskPayload]]:
        since = collected_since(self._site.rule, self._jobs.gear.clock.now_us())
        keys = [asked.page_key for asked, _payload in found]
        had = await self._jobs.sieve.collected(self._site.id, keys, since=since, many=self._state.steps > 0)
        return [each for each, was in zip(found, had, strict=True) if not was]

    def _failed(self, error: SourceFailed) -> End:
        state = self._state
        if not error.retryable or state.tries + 1 >= TRIES:
            return Failed(code=error.code, message=str(error))
        pause_s = min(2.0**state.tries, _LONGEST_PAUSE_S) * (1 + random.random() / 2)  # noqa: S311 - spreads retries
        again = msgspec.structs.replace(state, tries=state.tries + 1, asked="", hops=b"")
        return Again(
            delay_us=int(pause_s * 1_000_000), code=error.code, message=str(error), hops=msgspec.msgpack.encode(again)
        )

    # What a step asks for

    @property
    def today(self) -> date:
        return schedule.today(self._run.options.seed.schedule, self._run.options.due_at)

    async def rows(self, query: Query) -> Rows:
        return await self._jobs.sources.tables.rows(query)

    async def read(self, folder: str, file: str, *, offset: int, size: int) -> Chunk:
        return await self._jobs.sources.folders.read(folder, file, offset=offset, size=size)

    async def fetch(self, url: str) -> Response:
        """Under this lease if it is of that host, by the chain of any task."""
        state = self._state
        host = politeness_host(url)
        resumed = state.asked == url and bool(state.hops)
        hops = state.hops if resumed else b""
        at = msgspec.msgpack.decode(hops, type=Hops).url if hops else url
        if politeness_host(at) != self._lease.host or (self._chain is not None and self._lease.gap_us > 0):
            raise _GiveUp(Again(host=politeness_host(at) or host, hops=self._packed(url, hops)))
        lease = msgspec.structs.replace(
            self._lease, url=url, hops=hops, attempts=state.tries, kind=self._kind, payload=""
        )
        context = self._run.context(self._site, self._jobs.runs.blocked_hosts())
        chain = self._chain = TaskChain(lease, context, self._site, TaskPayload(), self._jobs.gear)
        arrived = await chain.follow()
        if isinstance(arrived, Arrival):
            chain.arrived(arrived.response)
            return arrived.response
        raise self._stopped(url, arrived)

    @property
    def _kind(self) -> JobKind:
        """Sitemaps are exempt from robots.txt; all else that is asked for isn't."""
        return JobKind.SITEMAP if isinstance(self._run.options.seed.source, SitemapSource) else JobKind.EXPAND

    def _stopped(self, url: str, end: End) -> Exception:
        match end:
            case Again():
                tries = self._state.tries + end.attempted
                packed = self._packed(url, end.hops, tries=tries)
                return _GiveUp(msgspec.structs.replace(end, attempted=False, hops=packed))
            case Failed():
                return SourceFailed(f"{url}: {end.message} ({end.code})")
            case Refused():
                return SourceFailed(f"{url}: {end.denial.message}")
        return SourceFailed(f"{url}: no answer")

    def _packed(self, url: str, hops: bytes, *, tries: int | None = None) -> bytes:
        state = self._state
        moved = msgspec.structs.replace(
            state, asked=url if hops else "", hops=hops, tries=state.tries if tries is None else tries
        )
        return msgspec.msgpack.encode(moved)
