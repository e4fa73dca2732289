"""The reading half of `Known`."""

from __future__ import annotations

from perseid.ports.known import KnownUrl, Snapshot
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean


class KnownReader:
    """What teams have seen before."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def known_urls(self, team: int, site: str, *, limit: int = 100_000) -> list[KnownUrl]:
        rows = await self._rows.all(
            "SELECT url, title, description, seen_at FROM known_url WHERE team = $1 AND site = $2"
            " ORDER BY seen_at DESC, url LIMIT $3",
            team, clean(site), limit,
        )  # fmt: skip
        return [KnownUrl(*row) for row in rows]

    async def snapshot(self, team: int, url: str, tag: str) -> Snapshot | None:
        rows = await self._rows.all(
            "SELECT taken_at, body FROM snapshot WHERE team = $1"  # noqa: S608 - a constant
            f" AND {self._rows.same('url', '$2')} AND {self._rows.same('tag', '$3')}",
            team, clean(url), clean(tag),
        )  # fmt: skip
        return Snapshot(*rows[0]) if rows else None
