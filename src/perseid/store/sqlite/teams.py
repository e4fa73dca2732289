"""`Teams` in the database of the crawls: limits bind the next claim, and use is counted where pages are stored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from perseid.errors import NotFound, StoreError
from perseid.ports.teams import Key, Load, Team, Usage
from perseid.store.sqlite.connection import Row
from perseid.store.sqlite.reader import SqliteReader
from perseid.store.sqlite.tx import UNLIMITED, Tx, clean

T = TypeVar("T")
_TEAM = "SELECT id, name, max_active, rpm, quota FROM team"
_KEY = "SELECT id, team, name, hint, digest, created_at, revoked_at, used_at FROM api_key"


def _team(row: Row) -> Team:
    number, name, most, rpm, quota = row
    return Team(
        id=number,
        name=name or f"team {number}",
        max_active=None if most >= UNLIMITED else most,
        requests_per_minute=rpm,
        pages_per_period=quota,
    )


class SqliteTeams(SqliteReader):
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
            return _team((row[0], *values))

        return await self._write(work, synced=True)

    async def teams(self) -> list[Team]:
        return [_team(row) for row in await self._all(f"{_TEAM} ORDER BY id")]

    async def team(self, team: int) -> Team:
        rows = await self._all(f"{_TEAM} WHERE id = ?", (team,))
        if not rows:
            raise NotFound(f"no team number {team} in {self.path}")
        return _team(rows[0])

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

    async def keys(self, team: int | None = None) -> list[Key]:
        return [Key(*row) for row in await self._all(f"{_KEY} WHERE ?1 IS NULL OR team = ?1 ORDER BY id", (team,))]

    async def key(self, digest: bytes) -> Key | None:
        rows = await self._all(f"{_KEY} WHERE digest = ?", (digest,))
        return Key(*rows[0]) if rows else None

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

    async def usage(self, team: int, *, periods: int = 12) -> list[Usage]:
        newest = "SELECT period, pages FROM usage WHERE team = ? ORDER BY period DESC LIMIT ?"
        return [Usage(*row) for row in await self._all(newest, (team, periods))]

    async def load(self, team: int) -> Load:
        rows = await self._all(
            "SELECT t.active, (SELECT max(last_at) FROM usage u WHERE u.team = t.id),"
            " coalesce(sum(c.open), 0), coalesce(sum(c.kind IN ('crawl', 'batch')), 0)"
            " FROM team t LEFT JOIN crawl c ON c.team = t.id AND c.status = 0 WHERE t.id = ? GROUP BY t.id",
            (team,),
        )
        active, last, still_open, crawls = rows[0] if rows else (0, None, 0, 0)
        return Load(active, max(0, still_open - active), crawls, last)
