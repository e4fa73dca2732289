"""`Items` in the database of the crawls: written through the one connection that writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec.structs import replace

from perseid.ports.items import Alarm, Harvest
from perseid.store.harvest import minute_of
from perseid.store.lines import Lines, Statements
from perseid.store.reading.items import MILLION, NEWS, ItemReader, alarm_of
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean
from perseid.store.sqlite import sinks
from perseid.store.sqlite.harvest import reread
from perseid.store.sqlite.tx import Tx

Write = Callable[[Callable[[Tx], Any]], Awaitable[Any]]

_CHUNK = 5_000
_REREAD_AT_ONCE = 100


class SqliteItems(Lines, ItemReader):
    """Works through the two connections of a store; `clock` gives µs since the epoch."""

    _sinks: ClassVar[Statements] = sinks

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows, clock)
        self._write = write

    async def reread(self, harvests: Sequence[Harvest]) -> int:
        chunks = [harvests[at : at + _REREAD_AT_ONCE] for at in range(0, len(harvests), _REREAD_AT_ONCE)]
        accepted: list[int] = [await self._write(partial(reread, found=chunk)) for chunk in chunks]
        return sum(accepted)

    async def drop_exceptions(
        self, team: int, *, site: str, rule_version: int | None = None, reason: str | None = None
    ) -> int:
        values: list[object] = [team, team, clean(site)]
        where = "team = ? AND site = (SELECT id FROM site WHERE team = ? AND name = ?)"
        if rule_version is not None:
            where += " AND rule_version = ?"
            values.append(rule_version)
        if reason is not None:
            where += " AND reason = ?"
            values.append(clean(reason))
        return await self._delete(
            f"DELETE FROM broken_item WHERE id IN (SELECT id FROM broken_item WHERE {where} LIMIT ?)",  # noqa: S608 - constants
            *values,
        )

    async def forget_pages(self, *, fetched_before: int, limit: int = 1_000) -> int:
        def work(tx: Tx) -> int:
            tx.execute(
                "DELETE FROM site_page WHERE id IN (SELECT p.id FROM site_page p WHERE p.fetched_at < ? AND NOT EXISTS"
                " (SELECT 1 FROM broken_item b WHERE b.page = p.id) ORDER BY p.fetched_at LIMIT ?)",
                (fetched_before, limit),
            )
            return tx.connection.changes()

        gone: int = await self._write(work)
        return gone

    async def forget_rates(self, *, before: int) -> int:
        return await self._delete(
            "DELETE FROM field_minute WHERE (site, minute, rule_version, field) IN"
            " (SELECT site, minute, rule_version, field FROM field_minute WHERE minute < ? LIMIT ?)",
            minute_of(before),
        )

    async def _delete(self, statement: str, *values: object) -> int:
        """In chunks, of which the statement's last parameter is the size; rows."""

        def work(tx: Tx) -> int:
            tx.execute(statement, (*values, _CHUNK))
            return tx.connection.changes()

        gone = 0
        while found := await self._write(work):
            gone += found
        return gone

    async def raise_alarm(self, site: int, alarm: Alarm) -> Alarm | None:
        rate = round(alarm.rate * MILLION)

        def work(tx: Tx) -> Alarm | None:
            row = tx.one(
                "INSERT INTO alarm (team, site, rule_version, field, rate, n, at, paused, tell_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
                (
                    alarm.team, site, alarm.rule_version, clean(alarm.field), rate, alarm.n, alarm.at,
                    int(alarm.paused), tx.now,
                ),
            )  # fmt: skip
            return None if row is None else replace(alarm, id=row[0], rate=rate / MILLION)

        raised: Alarm | None = await self._write(work)
        return raised

    async def clear_alarm(self, alarm: int) -> bool:
        def work(tx: Tx) -> bool:
            tx.execute(
                "UPDATE alarm SET cleared_at = ?1, tell_at = ?1 WHERE id = ?2 AND cleared_at IS NULL", (tx.now, alarm)
            )
            return tx.connection.changes() > 0

        cleared: bool = await self._write(work)
        return cleared

    async def take_news(self, *, limit: int = 100, lease_us: int) -> list[Alarm]:
        def work(tx: Tx) -> list[Alarm]:
            rows = tx.all(NEWS, (tx.now, limit))
            tx.executemany("UPDATE alarm SET tell_at = ? WHERE id = ?", [(tx.now + lease_us, row[0]) for row in rows])
            return [alarm_of(row) for row in rows]

        news: list[Alarm] = await self._write(work)
        return news

    async def told(self, alarm: Alarm) -> None:
        await self._write(
            lambda tx: tx.execute(
                "UPDATE alarm SET tell_at = NULL WHERE id = ? AND cleared_at IS ?", (alarm.id, alarm.cleared_at)
            )
        )
