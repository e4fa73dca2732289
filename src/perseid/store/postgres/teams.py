"""`Teams`: limits bind the next claim, and use is counted where pages are stored."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.errors import NotFound, StoreError
from perseid.ports.teams import Key, Team
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.teams import TeamReader, team_of
from perseid.store.schema import UNLIMITED, clean

_TRIES = 20
"""For a number that nobody else takes at the same moment."""


class PgTeams(PgBase, TeamReader):
    """The part of the store that is about its tenants."""

    async def put_team(self, team: Team) -> Team:
        most = UNLIMITED if team.max_active is None else team.max_active
        values = (clean(team.name), most, team.requests_per_minute, team.pages_per_period)

        async def work(tx: PgTx) -> Team:
            # What it changes holds for whoever claims next, so those who wait for work look again.
            tx.stirred = True
            number = await (_change(tx, team.id, values) if team.id else _create(tx, values))
            return team_of((number, *values))

        return await self._write(work, synced=True)

    async def add_key(self, team: int, *, name: str, hint: str, digest: bytes) -> Key:
        async def work(tx: PgTx) -> Key:
            if await tx.one("SELECT 1 FROM team WHERE id = $1", team) is None:
                raise NotFound(f"no team number {team}")
            number = await tx.value(
                "INSERT INTO api_key (team, name, hint, digest, created_at) VALUES ($1, $2, $3, $4, $5)"
                " ON CONFLICT (digest) DO NOTHING RETURNING id",
                team, clean(name), clean(hint), digest, tx.now,
            )  # fmt: skip
            if number is None:
                raise StoreError(f"the key {hint}… is known already; make another one")
            return Key(number, team, clean(name), clean(hint), digest, tx.now, None, None)

        return await self._write(work, synced=True)

    async def revoke(self, key: int) -> bool:
        async def work(tx: PgTx) -> bool:
            revoking = "UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL"
            return await tx.execute(revoking, tx.now, key) > 0

        return await self._write(work, synced=True)

    async def touch_keys(self, used: Sequence[tuple[int, int]]) -> None:
        latest: dict[int, int] = {}
        for key, at in used:
            latest[key] = max(at, latest.get(key, at))
        rows = sorted(latest.items())

        async def work(tx: PgTx) -> None:
            await tx.executemany(
                "UPDATE api_key SET used_at = greatest(coalesce(used_at, 0), $2) WHERE id = $1",
                rows,
            )

        if rows:
            await self._write(work)


async def _create(tx: PgTx, values: tuple[str, int, int | None, int | None]) -> int:
    for _ in range(_TRIES):
        await _check_name(tx, 0, values[0])
        number: int | None = await tx.value(
            "INSERT INTO team (id, name, max_active, rpm, quota)"
            " SELECT coalesce(max(id), 0) + 1, $1, $2::bigint, $3::bigint, $4::bigint FROM team"
            " ON CONFLICT DO NOTHING RETURNING id",
            *values,
        )
        if number is not None:
            return number
    raise StoreError(f"the team {values[0]!r} could not be made: others make teams all the time; try again")


async def _change(tx: PgTx, team: int, values: tuple[str, int, int | None, int | None]) -> int:
    await _check_name(tx, team, values[0])
    try:
        change = "UPDATE team SET name = $2, max_active = $3, rpm = $4, quota = $5 WHERE id = $1"
        changed = await tx.execute(change, team, *values)
    except asyncpg.UniqueViolationError:
        raise StoreError(f"there is a team {values[0]!r} already; choose another name") from None
    if not changed:
        raise NotFound(f"no team number {team}")
    return team


async def _check_name(tx: PgTx, team: int, name: str) -> None:
    taken = await tx.value("SELECT id FROM team WHERE name = $1 AND id <> $2", name, team)
    if taken is not None:
        raise StoreError(f"there is a team {name!r} already, number {taken}; choose another name")
