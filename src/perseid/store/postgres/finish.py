"""Finishing jobs: everything one run of a job brings home, written at once or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import msgspec

from perseid.model.job import JobKind
from perseid.ports.work import Again, Done, Failed, Finished, HostNote, Refused, StoredDocument
from perseid.store.postgres.admit import Found, Harvest, bring_in
from perseid.store.postgres.harvest import write_down
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import clean

_FINISH = f"SELECT * FROM finish_v1({', '.join(f'${n}' for n in range(1, 27))})"  # noqa: S608 - numbers
_SETTLE = f"SELECT settle_v1({', '.join(f'${n}' for n in range(1, 16))})"
_SETTLE_AND_CREDIT = f"{_SETTLE}, credit_v1($1, {', '.join(f'${n}' for n in range(16, 22))})"
_DONE, _FAILED, _REFUSED, _AGAIN = range(4)
_NO_LOCK = -1
"""Of a job that is finished a second time in one batch: no lease has it."""
NOT_KEPT, KEPT, WITH_LINKS = range(3)


class Outcome(NamedTuple):
    """A row of `finish_v1`."""

    outcome: int
    depth: int | None
    host: int | None
    team: int | None
    started_at: int | None
    crawl_team: int | None
    crawl_kind: str | None
    max_depth: int | None
    keep_variants: int | None
    erase: int | None


async def finish_all(tx: PgTx, finished: Sequence[Finished], hosts: Mapping[str, int]) -> list[bool]:
    """Finish each in turn; links are admitted afterwards. Which of them were kept.

    `hosts` has the number of every host that any of them names.
    """
    rows = await tx.all(_FINISH, tx.now, *_columns(finished, hosts))
    outcomes = [Outcome(*row) for row in rows]
    harvests: dict[int, Harvest] = {}
    for item, it in zip(finished, outcomes, strict=True):
        if it.outcome == WITH_LINKS:
            _gather(tx, item, it, harvests)
        elif it.outcome == KEPT and isinstance(item.end, Again):
            _gather(tx, msgspec.structs.replace(item, denied=()), it, harvests)
    await bring_in(tx, harvests, hosts)
    await _settle(tx, finished, outcomes, hosts)
    over = [(item, it) for item, it in zip(finished, outcomes, strict=True) if it.outcome == WITH_LINKS]
    await write_down(tx, [(item, it.started_at or tx.now) for item, it in over])
    return [it.outcome != NOT_KEPT for it in outcomes]


def _columns(finished: Sequence[Finished], hosts: Mapping[str, int]) -> list[list[Any]]:
    """The parameters of `finish_v1` after the time."""
    rows = [_row(item, hosts) for item in finished]
    named: set[int] = set()
    for number, row in enumerate(rows):
        if row[0] in named:
            rows[number] = (row[0], _NO_LOCK, *row[2:])
        named.add(row[0])
    return [list(column) for column in zip(*rows, strict=True)]


def _row(item: Finished, hosts: Mapping[str, int]) -> tuple[Any, ...]:
    lease, end = item.lease, item.end
    kind, status, code, message = _DONE, None, None, None
    uncount = delay = attempted = to_host = 0
    hops = b""
    document: StoredDocument | None = None
    match end:
        case Done():
            document = end.document
            status = None if document is None else document.status
        case Failed():
            kind, status, code, message, document = _FAILED, end.status, end.code, end.message, end.document
        case Refused():
            kind, code, message = _REFUSED, end.denial.reason.value, end.denial.message
            uncount = int(end.uncount)
        case Again():
            kind, delay, attempted, hops = _AGAIN, max(0, end.delay_us), int(end.attempted), end.hops
            to_host = 0 if end.host is None else hosts[end.host]
    return (
        lease.job, lease.lock, lease.crawl, int(lease.kind), lease.key, kind, status, _clean(code), _clean(message),
        clean(item.final_url), item.final_key, lease.attempts, int(lease.counted), uncount, delay, attempted, to_host,
        hops, item.note,
        *_document(document),
    )  # fmt: skip


def _document(document: StoredDocument | None) -> tuple[Any, ...]:
    if document is None:
        return 0, None, None, None, None, None
    return (
        1, document.status, clean(document.url), _clean(document.title), _clean(document.blob), document.body,
    )  # fmt: skip


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _gather(tx: PgTx, item: Finished, it: Outcome, harvests: dict[int, Harvest]) -> None:
    """Links of the page at the depth it has now, which may be shorter than when it was claimed."""
    lease = item.lease
    if not item.urls and not item.denied:
        return
    harvest = harvests.get(lease.crawl)
    if harvest is None:
        nature = Nature(lease.crawl, it.crawl_kind or "", it.max_depth, bool(it.keep_variants))
        tx.memory.know(nature)
        harvest = harvests[lease.crawl] = Harvest(nature)
    harvest.denied += zip(item.denied, repeat(lease.job))
    depth = lease.depth if it.depth is None else it.depth
    urls = item.urls
    limit = harvest.nature.max_depth
    if item.cut and limit is not None and depth + 1 > limit:
        harvest.cut += [(url, lease.job) for url in urls if url.kind is JobKind.PAGE and not url.sitemap]
        urls = [url for url in urls if url.kind is not JobKind.PAGE or url.sitemap]
    from_page = lease.kind is not JobKind.SITEMAP
    # Most links of a page stand on the pages before it as well: drop those before anything is made of them.
    harvest.found += [
        Found(url, lease.job, depth + 1 if from_page and url.kind is JobKind.PAGE and not url.sitemap else url.depth)
        for url in harvest.nature.remembered(tx.memory).without(urls)
    ]


async def _settle(
    tx: PgTx, finished: Sequence[Finished], outcomes: Sequence[Outcome], hosts: Mapping[str, int]
) -> None:
    """Slots return, hosts learn, crawls without open jobs are complete; what was stored counts for its team."""
    held = [(item, it) for item, it in zip(finished, outcomes, strict=True) if it.host is not None]
    met = [it.host for item, it in held if item.lease.throttled or item.lease.kind is JobKind.KICKOFF]
    notes = [(note, it.started_at) for item, it in held for note in item.hosts if note.host]
    columns = list(zip(*(_note(note, started_at, hosts) for note, started_at in notes), strict=True)) or [()] * 9
    crawls = sorted({item.lease.crawl for item, it in held})
    credit = _credit(finished, outcomes)
    tx.completed += await tx.value(
        _SETTLE_AND_CREDIT if credit else _SETTLE,
        tx.now, tx.settings, crawls, [it.host for _item, it in held], [it.team for _item, it in held], met,
        *columns, *credit,
    )  # fmt: skip


def _note(note: HostNote, started_at: int | None, hosts: Mapping[str, int]) -> tuple[Any, ...]:
    return (
        hosts[note.host], started_at or 0, int(note.answered), int(note.throttled), int(note.down),
        note.retry_after_us, note.request_age_us, note.gap_us, -1 if note.private is None else int(note.private),
    )  # fmt: skip


def _credit(finished: Sequence[Finished], outcomes: Sequence[Outcome]) -> tuple[list[Any], ...]:
    """The parameters of `credit_v1` after the time; none where nothing was stored."""
    teams: list[Any] = []
    stored: list[tuple[int, StoredDocument]] = []  # that may be known, with its team
    for item, it in zip(finished, outcomes, strict=True):
        if it.outcome != WITH_LINKS or not isinstance(item.end, Done | Failed):
            continue
        document = item.end.document
        done = isinstance(item.end, Done)
        if document is not None or (done and item.lease.kind is JobKind.TASK):
            teams.append(it.crawl_team or 0)
        # Nothing of a crawl that is to be erased enters the index.
        if document is not None and document.site is not None and done and not it.erase:
            stored.append((it.crawl_team or 0, document))
    if not teams:
        return ()
    return (
        teams,
        [team for team, _document in stored],
        [_clean(document.site) for _team, document in stored],
        [clean(document.url) for _team, document in stored],
        [_clean(document.title) for _team, document in stored],
        [_clean(document.description) for _team, document in stored],
    )


def hosts_named(finished: Sequence[Finished]) -> set[str]:
    """Every host that any of these speaks of."""
    names = {url.host for item in finished for url in item.urls}
    for item in finished:
        names.update(note.host for note in item.hosts)
        if isinstance(item.end, Again) and item.end.host is not None:
            names.add(item.end.host)
    return names
