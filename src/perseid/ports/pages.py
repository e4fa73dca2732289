"""What sites said about versions of their pages, and the bodies those versions had."""

from __future__ import annotations

from typing import Protocol

import msgspec


class KnownPage(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, with the validators it was sent under (RFC 9110, 8.8) where it is kept to be revalidated."""

    url: str
    etag: str | None
    last_modified: str | None
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes
    """Compressed."""
    status: int = 200
    fetched_at: int = 0
    """When the site gave this answer (µs), where it is kept to be given again."""
    chain: bytes = b""
    """`Response.chain` of a redirect."""


class PageCache(Protocol):
    """Pages by the digest of the request that brought them. Raises `StoreUnavailable` where a retry helps."""

    async def get(self, key: bytes) -> KnownPage | None: ...

    async def put(self, key: bytes, page: KnownPage) -> None: ...

    async def drop(self, key: bytes) -> None: ...

    async def expire(self, before_us: int) -> int:
        """Forget what was not put since; the number of pages."""
        ...
