"""What pages of sites gave, written with the end of their tasks: some statements a step, whatever it brings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from perseid.model.job import JobKind
from perseid.ports.items import Harvest
from perseid.ports.work import Done, Failed, Finished
from perseid.store.harvest import minute_of
from perseid.store.latency import bucket_of
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import clean

_HARVEST = f"SELECT harvest_v1({', '.join(f'${n}' for n in range(1, 32))})"
_COUNT = "SELECT count_run_v1($1, $2, $3, $4, $5, $6, $7)"
Columns = list[list[Any]]


async def write_down(tx: PgTx, ended: Sequence[tuple[Finished, int]]) -> None:
    """What tasks gave that have ended, and what they count for in their runs; with each, when it began (µs)."""
    tasks = [
        (item, at) for item, at in ended if item.lease.kind is JobKind.TASK and isinstance(item.end, Done | Failed)
    ]
    if not tasks:
        return
    found = [(item.harvest, int(item.lease.job)) for item, _at in tasks if item.harvest is not None]
    if found:
        await write(tx, found)
    await _count(tx, tasks)


async def _count(tx: PgTx, tasks: Sequence[tuple[Finished, int]]) -> None:
    took: Counter[tuple[int, int]] = Counter()
    counts: dict[int, list[int]] = {}
    for item, began_at in tasks:
        crawl, found = int(item.lease.crawl), item.harvest
        took[crawl, bucket_of(tx.now - began_at)] += 1
        if found is not None:
            count = counts.setdefault(crawl, [0, 0, 0])
            count[0] += found.empty
            count[1] += len(found.items)
            count[2] += len(found.exceptions)
    runs = _columns([(crawl, *count) for crawl, count in counts.items()], 4)
    times = _columns([(crawl, bucket, n) for (crawl, bucket), n in took.items()], 3)
    await tx.execute(_COUNT, *runs, *times)


async def write(tx: PgTx, found: Sequence[tuple[Harvest, int]]) -> int:
    """With each its task; how many items were accepted."""
    places = list(enumerate((it for it, _task in found), 1))
    seen: Counter[tuple[int, int, int, str]] = Counter()
    empty: Counter[tuple[int, int, int, str]] = Counter()
    for _place, it in places:
        for field in it.seen:
            key = (it.site, minute_of(it.fetched_at), it.rule_version, clean(field.field))
            seen[key] += field.n
            empty[key] += field.empty
    accepted: int = await tx.value(
        _HARVEST,
        tx.now,
        *_columns([_page(it, task) for it, task in found], 14),
        *_columns([(place, clean(item.key), item.fields) for place, it in places for item in it.items], 3),
        *_columns(
            [
                (place, clean(broken.key), broken.fields, broken.problems, clean(broken.reason))
                for place, it in places
                for broken in it.exceptions
            ],
            5,
        ),
        *_columns([(place, clean(name)) for place, it in places for name in it.sinks if it.items], 2),
        *_columns([(*key, n, empty[key]) for key, n in seen.items()], 6),
    )
    return accepted


def _page(it: Harvest, task: int) -> tuple[Any, ...]:
    page = it.page
    return (
        task, it.team, it.site, it.rule_version, clean(it.seed), clean(it.url), it.fetched_at, it.key,
        *(
            ("", 0, "", 1, b"", None)
            if page is None
            else (clean(page.url), page.status, page.kind, page.list_page, page.headers, page.body)
        ),
    )  # fmt: skip


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> Columns:
    """One list a column, none of which is missing where there are no rows."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


async def reread(tx: PgTx, found: Sequence[Harvest]) -> int:
    """As if the pages' tasks had just ended; items accepted."""
    rows = await tx.all(
        # Locked in the order in which all lock them who write pages.
        "SELECT f.i, p.task, p.seed FROM (SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[]) WITH ORDINALITY"
        " u (site, url, fetched_at, i) ORDER BY u.site, md5(u.url)) f"
        " CROSS JOIN LATERAL (SELECT p.id, p.task, p.seed FROM site_page p"
        " WHERE p.site = f.site AND md5(p.url) = md5(f.url) AND p.url = f.url AND p.fetched_at = f.fetched_at"
        " FOR NO KEY UPDATE OFFSET 0) p ORDER BY f.i",
        [it.site for it in found],
        [clean(it.url) for it in found],
        [it.fetched_at for it in found],
    )
    kept = [(replace(found[i - 1], seed=seed), task) for i, task, seed in rows]
    return await write(tx, kept) if kept else 0
