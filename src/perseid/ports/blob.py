"""Large bodies beside the database."""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    """Written before the commit that names them, under a prefix that expiry can delete whole."""

    def put(self, path: str, data: bytes) -> None:
        """Store durably under `crawl/lock/name`; overwrites. Raises `StoreUnavailable` on a full disk."""
        ...

    def get(self, path: str) -> bytes:
        """Raises `NotFound`."""
        ...

    def prefixes(self) -> list[str]:
        """The crawls that have bodies here, by their number."""
        ...

    def delete_prefix(self, prefix: str) -> int:
        """Remove everything under a prefix; the number of blobs removed."""
        ...
