"""A store in a few dictionaries, slow and plain: what the real one must agree with after every move.

It does not say which job comes next; it says which claims are lawful and which jobs can't be held back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, LockToken, WorkerId
from perseid.model.job import JobKind, JobState
from perseid.ports.work import Again, Done, Failed, Finished, Lease, NewUrl, Refused
from perseid.testing.conformance.store.backend import SECOND

State = Literal["waiting", "leased", "done", "failed", "duplicate", "denied", "cancelled"]
OPEN: frozenset[State] = frozenset({"waiting", "leased"})
VISIBLE: dict[State, frozenset[JobState]] = {
    "waiting": frozenset({JobState.QUEUED, JobState.BACKLOG, JobState.RETRYING}),
    "leased": frozenset({JobState.ACTIVE}),
    "done": frozenset({JobState.COMPLETED}),
    "failed": frozenset({JobState.FAILED}),
    "duplicate": frozenset({JobState.DUPLICATE}),
    "denied": frozenset({JobState.DENIED}),
    "cancelled": frozenset({JobState.CANCELLED}),
}


@dataclass
class Job:
    url: str
    host: str
    kind: JobKind
    state: State = "waiting"
    due: int = 0
    attempts: int = 0
    stalls: int = 0

    @property
    def is_page(self) -> bool:
        return self.kind is not JobKind.SITEMAP


@dataclass
class CrawlModel:
    id: CrawlId
    team: int
    limit: int | None
    most: int | None
    """Maximum discovery depth."""
    concurrency: int | None
    delay: int
    first: tuple[int, ...] = ()
    status: CrawlStatus = CrawlStatus.SCRAPING
    jobs: dict[int, Job] = field(default_factory=dict)
    aliases: dict[int, int] = field(default_factory=dict)
    kept_by: dict[int, int] = field(default_factory=dict)
    """Of pages that ended without a document of their own: who has it."""
    refused: set[int] = field(default_factory=set)
    links: dict[int, list[NewUrl]] = field(default_factory=dict)
    """Of pages done: who links to whom, for depths."""
    documents: dict[int, str] = field(default_factory=dict)
    """In the order of the listing; a job that is retried gives its place up."""
    is_batch: bool = False
    """Its keys are the numbers of its jobs: they are learnt from the store."""
    is_run: bool = False
    """Of a seed: a redirect changes nothing."""
    paused: bool = False
    not_before: int = 0
    surely_open: int = 0

    def count(self, *states: State) -> int:
        return sum(job.is_page and job.state in states for job in self.jobs.values())

    @property
    def open(self) -> int:
        return sum(job.state in OPEN for job in self.jobs.values())

    def offer(self, urls: Iterable[NewUrl]) -> None:
        """Admit what is new, within the limit."""
        for url in urls:
            if url.key in self.jobs or url.key in self.aliases:
                continue
            pages = sum(job.is_page for job in self.jobs.values())
            if url.kind is JobKind.SITEMAP or self.limit is None or pages < self.limit:
                self.jobs[url.key] = Job(url.url, url.host, url.kind)
                self.refused.discard(url.key)
            else:
                self.refused.add(url.key)

    @property
    def room(self) -> int:
        """Pages that the limit leaves."""
        return 10**9 if self.limit is None else max(0, self.limit - sum(job.is_page for job in self.jobs.values()))

    def enlist(self, urls: Sequence[NewUrl], numbers: Iterable[int]) -> None:
        """Jobs of a batch, by their numbers; what goes over the limit is refused."""
        fits = list(zip(numbers, urls, strict=False))
        self.jobs |= {number: Job(url.url, url.host, url.kind) for number, url in fits}
        self.refused |= {url.key for url in urls[len(fits) :]}

    def refuse(self, keys: Iterable[int]) -> None:
        self.refused |= {key for key in keys if key not in self.jobs and key not in self.aliases}

    def depths(self) -> dict[int, int]:
        """Shortest known path to every page, over the links of the pages that are done."""
        found = dict.fromkeys(self.first, 0)
        level = list(self.first)
        while level:
            depth = found[level[0]] + 1
            targets = [url.key for key in level for url in self.links.get(key, ())]
            level = [key for key in dict.fromkeys(targets) if key not in found]
            found |= dict.fromkeys(level, depth)
        return found

    def follow(self, key: int, urls: Sequence[NewUrl]) -> None:
        """A page is done and shows its links; those near enough are admitted, by now or later."""
        self.links[key] = list(urls)
        if self.most is None:
            self.offer(urls)
            return
        depths = self.depths()
        seen = [url for shown in self.links.values() for url in shown]
        self.offer(url for url in seen if depths.get(url.key, self.most + 1) <= self.most)
        self.refuse(url.key for url in seen)

    def end(self, key: int, state: State, document: str | None = None) -> None:
        self.jobs[key].state = state
        if document is not None:
            self.documents[key] = document

    def retry(self, key: int) -> bool:
        """Back to waiting, as if for the first time; False for what can't be."""
        job = self.jobs[key]
        if self.status not in {CrawlStatus.SCRAPING, CrawlStatus.COMPLETED} or key in self.kept_by:
            return False
        if job.state not in {"failed", "cancelled"}:
            return False
        self.documents.pop(key, None)
        self.status = CrawlStatus.SCRAPING
        job.state, job.due, job.attempts, job.stalls = "waiting", 0, 0, min(job.stalls, 2)
        return True

    def cancel(self, key: int) -> bool:
        """A waiting job ends by itself; False for one that does not wait."""
        if self.status is not CrawlStatus.SCRAPING or self.jobs[key].state != "waiting":
            return False
        self.jobs[key].state = "cancelled"
        return True

    def arrive(self, key: int, finished: Finished, document: str | None) -> None:
        """A page is here, unless its redirect ended on a page that the crawl has or will have."""
        final = None if self.is_run else finished.final_key
        owner = self.aliases.get(final, final) if final is not None else key
        if owner not in self.jobs:
            self.aliases[owner] = key
        elif (keeper := self._keeper(owner, key)) is not None:
            self.kept_by[key] = keeper
            self.end(key, "duplicate")
            return
        self.end(key, "done", document)
        self.follow(key, finished.urls)
        self.refuse(refusal.key for refusal in finished.denied)

    def _keeper(self, owner: int, key: int) -> int | None:
        """The page that has, or will have, what `owner` was to bring; None where that is `key` itself from now on."""
        for _ in self.jobs:
            if owner == key:
                return None
            if self.jobs[owner].state in {"waiting", "leased", "done"}:
                return owner
            if owner not in self.kept_by:
                self.kept_by[owner] = key
                return None
            owner = self.kept_by[owner]
        return None

    def settle(self) -> None:
        if self.status is CrawlStatus.SCRAPING and self.open == 0:
            self.status = CrawlStatus.COMPLETED


@dataclass
class HostModel:
    gap: int = 0
    not_before: int = 0
    """No claim is lawful before."""
    surely_open: int = 0
    """From then on nothing but its slots holds it back."""
    shy: bool = False
    """Began with a kickoff, and no job of it is over: one at a time."""


@dataclass
class Held:
    lease: Lease
    worker: WorkerId
    host: str


class Oracle:
    """All crawls, hosts, teams and leases."""

    def __init__(self, max_active: int) -> None:
        self.max_active = max_active
        self.crawls: dict[CrawlId, CrawlModel] = {}
        self.hosts: dict[str, HostModel] = {}
        self.teams: dict[int, int | None] = {}
        self.held: dict[LockToken, Held] = {}
        self.workers: list[WorkerId] = []
        self.known_hosts: set[str] = set()

    def begin(self, urls: Sequence[NewUrl]) -> None:
        """A crawl starts with these: hosts that nobody knew are shy where it has a kickoff."""
        fresh = {url.host for url in urls} - self.known_hosts
        if any(url.kind is JobKind.KICKOFF for url in urls):
            for name in fresh:
                self.host(name).shy = True
        self.learn_hosts()

    def learn_hosts(self) -> None:
        """Hosts of all jobs there are; a host stays known when its crawls are forgotten."""
        self.known_hosts.update(job.host for crawl in self.crawls.values() for job in crawl.jobs.values())

    def went_on(self, crawl: CrawlModel, now: int) -> None:
        """A crawl that was over may have forgotten when its last page was asked for."""
        if crawl.delay:
            crawl.surely_open = max(crawl.surely_open, now + crawl.delay)

    def host(self, name: str) -> HostModel:
        return self.hosts.setdefault(name, HostModel())

    def _most_of_host(self, name: str) -> int:
        host = self.host(name)
        return 1 if host.gap or host.shy else self.max_active

    def _page_leases(self, crawl: CrawlId) -> int:
        leases = (held.lease for held in self.held.values())
        return sum(lease.crawl == crawl and lease.kind is JobKind.PAGE for lease in leases)

    def _most_of_crawl(self, crawl: CrawlModel) -> int:
        return 1 if crawl.delay else crawl.concurrency or 10**9

    def _team_leases(self, team: int) -> int:
        return sum(self.team_of.get(held.lease.crawl) == team for held in self.held.values())

    @property
    def team_of(self) -> dict[CrawlId, int]:
        return {crawl.id: crawl.team for crawl in self.crawls.values()}

    def claimed(self, worker: WorkerId, leases: Sequence[Lease], now: int) -> None:
        """Every one of these claims was lawful, or this raises."""
        assert not leases or worker in self.workers, "a dead worker got work"
        for lease in leases:
            crawl = self.crawls[lease.crawl]
            job = crawl.jobs[lease.key]
            assert crawl.status is CrawlStatus.SCRAPING, "a job of an ended crawl was claimed"
            assert not crawl.paused, "a job of a paused crawl was claimed"
            assert job.state == "waiting", f"a job that is {job.state} was claimed"
            assert job.due <= now, "a job was claimed before its time"
            assert (lease.attempts, lease.stalls, lease.host) == (job.attempts, job.stalls, job.host)
            assert self.host(job.host).not_before <= now, "a host was asked before its time"
            assert lease.kind is not JobKind.PAGE or crawl.not_before <= now, "the crawl's delay was cut short"
            if crawl.most is not None:
                assert lease.depth == crawl.depths()[lease.key]
            job.state = "leased"
            self.held[lease.lock] = Held(lease, worker, job.host)
            if lease.kind is JobKind.PAGE and crawl.delay:
                crawl.not_before = now + crawl.delay
        self._check_limits(leases)

    def _check_limits(self, fresh: Sequence[Lease]) -> None:
        """Limits bind new claims; what ran when a limit was lowered runs on."""
        hosts = Counter(held.host for held in self.held.values())
        for lease in fresh:
            crawl = self.crawls[lease.crawl]
            assert hosts[lease.host] <= self._most_of_host(lease.host), "too many at one host"
            if lease.kind is JobKind.PAGE:
                assert self._page_leases(lease.crawl) <= self._most_of_crawl(crawl), "too many of one crawl"
            team = self.teams.get(crawl.team)
            assert team is None or self._team_leases(crawl.team) <= team, "too many of one team"

    def must_run(self, now: int) -> list[str]:
        """Waiting jobs that nothing holds back: a claim that ends with fewer than wanted strands them."""
        hosts = Counter(held.host for held in self.held.values())
        found = []
        for crawl in self.crawls.values():
            team = self.teams.get(crawl.team)
            if (
                crawl.status is not CrawlStatus.SCRAPING
                or crawl.paused
                or (team is not None and self._team_leases(crawl.team) >= team)
            ):
                continue
            full = self._page_leases(crawl.id) >= self._most_of_crawl(crawl) or crawl.surely_open > now
            for job in crawl.jobs.values():
                open_host = self.host(job.host).surely_open <= now
                room = hosts[job.host] < self._most_of_host(job.host)
                blocked = full and job.kind is JobKind.PAGE
                if job.state == "waiting" and job.due <= now and open_host and room and not blocked:
                    found.append(job.url)
        return found

    def release(self, lock: LockToken, now: int, age: int | None) -> Held | None:
        """The lease is over; `age` is that of its last request, None where nobody knows."""
        held = self.held.pop(lock, None)
        if held is None:
            return None
        host = self.host(held.host)
        if host.gap:
            open_at = now - (age or 0) + host.gap
            host.not_before = max(host.not_before, open_at)
            host.surely_open = max(host.surely_open, open_at)
        crawl = self.crawls.get(held.lease.crawl)
        if crawl is not None and crawl.delay:
            crawl.surely_open = max(crawl.surely_open, now + crawl.delay)
        return held

    def throttle(self, name: str, now: int, retry_after: int) -> None:
        host = self.host(name)
        if now >= host.surely_open:
            host.not_before = max(host.not_before, now + retry_after)
        host.surely_open = max(host.surely_open, now + retry_after * 5 // 4 + SECOND)

    def record(self, finished: Finished, now: int, *, kept: bool) -> None:
        """What the end of one run makes of the world; its host note counts even where its page does not."""
        lease = finished.lease
        if lease.lock in self.held:
            self.host(self.held[lease.lock].host).shy = False
        for note in finished.hosts:
            self.host(note.host).gap = note.gap_us or self.host(note.host).gap
            self.release(lease.lock, now, note.request_age_us)
            if note.retry_after_us is not None:
                self.throttle(note.host, now, note.retry_after_us)
        if not kept:
            return
        crawl = self.crawls[lease.crawl]
        match finished.end:
            case Done(document=stored):
                crawl.arrive(lease.key, finished, stored.url if stored else None)
            case Failed(document=stored):
                crawl.end(lease.key, "failed", stored.url if stored else None)
            case Refused():
                crawl.end(lease.key, "denied")
            case Again() as again:
                job = crawl.jobs[lease.key]
                job.state, job.due = "waiting", now + again.delay_us
                job.attempts += again.attempted
                job.host = again.host or job.host
                crawl.offer(finished.urls)

    def give_back(self, lock: LockToken, now: int) -> None:
        """Reaped: back to waiting, with a stall; a job that stalled too often fails."""
        held = self.release(lock, now, None)
        assert held is not None
        crawl = self.crawls.get(held.lease.crawl)
        if crawl is None or crawl.status is not CrawlStatus.SCRAPING:
            return
        job = crawl.jobs[held.lease.key]
        job.stalls += 1
        job.state = "waiting" if job.stalls < 9 else "failed"
        crawl.settle()

    def running(self) -> list[CrawlModel]:
        return [crawl for crawl in self.crawls.values() if crawl.status is CrawlStatus.SCRAPING]

    @property
    def waiting(self) -> bool:
        """Something that is not paused."""
        crawls = (crawl for crawl in self.running() if not crawl.paused)
        return any(job.state == "waiting" for crawl in crawls for job in crawl.jobs.values())
