"""Quotas, asked under a lock that only beginnings of the same team take."""

from __future__ import annotations

from collections.abc import Iterable

from perseid.store.postgres.tx import PgTx
from perseid.store.quota import QUOTA, RESERVED, USED, Balance, period_of

_BEGINNING = 1346720340
"""Class of the advisory locks under which teams with a quota begin crawls."""


async def hold(tx: PgTx, teams: Iterable[int]) -> None:
    """Whoever else begins something of these teams waits for our end. To be called before any gate is locked."""
    await tx.all(
        f"SELECT pg_advisory_xact_lock({_BEGINNING}, id::int)"  # noqa: S608 - a constant
        " FROM (SELECT id FROM team WHERE id = ANY ($1) AND quota IS NOT NULL ORDER BY id) t",
        sorted(set(teams)),
    )


async def afford(tx: PgTx, team: int, pages: int | None) -> None:
    """Raises `QuotaExceeded` where the team has not so many left. To be called while they are held."""
    quota = None if pages == 0 else await tx.value(QUOTA, team)
    if quota is None:
        return
    used = await tx.value(USED, team, period_of(tx.now))
    reserved = await tx.value(RESERVED, team)
    Balance(quota, int(used or 0), int(reserved)).afford(pages, tx.now)
