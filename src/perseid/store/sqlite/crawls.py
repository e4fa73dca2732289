"""Crawls as they are listed: a row of its table becomes a `Crawl`, and each filter has an index that serves it."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.store.sqlite.connection import Connection, Row

GOING = 2
"""In `swept`: the crawl is being pruned, and nobody sees it any more."""
_COUNTS = tuple(Counts.__struct_fields__)
CRAWL = (
    "SELECT id, uid, team, kind, url, options, key_seed, status, created_at, ended_at,"  # noqa: S608 - constants
    " CASE WHEN ttl IS NULL THEN NULL ELSE ended_at + ttl END, error, note, terms, erased_at IS NOT NULL,"
    f" {', '.join(_COUNTS)} FROM crawl WHERE swept < {GOING}"
)
_LISTED = f"{CRAWL} AND kind <> 'scrape'"
_SCRAPES = f"{CRAWL} AND kind = 'scrape'"


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
        counts=Counts(**dict(zip(_COUNTS, row[15:], strict=True))),
    )


def newest(
    connection: Connection,
    *,
    team: int | None,
    kinds: Sequence[CrawlKind] | None,
    status: CrawlStatus | None,
    before: int | None,
    limit: int,
) -> list[Crawl]:
    """Newest first; scrapes lie apart, and come in only where they are asked for."""
    clauses, bindings = [""], []
    for column, value in (("team =", team), ("status =", status), ("created_at <", before)):
        if value is not None:
            clauses.append(f"{column} ?")
            bindings.append(int(value))
    order = f"{' AND '.join(clauses)} ORDER BY created_at DESC, id DESC LIMIT ?"
    found: list[Row] = []
    others = [kind for kind in kinds or () if kind is not CrawlKind.SCRAPE]
    if kinds is None:
        found += connection.execute(_LISTED + order, (*bindings, limit))
    elif others:
        marks = ", ".join("?" * len(others))
        found += connection.execute(
            f"{_LISTED} AND kind IN ({marks}){order}", (*(kind.value for kind in others), *bindings, limit)
        )
    if kinds is not None and CrawlKind.SCRAPE in kinds:
        found += connection.execute(_SCRAPES + order, (*bindings, limit))
    found.sort(key=lambda row: (row[8], row[0]), reverse=True)
    return [crawl_of(row) for row in found[:limit]]
