"""The reading half of `Items`."""

from __future__ import annotations

from collections.abc import Callable

from perseid.model.ids import CrawlId, JobId
from perseid.ports.items import (
    Alarm,
    FieldRate,
    KeptPage,
    ReasonGroup,
    RunStats,
    SinkState,
    SitePage,
    StoredException,
    StoredItem,
)
from perseid.store.harvest import minute_of
from perseid.store.latency import quantile_ms
from perseid.store.reading.rows import Row, Rows, Where
from perseid.store.schema import GOING, clean

ITEM = (
    "i.id, i.team, s.name, i.key, i.fields, i.rule_version, i.task, i.seed, i.url, i.fetched_at, i.updated_at, i.change"
)
_ITEMS = f"SELECT {ITEM} FROM item i JOIN site s ON s.id = i.site"  # noqa: S608 - constants
_BROKEN = (
    "SELECT b.id, s.name, b.rule_version, b.reason, b.key, b.url, b.fields, b.problems, b.task, b.seed, b.at"
    " FROM broken_item b JOIN site s ON s.id = b.site"
)
_PAGE = (
    "p.id, p.url, p.rule_version, p.seed, p.final_url, p.status, p.headers, p.body, p.kind, p.list_page, p.fetched_at"
)
_ALARM = (
    "SELECT a.id, a.team, s.name, a.rule_version, a.field, a.rate, a.n, a.at, a.cleared_at, a.paused FROM alarm a"
    " JOIN site s ON s.id = a.site"
)
NEWS = f"{_ALARM} WHERE a.tell_at <= $1 ORDER BY a.tell_at LIMIT $2"
MILLION = 1_000_000


def item_of(row: Row) -> StoredItem:
    """From the columns of `ITEM`."""
    number, team, site, key, fields, version, task, seed, url, fetched_at, updated_at, change = row
    return StoredItem(
        id=number,
        team=team,
        site=site,
        key=key,
        fields=fields,
        rule_version=version,
        task=JobId(task),
        seed=seed,
        url=url,
        fetched_at=fetched_at,
        updated_at=updated_at,
        change=change,
    )


def _exception_of(row: Row) -> StoredException:
    number, site, version, reason, key, url, fields, problems, task, seed, at = row
    return StoredException(
        id=number,
        site=site,
        rule_version=version,
        reason=reason,
        key=key,
        url=url,
        fields=fields,
        problems=problems,
        task=JobId(task),
        seed=seed,
        at=at,
    )


def _page_of(row: Row) -> SitePage:
    number, url, version, seed, *page = row
    return SitePage(number, url, version, seed, KeptPage(*page))


def alarm_of(row: Row) -> Alarm:
    number, team, site, version, field, rate, n, at, cleared_at, paused = row
    return Alarm(
        id=number,
        team=team,
        site=site,
        rule_version=version,
        field=field,
        rate=rate / MILLION,
        n=n,
        at=at,
        cleared_at=cleared_at,
        paused=bool(paused),
    )


def of_site(where: Where, column: str, team: int, name: str) -> None:
    """Only rows of the team's site of that name."""
    where.add(f"{column} = (SELECT id FROM site WHERE team = ? AND name = ?)", team, clean(name))  # noqa: S608 - a constant


def among(rows: Rows, team: int, site: str | None, rule_version: int | None, reason: str | None) -> Where:
    """A group of broken items (`b`), or several."""
    where = Where()
    where.add("b.team = ?", team)
    if site is not None:
        of_site(where, "b.site", team, site)
    if rule_version is not None:
        where.add("b.rule_version = ?", rule_version)
    if reason is not None:
        where.add(rows.same("b.reason", where.bind(clean(reason))))
    return where


class ItemReader:
    """Items, broken ones, kept pages and the state of sinks; `clock` gives µs since the epoch."""

    def __init__(self, rows: Rows, clock: Callable[[], int]) -> None:
        self._rows = rows
        self._clock = clock

    async def item(self, team: int, site: str, key: str) -> StoredItem | None:
        rows = await self._rows.all(
            f"{_ITEMS} WHERE s.team = $1 AND s.name = $2 AND {self._rows.same('i.key', '$3')}",
            team, clean(site), clean(key),
        )  # fmt: skip
        return item_of(rows[0]) if rows else None

    async def items(
        self, team: int, *, site: str | None = None, seed: str | None = None, after: int = 0, limit: int = 100
    ) -> list[StoredItem]:
        where = Where()
        # The one index that is walked is that of the narrowest: sums are in none.
        where.add("i.team = ?" if site is None and seed is None else "i.team + 0 = ?", team)
        if site is not None:
            of_site(where, "i.site" if seed is None else "i.site + 0", team, site)
        if seed is not None:
            where.add("i.seed = ?", clean(seed))
        where.add("i.change > ?", after)
        known = await self._known_change()
        if known is not None:
            where.add("i.change <= ?", known)
        rows = await self._rows.all(f"{_ITEMS} {where} ORDER BY i.change LIMIT {where.bind(limit)}", *where.values)
        return [item_of(row) for row in rows]

    async def _known_change(self) -> int | None:
        """Up to which change all are to be seen; None where that is so of each that can be seen."""
        return None

    async def items_of(self, task: JobId) -> list[StoredItem]:
        return [item_of(row) for row in await self._rows.all(f"{_ITEMS} WHERE i.task = $1 ORDER BY i.change", task)]

    async def page(self, site: int, url: str) -> KeptPage | None:
        rows = await self._rows.all(
            f"SELECT {_PAGE} FROM site_page p WHERE p.site = $1 AND {self._rows.same('p.url', '$2')}"  # noqa: S608 - constants
            " AND p.body IS NOT NULL",
            site, clean(url),
        )  # fmt: skip
        return _page_of(rows[0]).page if rows else None

    async def pages(self, site: int, *, after: int = 0, limit: int = 100) -> list[SitePage]:
        rows = await self._rows.all(
            f"SELECT {_PAGE} FROM site_page p WHERE p.site = $1 AND p.id > $2 AND p.body IS NOT NULL"  # noqa: S608 - constants
            " ORDER BY p.id LIMIT $3",
            site, after, limit,
        )  # fmt: skip
        return [_page_of(row) for row in rows]

    async def broken_pages(
        self,
        team: int,
        *,
        site: str,
        rule_version: int | None = None,
        reason: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[SitePage]:
        where = among(self._rows, team, site, rule_version, reason)
        where.add("b.page > ? AND k.body IS NOT NULL", after)
        rows = await self._rows.all(
            f"SELECT {_PAGE} FROM (SELECT DISTINCT b.page FROM broken_item b JOIN site_page k ON k.id = b.page {where}"  # noqa: S608 - constants
            f" ORDER BY b.page LIMIT {where.bind(limit)}) page JOIN site_page p ON p.id = page.page ORDER BY p.id",
            *where.values,
        )
        return [_page_of(row) for row in rows]

    async def groups(self, team: int, *, site: str | None = None) -> list[ReasonGroup]:
        where = among(self._rows, team, site, None, None)
        rows = await self._rows.all(
            "SELECT s.name, b.rule_version, b.reason, count(*), min(b.at), max(b.at), min(b.url) FROM broken_item b"  # noqa: S608 - constants
            f" JOIN site s ON s.id = b.site {where} GROUP BY s.name, b.rule_version, b.reason"
            " ORDER BY count(*) DESC, s.name, b.rule_version, b.reason",
            *where.values,
        )
        return [
            ReasonGroup(
                site=name, rule_version=version, reason=reason, count=count, first_at=first, last_at=last, example=url
            )
            for name, version, reason, count, first, last, url in rows
        ]

    async def exceptions(
        self,
        team: int,
        *,
        site: str | None = None,
        rule_version: int | None = None,
        reason: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[StoredException]:
        where = among(self._rows, team, site, rule_version, reason)
        where.add("b.id > ?", after)
        rows = await self._rows.all(f"{_BROKEN} {where} ORDER BY b.id LIMIT {where.bind(limit)}", *where.values)
        return [_exception_of(row) for row in rows]

    async def exceptions_of(self, task: JobId) -> list[StoredException]:
        return [_exception_of(row) for row in await self._rows.all(f"{_BROKEN} WHERE b.task = $1 ORDER BY b.id", task)]

    async def run_stats(self, run: CrawlId) -> RunStats:
        return await self._stats("c.id = $1", run)

    async def seed_stats(self, seed: int) -> RunStats:
        return await self._stats(f"c.seed = $1 AND c.swept < {GOING}", seed)

    async def _stats(self, which: str, value: int) -> RunStats:
        (counted,) = await self._rows.all(
            "SELECT coalesce(sum(c.discovered), 0), coalesce(sum(c.done), 0), coalesce(sum(c.failed), 0),"  # noqa: S608 - constants
            " coalesce(sum(n.empty), 0), coalesce(sum(n.items), 0), coalesce(sum(n.exceptions), 0)"
            f" FROM crawl c LEFT JOIN run_count n ON n.crawl = c.id WHERE {which}",
            value,
        )
        tasks, done, failed, empty, items, exceptions = map(int, counted)
        times = await self._rows.all(
            "SELECT t.bucket, sum(t.n) FROM crawl c JOIN run_time t ON t.crawl = c.id"  # noqa: S608 - constants
            f" WHERE {which} GROUP BY t.bucket",
            value,
        )
        took = {int(bucket): int(n) for bucket, n in times}
        return RunStats(
            tasks=tasks,
            done=done,
            failed=failed,
            empty=empty,
            items=items,
            exceptions=exceptions,
            p50_ms=quantile_ms(took, 0.5),
            p95_ms=quantile_ms(took, 0.95),
        )

    async def field_rates(self, site: int, *, since: int) -> list[FieldRate]:
        rows = await self._rows.all(
            "SELECT rule_version, field, sum(n), sum(empty) FROM field_minute WHERE site = $1 AND minute >= $2"
            " GROUP BY rule_version, field ORDER BY rule_version, field",
            site, minute_of(since),
        )  # fmt: skip
        return [FieldRate(version, field, int(n), int(empty)) for version, field, n, empty in rows]

    async def watched_sites(self, *, since: int) -> list[int]:
        rows = await self._rows.all("SELECT DISTINCT site FROM field_minute WHERE minute >= $1", minute_of(since))
        return [row[0] for row in rows]

    async def alarms(
        self, team: int, *, site: str | None = None, is_open: bool = True, limit: int = 100
    ) -> list[Alarm]:
        where = Where()
        where.add("a.team = ?", team)
        if site is not None:
            of_site(where, "a.site", team, site)
        if is_open:
            where.add("a.cleared_at IS NULL")
        rows = await self._rows.all(f"{_ALARM} {where} ORDER BY a.id DESC LIMIT {where.bind(limit)}", *where.values)
        return [alarm_of(row) for row in rows]

    async def next_batch_us(self) -> int | None:
        ((at,),) = await self._rows.all(
            "SELECT min(CASE WHEN k.busy_until > k.held_until THEN k.busy_until ELSE k.held_until END) FROM sink k"
            " WHERE EXISTS (SELECT 1 FROM sink_line l WHERE l.sink = k.id)"
        )
        return None if at is None else max(0, at - self._clock())

    async def sink_states(self, team: int) -> list[SinkState]:
        rows = await self._rows.all(
            "SELECT k.name, (SELECT count(*) FROM sink_line l WHERE l.sink = k.id), k.settled, k.held_until,"
            " k.attempts, k.error FROM sink k WHERE k.team = $1 ORDER BY k.name",
            team,
        )
        return [
            SinkState(
                team=team, name=name, waiting=waiting, settled=settled, held_until=held, attempts=attempts, error=error
            )
            for name, waiting, settled, held, attempts, error in rows
        ]
