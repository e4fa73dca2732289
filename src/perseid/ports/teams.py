"""Teams, their keys, and what they have used. Keys are known by their SHA-256 only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant and its limits; `None` is no limit."""

    id: int
    name: str
    max_active: int | None = 50
    """Pages in flight over all its crawls and scrapes."""
    requests_per_minute: int | None = None
    pages_per_period: int | None = None
    """Quota of pages in a calendar month (UTC)."""


class Key(NamedTuple):
    """`hint` is the beginning of the key, for people; `digest` what we know of the rest."""

    id: int
    team: int
    name: str
    hint: str
    digest: bytes
    created_at: int
    revoked_at: int | None
    used_at: int | None


class Usage(NamedTuple):
    """Pages brought home in one period (`2026-11`), of all keys of a team: one for each document stored."""

    period: str
    pages: int


class Load(NamedTuple):
    """What a team has running and waiting now."""

    active: int
    waiting: int
    crawls: int
    """Crawls and batches that have not ended."""
    last_success_at: int | None


class Teams(Protocol):
    """Raises `StoreUnavailable` where a retry helps."""

    async def put_team(self, team: Team) -> Team:
        """Create (id 0) or change; limits take effect with the next claim. A name is one team's: `StoreError`.

        Raises `NotFound` for a number that is no team's.
        """
        ...

    async def teams(self) -> list[Team]: ...

    async def team(self, team: int) -> Team:
        """Raises `NotFound`."""
        ...

    async def add_key(self, team: int, *, name: str, hint: str, digest: bytes) -> Key:
        """Raises `NotFound` without the team, `StoreError` for a digest that is known already."""
        ...

    async def keys(self, team: int | None = None) -> list[Key]: ...

    async def key(self, digest: bytes) -> Key | None:
        """The key of this SHA-256, revoked or not."""
        ...

    async def revoke(self, key: int) -> bool:
        """False if there is none, or it was revoked before."""
        ...

    async def touch_keys(self, used: Sequence[tuple[int, int]]) -> None:
        """Note (key, used_at µs)."""
        ...

    async def usage(self, team: int, *, periods: int = 12) -> list[Usage]:
        """Newest first; counted in the transaction that stores the page."""
        ...

    async def load(self, team: int) -> Load: ...
