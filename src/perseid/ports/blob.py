"""Large bodies, apart from the rows that name them."""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    """Written before the commit that names them, under a prefix that expiry can delete whole."""

    async def put(self, path: str, data: bytes) -> None:
        """Store durably under `crawl/lock/name`; overwrites.

        Raises `StoreUnavailable` on a full disk, and where a retry helps.
        """
        ...

    async def get(self, path: str) -> bytes:
        """Raises `NotFound`."""
        ...

    async def prefixes(self, *, after: int = 0, limit: int | None = None) -> list[int]:
        """The crawls that have bodies here, by their number, in order: those above `after`."""
        ...

    async def delete_prefix(self, prefix: str) -> int:
        """Remove everything under a prefix; the number of blobs removed."""
        ...
