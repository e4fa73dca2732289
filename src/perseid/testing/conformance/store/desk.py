"""A desk to test at: one store, its clock and a worker, with the few moves that tests make all the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import TERMINAL, JobKind, JobState
from perseid.model.verdict import Denial, DenialReason, Denied
from perseid.ports.inspect import JobView
from perseid.ports.store import HostDefaults, NewCrawl, StepResult
from perseid.ports.truth import Truth
from perseid.ports.work import Done, End, Finished, Lease, NewUrl, StoredDocument
from perseid.testing.conformance.store.backend import Backend, HandClock, NewBackend

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
"""Hosts that hold nobody back, for tests about something else."""

HOME = "https://site.example/"
_numbers = count()
CHECK_AT_MOST = 100
"""Crawls that the closing check looks at, the newest."""
NO_PAGES = frozenset({JobKind.SITEMAP, JobKind.EXPAND})
LOOK_AT_MOST = 500
"""Jobs of a crawl up to which the closing check counts them one by one."""


def key_of(url: str) -> int:
    """A signed 64-bit key, the same in every run."""
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def host_of(url: str) -> str:
    return urlsplit(url).hostname or "none.example"


def page(url: str, **fields: Any) -> NewUrl:
    """A URL to admit; relative ones lie on the home site."""
    url = url if "://" in url else HOME + url
    return NewUrl(**{"url": url, "key": key_of(url), "host": host_of(url), **fields})


def kickoff(*, counted: bool = True) -> NewUrl:
    """The first job of a crawl: it fetches the start page, and begins the crawl with what it learns there."""
    return page(HOME, kind=JobKind.KICKOFF, counted=counted)


def sitemap(url: str) -> NewUrl:
    return page(url)._replace(key=key_of("sitemap " + page(url).url), kind=JobKind.SITEMAP)


def document(url: str, *, status: int = 200, **fields: Any) -> StoredDocument:
    return StoredDocument(
        **{"url": url, "status": status, "title": "t", "body": url.encode("utf-8", "replace"), **fields}
    )


def denied(url: str, reason: DenialReason = DenialReason.EXTERNAL_LINK) -> Denied:
    return Denied(url, key_of(url), Denial(reason, "rule", "value"))


def links(*urls: str | NewUrl) -> list[NewUrl]:
    return [page(url) if isinstance(url, str) else url for url in urls]


def ended(lease: Lease, *urls: str | NewUrl, end: End | None = None, **fields: Any) -> Finished:
    """What a run brings home; unless said otherwise the page is done."""
    if end is None:
        is_page = lease.kind is not JobKind.SITEMAP and lease.counted
        end = Done(document=document(lease.url)) if is_page else Done()
    return Finished(lease=lease, end=end, urls=links(*urls), **fields)


class Desk:
    """Everything a test needs in one hand; several desks may share a database and a clock."""

    def __init__(self, backend: Backend, store: Truth, clock: HandClock, defaults: HostDefaults) -> None:
        self.backend = backend
        self.store = store
        self.clock = clock
        self.defaults = defaults
        self.worker = WorkerId(0)
        self.uids: dict[CrawlId, str] = {}
        self.uncounted: set[CrawlId] = set()
        self.lying = False
        """The test damaged the database on purpose."""

    @classmethod
    async def open(cls, backend: Backend, clock: HandClock | None = None, defaults: HostDefaults = FREE) -> Desk:
        clock = clock or HandClock()
        desk = cls(backend, await backend.open(defaults=defaults, clock=clock), clock, defaults)
        desk.worker = await desk.store.register("here", 1000, 1)
        return desk

    async def twin(self) -> Desk:
        """Another process on the same database; it shares the list of crawls."""
        twin = await Desk.open(self.backend, self.clock, self.defaults)
        twin.uids = self.uids
        return twin

    async def start(self, *first: str | NewUrl, **fields: Any) -> CrawlId:
        """Start a crawl; without `first` it has one page, the home page."""
        urls = tuple(links(*(first or (HOME,))))
        return await self.start_with(urls, **fields)

    async def start_with(self, first: Sequence[NewUrl], **fields: Any) -> CrawlId:
        uid = f"crawl-{next(_numbers)}"
        values = {"uid": uid, "url": HOME, "options": b"{}", "key_seed": 7, **fields}
        crawl = await self.store.start(NewCrawl(first=tuple(first), **values))
        self.uids[crawl] = uid
        if any(not url.counted for url in first):
            self.uncounted.add(crawl)
        return crawl

    async def look(self, crawl: CrawlId) -> Crawl:
        return await self.store.crawl(self.uids[crawl])

    async def step(self, finished: Sequence[Finished] = (), want: int = 0, **fields: Any) -> StepResult:
        return await self.store.step(fields.pop("worker", self.worker), finished, want, **fields)

    async def claim(self, want: int = 1, **fields: Any) -> list[Lease]:
        return (await self.step((), want, **fields)).leases

    async def one(self, **fields: Any) -> Lease:
        """Claim exactly one job; the test fails if there is none."""
        leases = await self.claim(1, **fields)
        assert len(leases) == 1, f"wanted one job, got {len(leases)}"
        return leases[0]

    async def claim_all(self, **fields: Any) -> list[Lease]:
        """Claim until nothing more is given."""
        held: list[Lease] = []
        while leases := await self.claim(1000, **fields):
            held += leases
        return held

    async def finish(self, lease: Lease, *urls: str | NewUrl, end: End | None = None, **fields: Any) -> bool:
        """End a job; says whether it was written."""
        kept = (await self.step([ended(lease, *urls, end=end, **fields)])).kept
        assert len(kept) == 1
        return kept[0]

    async def drain(self, site: Mapping[str, Sequence[str]] | None = None, *, want: int = 7) -> list[str]:
        """Work like one busy worker until nothing is given; the URLs in order of their claims."""
        seen: list[str] = []
        finished: list[Finished] = []
        while True:
            result = await self.step(finished, want)
            if not result.leases:
                return seen
            seen += [lease.url for lease in result.leases]
            finished = [ended(lease, *(site or {}).get(lease.url, ())) for lease in result.leases]

    async def patient_claim(self, want: int = 1, *, rounds: int = 50) -> list[Lease]:
        """Claim, moving the clock to where the store says that asking again is worth it."""
        for _ in range(rounds):
            result = await self.step((), want)
            if result.leases or result.wait_us is None:
                return result.leases
            assert result.wait_us >= 0
            self.clock.advance(result.wait_us + 1)
        return []

    async def sweep_all(self, chunk: int = 5_000) -> int:
        """Sweep until nothing is left to do; the rounds that did something."""
        for rounds in range(1_000):
            if not await self.store.sweep(chunk=chunk):
                return rounds
        raise AssertionError("sweeping comes to no end")

    async def jobs(self, crawl: CrawlId) -> list[JobView]:
        """All jobs of a crawl, paged through."""
        rows: list[JobView] = []
        while chunk := await self.store.jobs(crawl=crawl, after=rows[-1].job if rows else 0, limit=50):
            rows += chunk
        return rows

    async def states(self, crawl: CrawlId) -> dict[str, JobState]:
        """State of each page of a crawl, by the URL it is known under."""
        return {job.url: job.state for job in await self.jobs(crawl) if job.kind not in NO_PAGES}

    async def documents(self, crawl: CrawlId) -> list[str]:
        """URLs of all documents, in the order of the listing."""
        return [row.url for row in await self.store.documents(crawl, limit=10_000)]

    async def check(self) -> None:
        """What must hold after every test, whatever it did."""
        if self.lying:
            return
        assert await self.store.unpark() == 0, "work was left parked beside room"
        assert await self.store.audit() == []
        known = {crawl.id for crawl in await self.store.crawls(kinds=list(CrawlKind), limit=CHECK_AT_MOST)}
        for crawl, uid in self.uids.items():
            if crawl in known:
                await self._check_crawl(crawl, uid)

    async def _check_crawl(self, crawl: CrawlId, uid: str) -> None:
        seen = await self.store.crawl(uid)
        counts = seen.counts
        if seen.erased:
            return
        if seen.status is CrawlStatus.COMPLETED:
            assert counts.open == 0
        if seen.status is CrawlStatus.SCRAPING:
            assert counts.open > 0, "nothing is open, yet the crawl goes on"
        if seen.status in {CrawlStatus.CANCELLED, CrawlStatus.FAILED} or counts.discovered > LOOK_AT_MOST:
            return
        if seen.kind is CrawlKind.MAP:
            return
        jobs = await self.jobs(crawl)
        assert sum(job.state not in TERMINAL for job in jobs) == counts.open
        assert len(await self.documents(crawl)) == counts.documents
        if crawl in self.uncounted:
            return
        pages = Counter(job.state for job in jobs if job.kind not in NO_PAGES)
        assert pages[JobState.COMPLETED] == counts.done
        assert pages[JobState.FAILED] == counts.failed
        assert pages[JobState.DUPLICATE] == counts.duplicate
        assert pages[JobState.DENIED] == counts.denied
        assert pages[JobState.CANCELLED] == counts.cancelled
        assert pages.total() == counts.discovered


class Bench:
    """Opens desks and clears up after them."""

    def __init__(self, new_backend: NewBackend) -> None:
        self._new_backend = new_backend
        self._desks: list[Desk] = []

    async def desk(self, defaults: HostDefaults = FREE) -> Desk:
        """A desk on an empty database."""
        desk = await Desk.open(self._new_backend(), defaults=defaults)
        self._desks.append(desk)
        return desk

    async def twin(self, desk: Desk) -> Desk:
        """A second process on the database of a desk."""
        twin = await desk.twin()
        self._desks.append(twin)
        return twin

    async def close(self, *, check: bool) -> None:
        """Check every desk, then close all."""
        try:
            if check:
                for desk in self._desks:
                    await desk.check()
        finally:
            for desk in self._desks:
                await desk.store.close()
            for backend in {id(desk.backend): desk.backend for desk in self._desks}.values():
                await backend.dispose()
