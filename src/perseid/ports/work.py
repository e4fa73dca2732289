"""Work and what comes of it: the job a worker was given, and all that it brings home."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perseid.model.document import Document
from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.model.verdict import Denial, Denied
from perseid.ports.items import Harvest


class NewUrl(NamedTuple):
    """A job to admit: for pages `key` is the crawl's key of the URL; `depth` counts links from the start.

    Without a `host` it waits in a lane that nothing throttles: it asks nobody.
    """

    url: str
    key: int
    host: str
    kind: JobKind = JobKind.PAGE
    depth: int = 0
    counted: bool = True
    """False for a start page that its own rules refuse: fetched for its links, outside the limit."""
    sitemap: bool = False
    """Named by a sitemap: counts into the coverage."""
    payload: str = ""
    """Kind-specific: where a sitemap file was named; of a page the URL exactly as it was sent, where that differs."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to run one job until `expires_at` (store's clock, µs)."""

    job: JobId
    crawl: CrawlId
    lock: LockToken
    kind: JobKind
    url: str
    key: int
    depth: int
    host: str
    gap_us: int
    """Above 0 the host takes one request at a time with this pause: a lease is one request."""
    attempts: int
    stalls: int
    counted: bool
    payload: str
    hops: bytes
    """State of a redirect chain that moved between hosts; empty at its start."""
    expires_at: int
    throttled: bool = False
    """The host has a rate limit: say so if it turns out to be private."""
    strained: bool = False
    """The host is being backed off from: say so if it answers."""

    @property
    def alone(self) -> bool:
        """It took its process down twice: run it with nothing beside it."""
        return self.stalls >= 2


class HostNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a job learnt about a host that it had to do with."""

    host: str
    answered: bool = False
    """It answered something else than a throttle: back-offs in a row start anew."""
    throttled: bool = False
    """It answered 429 or 503: back off by `retry_after_us`, else exponentially."""
    down: bool = False
    """It could not be reached: back off exponentially."""
    retry_after_us: int | None = None
    request_age_us: int | None = None
    """How long ago the last request to it began, for hosts with a gap."""
    gap_us: int | None = None
    """Crawl-delay of its robots.txt."""
    private: bool | None = None
    """Loopback or private address: not throttled."""


class StoredDocument(NamedTuple):
    """A document ready to be written: `body` is compressed JSON, `blob` the path of a body kept outside."""

    url: str
    status: int
    title: str | None
    body: bytes
    blob: str | None = None
    site: str | None = None
    """Registrable domain under which the team's index of known URLs gains this page; None leaves it out."""
    description: str | None = None
    whole: Document | None = None
    """What is in the body, for whoever waits for this page; no store looks at it."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The page is here. Without a document the job was no page (kickoff, sitemap, uncounted start)."""

    document: StoredDocument | None = None


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The page is not to be had. `http_nnn` failures keep the body they came with."""

    code: str
    message: str
    status: int | None = None
    document: StoredDocument | None = None


class Refused(msgspec.Struct, frozen=True, tag=True):
    """An admitted URL that turned out to be denied."""

    denial: Denial
    uncount: bool = False
    """A start page that its own rules refuse: it gives its place in the limit back."""


class Again(msgspec.Struct, frozen=True, tag=True):
    """Not ended: back to waiting, after `delay_us`, perhaps on another host's lane. What it found is admitted."""

    delay_us: int = 0
    attempted: bool = False
    """It counts as one of the page's own attempts."""
    code: str = ""
    message: str = ""
    host: str | None = None
    hops: bytes = b""


End = Done | Failed | Refused | Again


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run of a job brings home."""

    lease: Lease
    end: End
    urls: Sequence[NewUrl] = ()
    """Links accepted; their depth is set by the store from the page's shortest known depth."""
    denied: Sequence[Denied] = ()
    cut: bool = False
    """The discovery depth was used up at the depth of the lease (see `Judged.cut`)."""
    final_key: int | None = None
    """Key of the final URL where redirects changed it."""
    final_url: str = ""
    hosts: Sequence[HostNote] = ()
    note: bytes | None = None
    """Replaces the crawl's note (kickoff only)."""
    harvest: Harvest | None = None
    """What a task of a seed gave; written whether its end is `Done` or `Failed`, never with `Again`."""
