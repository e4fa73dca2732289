"""What pages of sites gave, written with the end of their tasks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from perseid.ports.items import Harvest, KeptPage, NewItem
from perseid.ports.work import Done, Failed, Finished
from perseid.store.harvest import PAGE_COLUMNS, minute_of
from perseid.store.latency import bucket_of
from perseid.store.schema import clean
from perseid.store.sqlite.tx import Tx

_KEPT = ", ".join(
    f"{name} = CASE WHEN excluded.body IS NULL AND excluded.fetched_at = fetched_at THEN {name}"
    f" ELSE excluded.{name} END"
    for name in PAGE_COLUMNS
)
_PAGE = (
    f"INSERT INTO site_page (site, url, fetched_at, rule_version, task, seed, {', '.join(PAGE_COLUMNS)})"  # noqa: S608 - constants
    f" VALUES (?, ?, ?, ?, ?, ?{', ?' * len(PAGE_COLUMNS)}) ON CONFLICT (site, url) DO UPDATE SET {_KEPT},"
    " fetched_at = excluded.fetched_at, rule_version = excluded.rule_version, task = excluded.task,"
    " seed = excluded.seed WHERE (excluded.fetched_at, excluded.rule_version) >= (fetched_at, rule_version)"
    " RETURNING id"
)
_BROKEN = (
    "INSERT INTO broken_item (team, site, page, rule_version, reason, at, key, task, seed, url, fields, problems)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ITEM = (
    "INSERT INTO item (team, site, key, change, fetched_at, updated_at, rule_version, task, seed, url, fields)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site, key) DO UPDATE SET team = excluded.team,"
    " change = excluded.change, fetched_at = excluded.fetched_at, updated_at = CASE WHEN fields = excluded.fields"
    " THEN updated_at ELSE excluded.updated_at END, rule_version = excluded.rule_version, task = excluded.task,"
    " seed = excluded.seed, url = excluded.url, fields = excluded.fields"
    " WHERE (excluded.fetched_at, excluded.rule_version) > (fetched_at, rule_version)"
    " OR (excluded.fetched_at = fetched_at AND excluded.rule_version = rule_version AND excluded.fields <> fields)"
    " RETURNING id, change"
)
_LINE = (
    "INSERT INTO sink_line (sink, item, change) VALUES (?, ?, ?)"
    " ON CONFLICT (sink, item) DO UPDATE SET change = excluded.change"
)
_COLLECTED = (
    "INSERT INTO collected (site, key, at) VALUES (?, ?, ?)"
    " ON CONFLICT (site, key) DO UPDATE SET at = max(at, excluded.at)"
)
_SEEN = (
    "INSERT INTO field_minute (site, minute, rule_version, field, n, empty) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (site, minute, rule_version, field) DO UPDATE SET n = n + excluded.n, empty = empty + excluded.empty"
)


def write_down(tx: Tx, item: Finished, started_at: int) -> None:
    """A task has ended: what it gave, and what it counts for in its run."""
    if not isinstance(item.end, Done | Failed):
        return
    crawl, found = item.lease.crawl, item.harvest
    tx.execute(
        "INSERT INTO run_time (crawl, bucket, n) VALUES (?, ?, 1) ON CONFLICT (crawl, bucket) DO UPDATE SET n = n + 1",
        (crawl, bucket_of(tx.now - started_at)),
    )
    if found is None:
        return
    write(tx, found, item.lease.job)
    tx.execute(
        "INSERT INTO run_count (crawl, empty, items, exceptions) VALUES (?, ?, ?, ?) ON CONFLICT (crawl) DO UPDATE"
        " SET empty = empty + excluded.empty, items = items + excluded.items,"
        " exceptions = exceptions + excluded.exceptions",
        (crawl, int(found.empty), len(found.items), len(found.exceptions)),
    )


def write(tx: Tx, found: Harvest, task: int) -> int:
    """How many of its items were accepted."""
    seed, url = clean(found.seed), clean(found.url)
    row = tx.one(
        _PAGE,
        (
            found.site, url, found.fetched_at, found.rule_version, task, seed, *_page(found.page),
        ),
    )  # fmt: skip
    if row is not None:
        _replace_broken(tx, found, row[0], task=task, seed=seed, url=url)
    accepted = _write_items(tx, found, task=task, seed=seed, url=url) if found.items else []
    if accepted and found.sinks:
        sinks = [sink_of(tx, found.team, name) for name in dict.fromkeys(found.sinks)]
        tx.executemany(_LINE, [(sink, item, change) for sink in sinks for item, change in accepted])
    if found.key:
        tx.execute(_COLLECTED, (found.site, found.key, tx.now))
    minute = minute_of(found.fetched_at)
    tx.executemany(
        _SEEN,
        [(found.site, minute, found.rule_version, clean(seen.field), seen.n, seen.empty) for seen in found.seen],
    )
    return len(accepted)


def _page(page: KeptPage | None) -> tuple[object, ...]:
    """In the order of `PAGE_COLUMNS`."""
    if page is None:
        return ("", 0, "", 1, b"", None)
    return (clean(page.url), page.status, page.kind, page.list_page, page.headers, page.body)


def _replace_broken(tx: Tx, found: Harvest, page: int, *, task: int, seed: str, url: str) -> None:
    tx.execute("DELETE FROM broken_item WHERE page = ?", (page,))
    tx.executemany(
        _BROKEN,
        [
            (
                found.team, found.site, page, found.rule_version, clean(it.reason), tx.now, clean(it.key), task, seed,
                url, it.fields, it.problems,
            )
            for it in found.exceptions
        ],
    )  # fmt: skip


def _write_items(tx: Tx, found: Harvest, *, task: int, seed: str, url: str) -> Sequence[tuple[int, int]]:
    """The accepted ones: row and change."""
    items: dict[str, NewItem] = {clean(item.key): item for item in found.items}
    (last,) = tx.one("UPDATE item_change SET last = last + ? RETURNING last", (len(items),)) or (0,)
    accepted = []
    for change, (key, item) in enumerate(items.items(), start=last - len(items) + 1):
        row = tx.one(
            _ITEM,
            (
                found.team, found.site, key, change, found.fetched_at, tx.now, found.rule_version, task, seed, url,
                item.fields,
            ),
        )  # fmt: skip
        if row is not None:
            accepted.append((row[0], row[1]))
    return accepted


def sink_of(tx: Tx, team: int, name: str) -> int:
    """The sink's number, made where it is missing."""
    name = clean(name)
    row = tx.one("SELECT id FROM sink WHERE team = ? AND name = ?", (team, name)) or tx.one(
        "INSERT INTO sink (team, name) VALUES (?, ?) RETURNING id", (team, name)
    )
    assert row is not None
    return int(row[0])


def reread(tx: Tx, found: Sequence[Harvest]) -> int:
    """As if the pages' tasks had just ended; items accepted."""
    accepted = 0
    for it in found:
        row = tx.one(
            "SELECT task, seed FROM site_page WHERE site = ? AND url = ? AND fetched_at = ?",
            (it.site, clean(it.url), it.fetched_at),
        )
        if row is not None:
            task, seed = row
            accepted += write(tx, replace(it, seed=seed), task)
    return accepted
