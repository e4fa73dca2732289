"""Sites, the seeds that say what to collect of them, and what was collected before.

A run of a seed is a crawl of kind `SEED`: its first job expands the seed (`JobKind.EXPAND`) into tasks
(`JobKind.TASK`). Its options are JSON of its own shape; limits, counters, ends, leases and listings are those of any
crawl.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec

from perseid.model.ids import CrawlId, JobId
from perseid.ports.store import NewCrawl


class SeedState(IntEnum):
    """Paused ones keep their running run, held; stopped ones had it cancelled. Neither begins another."""

    ACTIVE = 0
    PAUSED = 1
    STOPPED = 2


class SiteRow(msgspec.Struct, frozen=True, kw_only=True):
    """A site of a team. Paused ones run no task; `reason` says why, for people."""

    id: int
    team: int
    name: str
    paused: bool = False
    reason: str = ""
    paused_at: int | None = None


class NewSeed(msgspec.Struct, frozen=True, kw_only=True):
    """`spec` is JSON of `perseid.model.seed.Seed`; `next_at` µs when it is due, None for never by itself."""

    team: int
    seed: str
    site: str
    spec: bytes
    priority: int = 5
    """0 to 9; of seeds due at the same moment the higher begins first, and its runs have the larger share of work
    (`NewCrawl.priority`).
    """
    next_at: int | None = None
    edition: int | None = None
    """Only over a row of this edition, 0: only where there is none; None over whatever there is."""


class SeedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A seed as it is kept. `run` is its newest run, None once that was pruned; `running` whether any of its runs goes
    on. Times are µs.
    """

    id: int
    team: int
    seed: str
    site: str
    spec: bytes
    state: SeedState
    priority: int
    next_at: int | None
    run: CrawlId | None
    running: bool
    runs: int
    """How often it has run."""
    created_at: int
    updated_at: int
    edition: int
    """Grows whenever the row is altered by anybody; `start_run` goes by it."""


class Begin(NamedTuple):
    """What a task must know the moment it begins, in one read."""

    changed: int
    """`Configs.changed`."""
    paused: bool
    """Its site is paused."""
    collected_at: int | None
    """When this page of the site was collected, µs; None for never."""
    before: int = 0
    """Tasks of the site, of all its runs, that were claimed earlier and have not ended. Who has as many before it as
    the site takes at once has to wait; those before it don't count it, so that never more run and always some do.
    """


class Seeds(Protocol):
    """All methods are atomic. Raises `StoreUnavailable` where a retry helps."""

    async def put_site(self, team: int, name: str) -> SiteRow:
        """The site, made where it isn't there."""
        ...

    async def site(self, team: int, name: str) -> SiteRow | None: ...

    async def sites(self, team: int, *, after: str = "", limit: int = 100) -> list[SiteRow]: ...

    async def pause_site(self, site: int, reason: str | None) -> bool:
        """Hold all runs of the site (no job of them is claimed), or with None let them go on. Whether it changed."""
        ...

    async def put_seed(self, new: NewSeed) -> SeedRow:
        """Add the seed, or replace what it says (durable); its state and its runs stay.

        Raises `VersionConflict` where the row is not of the edition that is wanted.
        """
        ...

    async def seed(self, team: int, seed: str) -> SeedRow | None: ...

    async def seeds(
        self, team: int, *, site: str | None = None, after: str = "", limit: int = 100
    ) -> list[SeedRow]: ...

    async def set_seed(self, row: SeedRow, state: SeedState, *, next_at: int | None) -> bool:
        """Give it a state, and the time of its next run.

        Paused, nothing of its running run is claimed; active again, that goes on; stopped, it is cancelled. False
        where the row is not of that edition any more.
        """
        ...

    async def delete_seed(self, team: int, seed: str) -> bool:
        """The seed is gone, its running run cancelled; what it collected stays. False where there is none."""
        ...

    async def due_seeds(self, *, limit: int = 100) -> list[SeedRow]:
        """Active seeds of sites that are not paused whose time has come and whose last run has ended, the higher
        priority first.
        """
        ...

    async def next_due_us(self) -> int | None:
        """Until one is due; None when none waits for its time."""
        ...

    async def start_run(self, row: SeedRow, crawl: NewCrawl, *, next_at: int | None) -> CrawlId | None:
        """Begin a run and set the time of the next, in one transaction (durable).

        None where the row is not of that edition any more, is not active, or a run of it still goes on: two dispatchers
        begin one run. It has the seed's priority, and is held from the start where its site is paused. Raises as
        `Store.start` does.
        """
        ...

    async def runs(self, row: SeedRow, *, before: CrawlId | None = None, limit: int = 100) -> list[CrawlId]:
        """The newest first; runs that were pruned are not among them."""
        ...

    async def begin(self, site: int, key: bytes, task: JobId | None = None) -> Begin:
        """`key` is the SHA-256 of the page's normalised URL."""
        ...

    async def collected(self, site: int, keys: Sequence[bytes], *, since: int = 0) -> list[bool]:
        """Which of these pages were collected at `since` (µs) or later; exact."""
        ...

    async def keys_after(self, site: int, position: int, *, limit: int = 50_000) -> tuple[int, list[bytes]]:
        """All keys ever collected of a site, in the order of their first time: those after `position`, and the
        position of the last of them.

        For filters in front of `collected`: a key that another process writes at the same moment may be left out.
        """
        ...
