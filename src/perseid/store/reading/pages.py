"""The reading half of `PageCache`, and how a page lies in its row."""

from __future__ import annotations

import msgspec

from perseid.ports.pages import KnownPage
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean

COLUMNS = ("url", "etag", "last_modified", "headers", "body", "status", "fetched_at", "chain")


def values_of(page: KnownPage) -> tuple[object, ...]:
    """In the order of `COLUMNS`."""
    url, etag, modified = (None if text is None else clean(text) for text in (page.url, page.etag, page.last_modified))
    headers = msgspec.json.encode(page.headers)
    return (url, etag, modified, headers, page.body, page.status, page.fetched_at, page.chain)


class PageReader:
    """Pages by the digest of the request that brought them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def get(self, key: bytes) -> KnownPage | None:
        rows = await self._rows.all(f"SELECT {', '.join(COLUMNS)} FROM page_cache WHERE key = $1", key)  # noqa: S608 - constants
        if not rows:
            return None
        url, etag, last_modified, headers, body, status, fetched_at, chain = rows[0]
        return KnownPage(
            url=url,
            etag=etag,
            last_modified=last_modified,
            headers=msgspec.json.decode(headers, type=tuple[tuple[str, str], ...]),
            body=body,
            status=status,
            fetched_at=fetched_at,
            chain=chain,
        )
