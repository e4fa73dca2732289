"""`Teams` in the database of the crawls: limits bind the next claim, and use is counted where pages are stored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from perseid.errors import NotFound, StoreError
from perseid.ports.teams import Key, Team
from perseid.store.reading.teams import TeamReader, team_of
from perseid.store.schema import UNLIMITED, clean
from perseid.store.sqlite.tx import Tx

T = TypeVar("T")


class SqliteTeams(TeamReader):
    """The part of the store that is about its tenants."""

    @abstractmethod
    async def _write(self, work: Callable[[Tx], T], *, synced: bool = False) -> T: ...

    async def put_team(self, team: Team) -> Team:
        values = (
            clean(team.name),
            UNLIMITED if team.max_active is None else team.max_active,
            team.requests_per_minute,
            team.pages_per_period,
        )

        def work(tx: Tx) -> Team:
            taken = tx.one("SELECT id FROM team WHERE name = ? AND id <> ?", (values[0], team.id))
            if taken is not None:
                raise StoreError(f"there is a team {team.name!r} already, number {taken[0]}; choose another name")
            if team.id:
                change = "UPDATE team SET name = ?, max_active = ?, rpm = ?, quota = ? WHERE id = ? RETURNING id"
                row = tx.one(change, (*values, team.id))
            else:
                row = tx.one("INSERT INTO team (name, max_active, rpm, quota) VALUES (?, ?, ?, ?) RETURNING id", values)
            if row is None:
                raise NotFound(f"no team number {team.id}")
            return team_of((row[0], *values))

        return await self._write(work, synced=True)

    async def add_key(self, team: int, *, name: str, hint: str, digest: bytes) -> Key:
        def work(tx: Tx) -> Key:
            if tx.one("SELECT 1 FROM team WHERE id = ?", (team,)) is None:
                raise NotFound(f"no team number {team}")
            row = tx.one(
                "INSERT INTO api_key (team, name, hint, digest, created_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (digest) DO NOTHING RETURNING id",
                (team, clean(name), clean(hint), digest, tx.now),
            )
            if row is None:
                raise StoreError(f"the key {hint}… is known already; make another one")
            return Key(row[0], team, clean(name), clean(hint), digest, tx.now, None, None)

        return await self._write(work, synced=True)

    async def revoke(self, key: int) -> bool:
        revoking = "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
        return await self._write(lambda tx: tx.one(revoking, (tx.now, key)) is not None, synced=True)

    async def touch_keys(self, used: Sequence[tuple[int, int]]) -> None:
        await self._write(
            lambda tx: tx.executemany(
                "UPDATE api_key SET used_at = max(coalesce(used_at, 0), ?) WHERE id = ?",
                [(at, key) for key, at in used],
            )
        )
