"""Crawls as they are listed: a row of its table becomes a `Crawl`, and each filter has an index that serves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.store.reading.rows import Row, Rows, Where
from perseid.store.schema import GOING

_COUNTS = tuple(Counts.__struct_fields__)
CRAWL = (
    "SELECT id, uid, team, kind, url, options, key_seed, status, created_at, ended_at,"  # noqa: S608 - constants
    " CASE WHEN ttl IS NULL THEN NULL ELSE ended_at + ttl END, error, note, terms, erased_at IS NOT NULL, paused,"
    f" {', '.join(_COUNTS)} FROM crawl"
)
SEEN = f"swept < {GOING}"


class CrawlFilter(NamedTuple):
    """Which crawls are meant; None is any, of the kinds any but scrapes."""

    team: int | None
    kinds: Sequence[CrawlKind] | None
    status: CrawlStatus | None
    before: int | None


def crawl_of(row: Row) -> Crawl:
    return Crawl(
        id=CrawlId(row[0]),
        uid=row[1],
        team=row[2],
        kind=CrawlKind(row[3]),
        url=row[4],
        options=row[5],
        key_seed=row[6],
        status=CrawlStatus(row[7]),
        created_at=row[8],
        ended_at=row[9],
        expires_at=row[10],
        error=row[11],
        note=row[12],
        terms=row[13],
        erased=bool(row[14]),
        paused=bool(row[15]),
        counts=Counts(**dict(zip(_COUNTS, row[16:], strict=True))),
    )


async def newest(rows: Rows, wanted: CrawlFilter, limit: int) -> list[Crawl]:
    """Newest first; scrapes lie apart, and come in only where they are asked for."""
    found: list[Row] = []
    others = [kind.value for kind in wanted.kinds or () if kind is not CrawlKind.SCRAPE]
    if wanted.kinds is None or others:
        found += await _listed(rows, "kind <> 'scrape'", others, wanted, limit)
    if wanted.kinds is not None and CrawlKind.SCRAPE in wanted.kinds:
        found += await _listed(rows, "kind = 'scrape'", (), wanted, limit)
    found.sort(key=lambda row: (row[8], row[0]), reverse=True)
    return [crawl_of(row) for row in found[:limit]]


async def _listed(rows: Rows, part: str, kinds: Sequence[str], wanted: CrawlFilter, limit: int) -> list[Row]:
    where = Where(SEEN, part)
    if kinds:
        where.add(f"kind IN ({', '.join('?' * len(kinds))})", *kinds)
    for column, value in (("team =", wanted.team), ("status =", wanted.status), ("created_at <", wanted.before)):
        if value is not None:
            where.add(f"{column} ?", int(value))
    statement = f"{CRAWL} {where} ORDER BY created_at DESC, id DESC LIMIT {where.bind(limit)}"
    return await rows.all(statement, *where.values)
