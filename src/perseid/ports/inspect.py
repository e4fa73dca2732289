"""The read side of the truth: listings page by key and never hold a snapshot open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import JobKind, JobState


class DocumentRow(NamedTuple):
    """`seq` counts from 1 in finishing order, with gaps only for superseded ones; `body` as in `StoredDocument`."""

    seq: int
    job: JobId
    url: str
    status: int
    state: JobState
    body: bytes
    blob: str | None


class FailureRow(NamedTuple):
    job: JobId
    url: str
    code: str
    message: str
    status: int | None
    attempts: int
    at: int
    referrer: str | None


class DeniedRow(NamedTuple):
    id: int
    url: str
    reason: str
    message: str
    referrer: str | None


class LeaseView(NamedTuple):
    job: JobId
    crawl: CrawlId
    url: str
    host: str
    started_at: int
    expires_at: int


class WorkerView(NamedTuple):
    """A process that claims, with the jobs it holds, longest running first."""

    id: WorkerId
    host: str
    pid: int
    beat: int
    leases: list[LeaseView]
    slots: int = 0
    version: str = ""
    drain: int = 0
    """A `ports.store.Drain`."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """The whole store at a glance."""

    crawls: dict[CrawlStatus, int]
    """All but scrapes."""
    scrapes: int
    """Running or waiting."""
    jobs: dict[JobState, int]
    """Of the states before the end."""
    hosts_backed_off: int
    hosts_paused: int
    workers: int


class JobView(NamedTuple):
    job: JobId
    crawl: CrawlId
    kind: JobKind
    url: str
    state: JobState
    depth: int
    attempts: int
    stalls: int
    host: str | None
    code: str
    message: str


class HostView(NamedTuple):
    name: str
    active: int
    max_active: int
    gap_us: int
    interval_us: int
    open_at: int
    backoffs: int
    waiting: int
    paused_until: int
    """By the operator, and not claimed before; 0 is never, -1 until told otherwise."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a URL is, or is not, among a crawl's pages."""

    url: str
    crawl: str
    state: str
    """A `JobState`, or `refused` (ledger), `alias` (a redirect's end), `listed` (by a map) or `unknown`."""
    reason: str = ""
    message: str = ""
    referrers: tuple[str, ...] = ()
    """From the page that named it up to the start."""
    attempts: int = 0
    stalls: int = 0
    status: int | None = None
    depth: int | None = None
    seen_as: str = ""
    """The spelling under which the crawl knows it."""
    final_url: str = ""


class Progress(NamedTuple):
    """State of the work that has not ended, derived."""

    queued: int
    active: int
    retrying: int
    hosts: list[tuple[str, int]]


class Inspect(Protocol):
    async def crawl(self, uid: str) -> Crawl:
        """Raises `NotFound`."""
        ...

    async def crawl_by_id(self, crawl: CrawlId) -> Crawl:
        """Raises `NotFound`."""
        ...

    async def crawls(
        self,
        *,
        team: int | None = None,
        kinds: Sequence[CrawlKind] | None = None,
        status: CrawlStatus | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Crawl]:
        """Newest first; `before` is the `created_at` of the last one seen. Scrapes only where their kind is named."""
        ...

    async def documents(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[DocumentRow]:
        """Without those whose jobs were retried since (see `Counts.superseded`)."""
        ...

    async def document_of(self, job: JobId) -> DocumentRow | None:
        """What this job brought home, if it has ended with a document."""
        ...

    async def failures(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[FailureRow]: ...

    async def failure_counts(self, crawl: CrawlId) -> dict[str, int]: ...

    async def denied(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[DeniedRow]: ...

    async def denied_counts(self, crawl: CrawlId) -> dict[str, int]: ...

    async def open_of(self, crawl: CrawlId, kinds: Sequence[JobKind]) -> int:
        """Jobs of these kinds that have not ended."""
        ...

    async def admitted(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[tuple[JobId, str]]:
        """Pages admitted, fetched or not, in order of discovery."""
        ...

    async def sitemap_coverage(self, crawl: CrawlId) -> tuple[int, int]:
        """Page URLs that sitemaps named and the crawl's scope accepts; how many of them it has."""
        ...

    async def jobs(
        self,
        *,
        crawl: CrawlId | None = None,
        team: int | None = None,
        host: str | None = None,
        state: JobState | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[JobView]:
        """In order of discovery. The pages of a map are no jobs."""
        ...

    async def explain(self, crawl: CrawlId, keys: list[int], url: str) -> Explanation: ...

    async def progress(self, crawl: CrawlId) -> Progress: ...

    async def hosts(self, *, limit: int = 100) -> list[HostView]: ...

    async def workers_view(self) -> list[WorkerView]: ...

    async def stats(self) -> Stats: ...
