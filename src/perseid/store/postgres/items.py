"""`Items` in the database of the crawls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from msgspec.structs import replace

from perseid.ports.items import Alarm, Harvest
from perseid.store.harvest import minute_of
from perseid.store.lines import Lines, Statements
from perseid.store.postgres import sinks
from perseid.store.postgres.harvest import reread
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.items import MILLION, NEWS, ItemReader, alarm_of, among
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean

Write = Callable[[Callable[[PgTx], Awaitable[Any]]], Awaitable[Any]]

_CHUNK = 5_000
_REREAD_AT_ONCE = 100


class PgItems(Lines, ItemReader):
    """`clock` gives µs since the epoch."""

    _sinks: ClassVar[Statements] = sinks

    def __init__(self, write: Write, rows: Rows, clock: Callable[[], int]) -> None:
        super().__init__(rows, clock)
        self._write = write

    async def _known_change(self) -> int:
        ((known,),) = await self._rows.all("SELECT known_change_v1()")
        return int(known)

    async def reread(self, harvests: Sequence[Harvest]) -> int:
        chunks = [harvests[at : at + _REREAD_AT_ONCE] for at in range(0, len(harvests), _REREAD_AT_ONCE)]
        accepted: list[int] = [await self._write(partial(reread, found=chunk)) for chunk in chunks]
        return sum(accepted)

    async def drop_exceptions(
        self, team: int, *, site: str, rule_version: int | None = None, reason: str | None = None
    ) -> int:
        where = among(self._rows, team, site, rule_version, reason)
        return await self._delete(
            f"DELETE FROM broken_item WHERE id = ANY (ARRAY(SELECT b.id FROM broken_item b {where}"  # noqa: S608 - constants
            f" LIMIT {_CHUNK} FOR UPDATE OF b SKIP LOCKED))",
            *where.values,
        )

    async def forget_pages(self, *, fetched_before: int, limit: int = 1_000) -> int:
        async def work(tx: PgTx) -> int:
            return await tx.execute(
                "DELETE FROM site_page WHERE id = ANY (ARRAY(SELECT p.id FROM site_page p WHERE p.fetched_at < $1"
                " AND (SELECT 1 FROM broken_item b WHERE b.page = p.id LIMIT 1) IS NULL ORDER BY p.fetched_at LIMIT $2"
                " FOR UPDATE OF p SKIP LOCKED))",
                fetched_before,
                limit,
            )

        gone: int = await self._write(work)
        return gone

    async def forget_rates(self, *, before: int) -> int:
        return await self._delete(
            "DELETE FROM field_minute WHERE ctid = ANY (ARRAY(SELECT ctid FROM field_minute WHERE minute < $1"  # noqa: S608 - a constant
            f" ORDER BY minute LIMIT {_CHUNK} FOR UPDATE SKIP LOCKED))",
            minute_of(before),
        )

    async def _delete(self, statement: str, *values: object) -> int:
        """In chunks; rows."""

        async def work(tx: PgTx) -> int:
            return await tx.execute(statement, *values)

        gone = 0
        while found := await self._write(work):
            gone += found
        return gone

    async def raise_alarm(self, site: int, alarm: Alarm) -> Alarm | None:
        rate = round(alarm.rate * MILLION)

        async def work(tx: PgTx) -> Alarm | None:
            number = await tx.value(
                "INSERT INTO alarm (team, site, rule_version, field, rate, n, at, paused, tell_at)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id",
                alarm.team, site, alarm.rule_version, clean(alarm.field), rate, alarm.n, alarm.at, int(alarm.paused),
                tx.now,
            )  # fmt: skip
            return None if number is None else replace(alarm, id=number, rate=rate / MILLION)

        raised: Alarm | None = await self._write(work)
        return raised

    async def clear_alarm(self, alarm: int) -> bool:
        async def work(tx: PgTx) -> bool:
            changed = await tx.execute(
                "UPDATE alarm SET cleared_at = $2, tell_at = $2 WHERE id = $1 AND cleared_at IS NULL", alarm, tx.now
            )
            return changed > 0

        cleared: bool = await self._write(work)
        return cleared

    async def take_news(self, *, limit: int = 100, lease_us: int) -> list[Alarm]:
        async def work(tx: PgTx) -> list[Alarm]:
            rows = await tx.all(f"{NEWS} FOR NO KEY UPDATE OF a SKIP LOCKED", tx.now, limit)
            await tx.execute(
                "UPDATE alarm SET tell_at = $2 WHERE id = ANY ($1::bigint[])",
                [row[0] for row in rows],
                tx.now + lease_us,
            )
            return [alarm_of(row) for row in rows]

        news: list[Alarm] = await self._write(work)
        return news

    async def told(self, alarm: Alarm) -> None:
        async def work(tx: PgTx) -> None:
            await tx.execute(
                "UPDATE alarm SET tell_at = NULL WHERE id = $1 AND cleared_at IS NOT DISTINCT FROM $2",
                alarm.id,
                alarm.cleared_at,
            )

        await self._write(work)
