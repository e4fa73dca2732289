"""The write side of the truth. One implementation per database; all pass `tests/conformance`.

Invariants every implementation keeps, whatever the caller does and whenever it dies:

1. A job ends at most once; `step` writes nothing of a page whose lock no longer matches.
2. Finishing a page is one transaction: document, links, counters, slots, completion of the crawl.
3. A crawl is `COMPLETED` exactly when it has no open job (the pages of a map are none).
4. `active` of each queue, host and team equals the number of its leases, and never exceeds its maximum.
5. Nothing claimable waits for longer than one `step`: whoever frees a slot wakes its waiter.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec

from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobKind
from perseid.model.verdict import Denied
from perseid.ports.inspect import HostView
from perseid.ports.work import Finished, Lease, NewUrl


class HostDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Politeness of a host nobody has said anything about yet."""

    max_active: int = 8
    interval_us: int = 100_000
    """Shortest mean time between two requests (10 a second); 0 is unlimited."""
    burst: int = 10
    give_up_after: int = 8
    """Back-offs in a row after which waiting URLs of the host fail."""
    give_up_after_us: int = 3_600_000_000
    max_backoff_us: int = 300_000_000
    global_interval_us: int = 1_000
    """Over all public hosts together (1,000 requests a second)."""
    global_burst: int = 1_000


class NewCrawl(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    url: str
    options: bytes
    key_seed: int
    kind: CrawlKind = CrawlKind.CRAWL
    team: int = 1
    limit: int | None = None
    max_discovery_depth: int | None = None
    keep_variants: bool = False
    """Remember other spellings under one key, to be tried if the first answers 404 or 410."""
    max_concurrency: int | None = None
    delay_us: int = 0
    deadline_us: int | None = None
    """From the start of the crawl."""
    ttl_us: int | None = None
    """From its end until it may be pruned; None keeps it until asked."""
    max_denied: int = 1_000_000
    max_sitemap_files: int = 1_000
    priority: int = 5
    """0 to 9: its share among its team's crawls. It falls evenly with 10 less this: 9 is five times 5, and 0 half."""
    terms: bytes = b""
    events: int = 0
    """`EventKind`s that go to the outbox."""
    idempotency_key: str | None = None
    """Used once per team: a second crawl under it raises `KeyUsed`."""
    zero_retention: bool = False
    first: tuple[NewUrl, ...] = ()
    """With a kickoff among them, hosts unknown so far take one request at a time until the first is over."""


class StepResult(NamedTuple):
    """`kept[i]` says whether `finished[i]` was written (its lock still held and its crawl went on)."""

    kept: list[bool]
    leases: list[Lease]
    wait_us: int | None
    """Until the next known reason to ask again (retry due, host opens); None when nothing waits for time."""
    ended: Sequence[CrawlId] = ()
    """Crawls that `finished` completed, for those who wait for their end."""


class Drain(IntEnum):
    """What the operator asked of one worker: to finish what it has begun and go, for good or to be replaced."""

    NO = 0
    LEAVE = 1
    REPLACE = 2


class WorkerSeen(NamedTuple):
    """`kinds` has one bit for each `JobKind` it knows (1 << kind); a newer release may know more than we do."""

    id: WorkerId
    host: str
    pid: int
    pid_started: int
    beat: int
    slots: int = 0
    """Jobs it runs at once; 0 for one that runs only what its own callers wait for."""
    version: str = ""
    kinds: int = 0
    drain: Drain = Drain.NO


class Beat(NamedTuple):
    """What a worker learns when it shows life."""

    ended: set[CrawlId]
    """Crawls of its leases that have ended."""
    drain: Drain = Drain.NO


class AuditFinding(NamedTuple):
    what: str
    expected: int
    found: int


class Store(Protocol):
    """All methods are atomic; times are the store's own. Raises `StoreUnavailable` where a retry helps."""

    @property
    def connected(self) -> int:
        """How often this process had to connect to the database. Where it grew, what was committed shortly before may
        be gone: see `held`.
        """
        ...

    async def close(self) -> None: ...

    async def start(self, crawl: NewCrawl) -> CrawlId:
        """Write the crawl and its first jobs in one transaction (durable: synced to disk).

        Raises `KeyUsed`, and `QuotaExceeded` where what it may bring, its limit or its pages, is more than what its
        team's quota leaves beside what is used and what other running crawls may yet bring.
        """
        ...

    async def take(self, crawl: NewCrawl, worker: WorkerId, *, lease_us: int) -> tuple[CrawlId, Lease | None]:
        """Start a scrape and claim its one job, in one transaction (not synced: its caller waits).

        Without a lease where a gate is full or others wait at its host: then it waits like any other, and
        `step(..., crawl=...)` claims it in its turn. Raises `KeyUsed`, `QuotaExceeded`.
        """
        ...

    async def add(
        self,
        crawl: CrawlId,
        urls: Sequence[NewUrl],
        *,
        parent: Lease | None = None,
        denied: Sequence[Denied] = (),
    ) -> int:
        """Admit URLs not seen before, within the limit; the number admitted.

        With `parent`, only while that lease is still held; huge fan-outs come in chunks before the step.
        """
        ...

    async def step(
        self,
        worker: WorkerId,
        finished: Sequence[Finished],
        want: int,
        *,
        kinds: Sequence[JobKind] = tuple(JobKind),
        lease_us: int = 120_000_000,
        crawl: CrawlId | None = None,
    ) -> StepResult:
        """Finish and claim in one transaction. With `crawl`, claims only of that crawl."""
        ...

    async def append(self, crawl: CrawlId, urls: Sequence[NewUrl]) -> int:
        """Admit further URLs to a batch; one that had completed goes on. The number admitted (durable).

        0 where the batch was cancelled, failed or is past its time to live. Raises `StoreError` for what is
        no batch, `QuotaExceeded` as `start` does.
        """
        ...

    async def retry_jobs(self, jobs: Sequence[JobId]) -> int:
        """Failed and cancelled jobs go back to waiting, and a crawl that had completed goes on; how many.

        A body kept of the failed attempt is listed no more, and its number stays taken. Left as they are: jobs of
        crawls that were cancelled, failed or are past their time to live, and pages that came by another URL
        since. Chunks are transactions of their own.
        """
        ...

    async def cancel_jobs(self, jobs: Sequence[JobId]) -> int:
        """Waiting jobs end as cancelled, each by itself; those that run are left. How many. In chunks, as above."""
        ...

    async def cancel(self, crawl: CrawlId) -> bool:
        """End a running crawl as cancelled; what it has is kept. False if it had ended before."""
        ...

    async def pause(self, crawl: CrawlId, *, paused: bool = True) -> bool:
        """Nothing of a running crawl is claimed until it is let go again; what runs, runs on. Whether that changed.

        Runs of seeds are paused with their seed or their site (`Seeds`).
        """
        ...

    async def fail(self, crawl: CrawlId, error: str) -> bool:
        """End a running crawl as failed (its kickoff could not even begin)."""
        ...

    async def register(
        self,
        host: str,
        pid: int,
        pid_started: int,
        *,
        slots: int = 0,
        version: str = "",
        kinds: Sequence[JobKind] = tuple(JobKind),
    ) -> WorkerId: ...

    async def beat(self, worker: WorkerId) -> Beat | None:
        """Show life; None if it was declared dead."""
        ...

    async def drain(self, worker: WorkerId, how: Drain) -> bool:
        """Ask a worker to go: its next beat tells it. `NO` takes that back. False where there is none, or it runs
        only what its own callers wait for (no slots).
        """
        ...

    async def workers(self) -> list[WorkerSeen]: ...

    async def held(self, worker: WorkerId) -> list[Lease]:
        """The leases of this worker, in order of their jobs: after a step whose answer was lost, what it claimed; after
        a crash of the database, what it finished in vain.
        """
        ...

    async def reap(self, dead: Sequence[WorkerId]) -> int:
        """Return the leases of dead workers, and all past their expiry, to waiting (`stalls` + 1)."""
        ...

    async def sweep(self, *, chunk: int = 5_000) -> int:
        """One round of clean-up: lanes of ended crawls, deadlines, hosts given up. Rows touched."""
        ...

    async def unpark(self) -> int:
        """Safety net: wake waiters of any gate with room. What it finds is a bug: must stay 0."""
        ...

    async def prune(
        self, *, ended_before_us: int = 0, crawl: CrawlId | None = None, rounds: int | None = None
    ) -> list[CrawlId]:
        """Delete crawls that ended before, or longer ago than their own time to live; the crawls that are gone.

        With all their rows, in rounds of some thousand; nobody sees them from the first on. One with jobs still
        running is left for later. As a duty, with `rounds`: at most so many, and the next call goes on.
        """
        ...

    async def mark_delivered(self, crawl: CrawlId, seq: int) -> None:
        """The caller has read the documents up to `seq`; with all of an ended crawl read, it may be erased."""
        ...

    async def erasures(self, *, limit: int = 100) -> list[CrawlId]:
        """Crawls under zero retention that are to be erased now: delivered, or ended an hour ago."""
        ...

    async def erase(self, *crawls: CrawlId) -> bool:
        """Take every URL, text and option of ended crawls out of the database and its files; counters stay.

        Several at once cost hardly more than one. Bodies kept outside go before that, by whoever put them there.
        False where that could not be finished now: one runs, or others read what is to go. Call it again.
        """
        ...

    async def audit(self, *, crawls: int = 1_000) -> list[AuditFinding]:
        """Compare leases with slots, and rows with counters of the newest `crawls` crawls; repairs nothing."""
        ...

    async def checkpoint(self) -> None: ...

    async def get_robots(self, origin: str) -> tuple[int, int, bytes] | None:
        """(fetched_at µs, status, body) of an origin's robots.txt."""
        ...

    async def put_robots(self, origin: str, status: int, body: bytes) -> None: ...

    async def set_crawl_limits(self, crawl: CrawlId, *, max_concurrency: int | None) -> None: ...

    async def set_host(
        self,
        name: str,
        *,
        paused_until: int | None = None,
        max_active: int | None = None,
        interval_us: int | None = None,
    ) -> HostView:
        """The operator's word on one host, before the settings; None leaves a thing as it is.

        A pause stops claims until then: -1 until told otherwise, a time that has passed lets it go on. With -1
        slots and interval are those of the settings again; a crawl-delay holds in any case. Raises `NotFound` for
        a host nobody asked for anything.
        """
        ...

    async def set_team_limit(self, team: int, max_active: int | None) -> None: ...
