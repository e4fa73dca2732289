"""What a database brings to the suite, and the clock that the tests hold in their hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Truth

SECOND = 1_000_000
"""In µs, as all times of the store."""


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def advance(self, us: int) -> None:
        self.now += us


class Backend(Protocol):
    """One empty database, used by one test and thrown away."""

    damages: Mapping[str, str]
    """Statements that make the database lie, by name: `audit` must notice each of them."""

    async def open(self, *, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
        """One more store on this database; each acts as a process of its own."""
        ...

    async def execute(self, statement: str) -> None:
        """Run a statement behind the store's back."""
        ...

    async def rows_of(self, crawl: CrawlId) -> dict[str, int]:
        """How many rows each table still holds of a crawl; tables without any are left out."""
        ...

    async def holds(self, mark: bytes) -> bool:
        """Whether these bytes stand anywhere in the database's files."""
        ...

    async def dispose(self) -> None: ...


NewBackend = Callable[[], Backend]
