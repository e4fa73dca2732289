"""What a team has seen before: the URLs of sites, and versions of pages to compare with."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class KnownUrl(NamedTuple):
    url: str
    title: str | None
    description: str | None
    seen_at: int


class Snapshot(NamedTuple):
    """One version of a page; `body` is compressed JSON of whoever compares."""

    taken_at: int
    body: bytes


class KnownUrls(Protocol):
    """Per team and site (registrable domain). Filled by `step` from documents that carry a site."""

    async def known_urls(self, team: int, site: str, *, limit: int = 100_000) -> list[KnownUrl]:
        """Most recently seen first."""
        ...

    async def forget_urls(self, before_us: int) -> int:
        """Drop what was not seen since."""
        ...


class Snapshots(Protocol):
    """Versions of pages by team, URL and tag."""

    async def snapshot(self, team: int, url: str, tag: str) -> Snapshot | None: ...

    async def put_snapshot(self, team: int, url: str, tag: str, snapshot: Snapshot) -> None:
        """Replaces the one before, unless that is newer."""
        ...

    async def forget_snapshots(self, before_us: int) -> int:
        """Drop those that were taken before."""
        ...


class Known(KnownUrls, Snapshots, Protocol):
    """All that is remembered beyond a crawl."""
