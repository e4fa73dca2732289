"""Items, what was wrong with some of them, the pages they came from, and their way to the sinks.

What a task brings home (`Harvest`) is written in the transaction that ends it: a task that ended has its items, and
items have their place in the line of each sink, or none of it happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.rule import PageKind


class NewItem(NamedTuple):
    """`fields` is JSON of an object; `key` is unique within the site."""

    key: str
    fields: bytes


class NewException(NamedTuple):
    """An item that must not go to the sinks.

    `reason` groups: the kinds and fields of its fatal problems (`missing:title`), sorted and joined by commas.
    `problems` is JSON of a list of `perseid.model.item.Problem`. `key` may be "".
    """

    key: str
    fields: bytes
    problems: bytes
    reason: str


class KeptPage(NamedTuple):
    """A page as it came, for reading it again: `headers` is JSON of pairs, `body` compressed (zstd)."""

    url: str
    """Where it was found after redirects."""
    status: int
    headers: bytes
    body: bytes
    kind: PageKind
    list_page: int
    fetched_at: int


class SitePage(NamedTuple):
    """A kept page among those of its site; `id` grows in the order in which pages were first met.

    `rule_version` is the one it was read by last, `seed` that of its task.
    """

    id: int
    url: str
    """Its task's: what `Harvest.url` is."""
    rule_version: int
    seed: str
    page: KeptPage


class FieldSeen(NamedTuple):
    """Of `n` items on the page, `empty` lack this field."""

    field: str
    n: int
    empty: int


class Harvest(msgspec.Struct, frozen=True, kw_only=True):
    """What one page of a site gave under one version of its rule. Instants are µs since the epoch.

    An item replaces the one of the same key unless that was fetched later, or at the same instant under a later
    version. Exceptions replace all of the same page, unless that was read later, or again under a later version. A page
    that isn't kept takes an older one away.
    """

    team: int
    site: int
    rule_version: int
    url: str
    """The task's; with the site it names the page."""
    fetched_at: int
    seed: str = ""
    page: KeptPage | None = None
    """To be kept in place of an older one; it counts as fetched at `fetched_at`."""
    key: bytes = b""
    """SHA-256 of the normalised URL, where this page now counts as collected; see `Seeds.collected`."""
    items: Sequence[NewItem] = ()
    exceptions: Sequence[NewException] = ()
    sinks: Sequence[str] = ()
    """Names of those that the items go to."""
    seen: Sequence[FieldSeen] = ()
    empty: bool = False
    """No item where the rule expects some."""


class StoredItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item as it is now.

    `change` is higher than any before it, and drawn anew whenever the item is accepted: also where it was only fetched
    again, or read by a later version, for its sinks are told of that. `updated_at` is when its fields became what
    they are.
    """

    id: int
    team: int
    site: str
    key: str
    fields: bytes
    rule_version: int
    task: JobId
    seed: str
    url: str
    fetched_at: int
    updated_at: int
    change: int


class StoredException(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    site: str
    rule_version: int
    reason: str
    key: str
    url: str
    fields: bytes
    problems: bytes
    task: JobId
    seed: str
    at: int


class ReasonGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Exceptions that a single change will probably mend."""

    site: str
    rule_version: int
    reason: str
    count: int
    first_at: int
    last_at: int
    example: str
    """The URL of one of them."""


class FieldRate(NamedTuple):
    rule_version: int
    field: str
    n: int
    empty: int


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that was raised; open until `cleared_at`. Of a site, version and field one is open at a time."""

    id: int
    team: int
    site: str
    rule_version: int
    field: str
    rate: float
    n: int
    at: int
    cleared_at: int | None = None
    paused: bool = False
    """It paused the site."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Items for one sink, taken under `lock`; nobody else is given anything of that sink until it is settled.

    `position` is what the sink's last settled batch left: where a file ended, say. `number` counts its settled batches.
    """

    sink: int
    team: int
    name: str
    lock: int
    position: bytes
    number: int
    items: Sequence[StoredItem]
    attempts: int
    """How often in a row it failed before."""


class SinkState(msgspec.Struct, frozen=True, kw_only=True):
    team: int
    name: str
    waiting: int
    settled: int
    """Batches."""
    held_until: int
    """Not tried before; µs."""
    attempts: int
    error: str
    """Of the last try; empty where it went well."""


class RunStats(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one run. `p50_ms` and `p95_ms` are the time of a task from claim to end, None before the first."""

    tasks: int
    done: int
    failed: int
    empty: int
    """Done without any item where the rule expects some."""
    items: int
    exceptions: int
    p50_ms: float | None
    p95_ms: float | None


class Items(Protocol):
    """Raises `StoreUnavailable` where a retry helps."""

    async def item(self, team: int, site: str, key: str) -> StoredItem | None: ...

    async def items(
        self, team: int, *, site: str | None = None, seed: str | None = None, after: int = 0, limit: int = 100
    ) -> list[StoredItem]:
        """In the order of their last change: those with a `change` above `after`. None is ever missed by who goes on
        behind the last one: an item is listed once all changes before it are.
        """
        ...

    async def items_of(self, task: JobId) -> list[StoredItem]:
        """What this task brought and no later one replaced."""
        ...

    async def page(self, site: int, url: str) -> KeptPage | None: ...

    async def pages(self, site: int, *, after: int = 0, limit: int = 100) -> list[SitePage]:
        """The kept pages of a site with an `id` above `after`, in the order of those."""
        ...

    async def broken_pages(
        self,
        team: int,
        *,
        site: str,
        rule_version: int | None = None,
        reason: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[SitePage]:
        """Of the kept pages, those that these exceptions stand on."""
        ...

    async def forget_pages(self, *, fetched_before: int, limit: int = 1_000) -> int:
        """Drop pages that no exception refers to; how many."""
        ...

    async def forget_rates(self, *, before: int) -> int:
        """Drop what `field_rates` knows of pages fetched before; rows."""
        ...

    async def groups(self, team: int, *, site: str | None = None) -> list[ReasonGroup]:
        """The largest first."""
        ...

    async def exceptions(
        self,
        team: int,
        *,
        site: str | None = None,
        rule_version: int | None = None,
        reason: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[StoredException]: ...

    async def exceptions_of(self, task: JobId) -> list[StoredException]: ...

    async def drop_exceptions(
        self, team: int, *, site: str, rule_version: int | None = None, reason: str | None = None
    ) -> int:
        """Forget them for good; how many."""
        ...

    async def reread(self, harvests: Sequence[Harvest]) -> int:
        """Write what kept pages gave when they were read again, as if their tasks had just ended; items accepted.

        A harvest whose page was fetched anew since (`fetched_at` differs), or is gone, is left out. Task and seed are
        those of the page. Figures of runs stay.
        """
        ...

    async def run_stats(self, run: CrawlId) -> RunStats: ...

    async def seed_stats(self, seed: int) -> RunStats:
        """Over all runs of a seed (its number) that are still kept."""
        ...

    async def field_rates(self, site: int, *, since: int) -> list[FieldRate]:
        """What pages fetched since then (to the minute) lacked, by version and field."""
        ...

    async def watched_sites(self, *, since: int) -> list[int]:
        """Those of which `field_rates` knows something since then: whose pages were fetched."""
        ...

    async def raise_alarm(self, site: int, alarm: Alarm) -> Alarm | None:
        """Note it (its `id` is given here); None where one of that site, version and field is open."""
        ...

    async def clear_alarm(self, alarm: int) -> bool: ...

    async def take_news(self, *, limit: int = 100, lease_us: int) -> list[Alarm]:
        """Alarms of which nobody has yet told that they were raised, or cleared: they are the caller's for so long."""
        ...

    async def told(self, alarm: Alarm) -> None:
        """What it says was told of; what happened to it since wasn't."""
        ...

    async def alarms(
        self, team: int, *, site: str | None = None, is_open: bool = True, limit: int = 100
    ) -> list[Alarm]:
        """The newest first."""
        ...

    async def take_batch(
        self, *, limit: int, lease_us: int, of: tuple[int, str] | None = None, worker: WorkerId | None = None
    ) -> Batch | None:
        """Up to `limit` items of one sink (of team and name, if said) that has any and is neither taken nor held.

        Taken for a `worker`, the sink is free again when that one is reaped, as its leases are.
        """
        ...

    async def settle_batch(self, batch: Batch, *, position: bytes) -> bool:
        """All of it is durable at its target. What changed meanwhile stays in line. False if it was no longer ours."""
        ...

    async def put_back_batch(self, batch: Batch, *, in_us: int, error: str) -> bool:
        """It could not be written: the sink is held for so long."""
        ...

    async def try_sink(self, team: int, sink: str) -> bool:
        """Hold it no longer: it was mended. Nor is one held that is published anew. False where it wasn't."""
        ...

    async def next_batch_us(self) -> int | None:
        """Until a sink is to be tried; None when nothing is in line."""
        ...

    async def sink_states(self, team: int) -> list[SinkState]: ...

    async def line_up(self, team: int, sink: str, *, site: str | None = None, chunk: int = 5_000) -> int:
        """Put all items (of a site) in the line of a sink, in chunks: for a new sink, or one whose target was lost."""
        ...

    async def leave_line(self, team: int, sink: str) -> int:
        """Take all items out of the line of a sink that is no longer wanted; how many."""
        ...
