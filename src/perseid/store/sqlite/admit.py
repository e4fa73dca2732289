"""Admitting URLs: each once per crawl, within the limit, at its shortest known depth; and the ledger of refusals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from perseid.model.job import EndState, JobKind
from perseid.model.verdict import Denial, DenialReason, Denied
from perseid.ports.work import NewUrl
from perseid.store.schema import BY_SITEMAP, COUNTED, UNLIMITED
from perseid.store.seen import Remembered
from perseid.store.sqlite import gates
from perseid.store.sqlite.tx import CrawlRow, Tx


class Found(NamedTuple):
    """A URL to admit with the job that found it."""

    url: NewUrl
    parent: int | None
    depth: int


class Known(NamedTuple):
    job: int
    depth: int
    flags: int
    alias_of: int | None
    url: str


def remembered(tx: Tx, crawl: CrawlRow) -> Remembered:
    """Links that need no look into the database; none where one found again still changes something."""
    if crawl.is_batch or crawl.max_depth is not None:
        return Remembered()
    return tx.memory.remembered(crawl.id, keeps_variants=bool(crawl.keep_variants))


def admit(tx: Tx, crawl: CrawlRow, found: Sequence[Found]) -> int:
    """Admit what the crawl has not seen, in order; the number admitted."""
    if crawl.is_batch:
        return _insert(tx, crawl, _within_limit(tx, crawl, list(found)))
    first = _first_of_each_key(found)
    if not first:
        return 0
    known = _known(tx, crawl.id, first)
    for key, before in known.items():
        _seen_again(tx, crawl, first[key], before)
    if crawl.keep_variants:
        _keep_variants(tx, crawl, found, known, first)
    kept = _within_limit(tx, crawl, [item for key, item in first.items() if key not in known])
    admitted = _insert(tx, crawl, kept)
    if crawl.max_depth is not None:
        _keep_edges(tx, crawl, found)
        for item in found:
            if item.parent is not None:
                _shorten(tx, crawl, _job_of(tx, crawl.id, item.url.key), item.depth)
    # What the limit refused is not remembered: a place may yet be given back.
    there = {*known, *(item.url.key for item in kept)}
    tx.learnt.seen(crawl.id, there)
    if crawl.keep_variants:
        tx.learnt.spelt(crawl.id, (item.url for item in found if item.url.key in there))
    return admitted


def _first_of_each_key(found: Sequence[Found]) -> dict[int, Found]:
    """One of each key, the nearest to the start."""
    first: dict[int, Found] = {}
    for item in found:
        key = item.url.key
        earlier = first.get(key)
        if earlier is None or item.depth < earlier.depth:
            first[key] = item
    return first


def _known(tx: Tx, crawl: int, keys: Iterable[int]) -> dict[int, Known]:
    rows = tx.all(
        "SELECT u.key, u.id, u.depth, u.flags, u.alias_of, u.url FROM json_each(?) j"
        " CROSS JOIN url u ON u.crawl = ? AND u.key = j.value",
        (orjson.dumps(list(keys)).decode(), crawl),
    )
    return {row[0]: Known(*row[1:]) for row in rows}


def _job_of(tx: Tx, crawl: int, key: int) -> int | None:
    row = tx.one("SELECT coalesce(alias_of, id) FROM url WHERE crawl = ? AND key = ?", (crawl, key))
    return None if row is None else row[0]


def _seen_again(tx: Tx, crawl: CrawlRow, item: Found, before: Known) -> None:
    if item.url.sitemap and not before.flags & BY_SITEMAP:
        tx.execute("UPDATE url SET flags = flags | ? WHERE id = ?", (BY_SITEMAP, before.job))
        crawl.sitemap_urls += 1
        crawl.dirty = True


def _within_limit(tx: Tx, crawl: CrawlRow, fresh: list[Found]) -> list[Found]:
    """Cut to the room that the limit leaves; what goes over it is refused, with its reason."""
    room = UNLIMITED if crawl.max_pages is None else crawl.max_pages - crawl.discovered
    sitemaps = crawl.max_sitemaps - crawl.sitemap_files
    kept: list[Found] = []
    over: list[tuple[Denied, int | None]] = []
    for item in fresh:
        if item.url.kind is JobKind.SITEMAP:
            sitemaps -= 1
            fits, limit = sitemaps >= 0, _counted(crawl.max_sitemaps, "sitemap file")
        elif item.url.counted:
            room -= 1
            fits, limit = room >= 0, _counted(crawl.max_pages or 0, "page")
        else:
            fits, limit = True, ""
        if fits:
            kept.append(item)
        else:
            denial = Denial(DenialReason.LIMIT_REACHED, limit, item.url.url)
            over.append((Denied(item.url.url, item.url.key, denial), item.parent))
    refuse(tx, crawl, over)
    return kept


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _insert(tx: Tx, crawl: CrawlRow, fresh: list[Found]) -> int:
    if not fresh:
        return 0
    first = tx.take_job_ids(len(fresh))
    position = _line_up(tx, crawl, fresh, first)
    nowhere = (None, None, None)
    rows = []
    for number, item in enumerate(fresh, start=first):
        url = item.url
        counted = url.counted and url.kind is not JobKind.SITEMAP
        crawl.sitemap_files += url.kind is JobKind.SITEMAP
        crawl.discovered += counted
        crawl.sitemap_urls += url.sitemap
        rows.append(
            (
                number, crawl.id, number if crawl.is_batch else url.key, *position.get(number, nowhere), int(url.kind),
                item.depth, COUNTED * counted | BY_SITEMAP * url.sitemap, item.parent, url.url, url.payload,
            )
        )  # fmt: skip
    tx.executemany(
        "INSERT INTO url (id, crawl, key, host, lane, seq, kind, depth, flags, parent, url, payload)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    crawl.open += len(position)
    crawl.dirty = True
    if crawl.refused:
        _accepted_beats_denied(tx, crawl, [item.url.key for item in fresh])
    return len(fresh)


def _line_up(tx: Tx, crawl: CrawlRow, fresh: list[Found], first: int) -> dict[int, tuple[int, int, int]]:
    """Put the jobs at the ends of their lanes: (host, lane, position) of each; pages of a map stay out."""
    lanes: dict[tuple[JobKind, str], list[int]] = {}
    for number, item in enumerate(fresh, start=first):
        if not crawl.is_map or item.url.kind is not JobKind.PAGE:
            lanes.setdefault((item.url.kind, item.url.host), []).append(number)
    hosts = gates.host_ids(tx, (host for _kind, host in lanes))
    queues = {kind: gates.queue_id(tx, crawl, kind) for kind in {kind for kind, _host in lanes}}
    position: dict[int, tuple[int, int, int]] = {}
    for (kind, name), jobs in lanes.items():
        host = hosts[name]
        lane, seq = gates.append(tx, queues[kind], host, jobs)
        for offset, job in enumerate(jobs):
            position[job] = (host, lane, seq + offset)
    return position


def _accepted_beats_denied(tx: Tx, crawl: CrawlRow, keys: list[int]) -> None:
    gone = tx.all(
        "DELETE FROM denied WHERE crawl = ?2 AND key IN (SELECT value FROM json_each(?1)) RETURNING reason",
        (orjson.dumps(keys).decode(), crawl.id),
    )
    for (reason,) in gone:
        crawl.refusals[reason] -= 1
        crawl.refused -= 1


def _keep_variants(
    tx: Tx, crawl: CrawlRow, found: Sequence[Found], known: dict[int, Known], first: dict[int, Found]
) -> None:
    """Remember spellings that differ from the one fetched, in case that one is gone (404, 410)."""
    rows = {
        (crawl.id, item.url.key, item.url.url, item.url.host)
        for item in found
        if item.url.kind is JobKind.PAGE
        and item.url.url != (known[item.url.key].url if item.url.key in known else first[item.url.key].url.url)
    }
    tx.executemany("INSERT OR IGNORE INTO variant (crawl, key, url, host) VALUES (?, ?, ?, ?)", sorted(rows))


def _keep_edges(tx: Tx, crawl: CrawlRow, found: Sequence[Found]) -> None:
    tx.executemany(
        "INSERT OR IGNORE INTO edge (crawl, parent, child)"
        " SELECT ?1, ?2, coalesce(alias_of, id) FROM url WHERE crawl = ?1 AND key = ?3",
        [(crawl.id, item.parent, item.url.key) for item in found if item.parent is not None],
    )


def _shorten(tx: Tx, crawl: CrawlRow, job: int | None, depth: int) -> None:
    """A path of `depth` links to `job` was found: pass it on to all that it brings nearer to the start."""
    work = [] if job is None else [(job, depth)]
    while work:
        job, depth = work.pop()
        tx.execute("UPDATE url SET depth = ?1 WHERE id = ?2 AND depth > ?1", (depth, job))
        if tx.connection.changes() == 0:
            continue
        ended = tx.one("SELECT state, other FROM ended WHERE job = ?", (job,))
        if ended is None:
            continue
        if ended[0] == EndState.DUPLICATE and ended[1] is not None:
            work.append((ended[1], depth))
        work += [
            (child, depth + 1)
            for (child,) in tx.all("SELECT child FROM edge WHERE crawl = ? AND parent = ?", (crawl.id, job))
        ]
        if crawl.max_depth is not None and depth + 1 <= crawl.max_depth:
            _readmit_cut(tx, crawl, job, depth + 1)


def shorten(tx: Tx, crawl: CrawlRow, job: int, depth: int) -> None:
    """See `_shorten`; a no-op for crawls without a maximum discovery depth."""
    if crawl.max_depth is not None:
        _shorten(tx, crawl, job, depth)


def _readmit_cut(tx: Tx, crawl: CrawlRow, parent: int, depth: int) -> None:
    rows = tx.all("DELETE FROM cut WHERE crawl = ? AND parent = ? RETURNING url, key, host", (crawl.id, parent))
    admit(tx, crawl, [Found(NewUrl(url, key, host), parent, depth) for url, key, host in rows])


def keep_cut(tx: Tx, crawl: CrawlRow, parent: int, urls: Sequence[NewUrl]) -> None:
    """Links that the discovery depth forbids now: refused, and kept in case a shorter path turns up."""
    tx.executemany(
        "INSERT OR IGNORE INTO cut (crawl, parent, key, url, host) VALUES (?, ?, ?, ?, ?)",
        [(crawl.id, parent, url.key, url.url, url.host) for url in urls],
    )
    reason = DenialReason.DISCOVERY_DEPTH
    limit = crawl.max_depth or 0
    refuse(
        tx,
        crawl,
        [(Denied(url.url, url.key, Denial(reason, str(limit), str(limit + 1))), parent) for url in urls],
    )


def refuse(tx: Tx, crawl: CrawlRow, denied: Sequence[tuple[Denied, int | None]]) -> None:
    """Enter refusals into the ledger: the first reason is kept, and an accepted URL is none."""
    refused_before = tx.memory.refused.of(crawl.id)
    accepted = tx.memory.seen.of(crawl.id)
    first: dict[int, tuple[Denied, int | None]] = {}
    for item in denied:
        key = item[0].key
        if key not in refused_before and key not in accepted:
            first.setdefault(key, item)
    if not first:
        return
    known = _known(tx, crawl.id, first)
    there = {
        row[0]
        for row in tx.all(
            "SELECT d.key FROM json_each(?) j CROSS JOIN denied d ON d.crawl = ? AND d.key = j.value",
            (orjson.dumps(list(first)).decode(), crawl.id),
        )
    }
    fresh = [item for key, item in first.items() if key not in known and key not in there]
    room = max(0, crawl.max_denied - crawl.refused)
    tx.executemany(
        "INSERT INTO denied (crawl, key, parent, reason, rule, value, url) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (crawl.id, d.key, parent, d.denial.reason.value, d.denial.rule, d.denial.value, d.url)
            for d, parent in fresh[:room]
        ],
    )
    for d, _parent in fresh:
        crawl.refusals[d.denial.reason.value] += 1
    crawl.refused += len(fresh[:room])
    crawl.refused_beyond += len(fresh[room:])
    crawl.dirty = crawl.dirty or bool(fresh)
    tx.learnt.refused(crawl.id, first)
