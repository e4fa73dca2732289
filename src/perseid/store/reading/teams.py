"""The reading half of `Teams`."""

from __future__ import annotations

from perseid.errors import NotFound
from perseid.ports.teams import Key, Load, Team, Usage
from perseid.store.reading.reader import Reader
from perseid.store.reading.rows import Row, Where
from perseid.store.schema import UNLIMITED

_TEAM = "SELECT id, name, max_active, rpm, quota FROM team"
_KEY = "SELECT id, team, name, hint, digest, created_at, revoked_at, used_at FROM api_key"


def team_of(row: Row) -> Team:
    """From (id, name, max_active, rpm, quota)."""
    number, name, most, rpm, quota = row
    return Team(
        id=number,
        name=name or f"team {number}",
        max_active=None if most >= UNLIMITED else most,
        requests_per_minute=rpm,
        pages_per_period=quota,
    )


class TeamReader(Reader):
    """What is known of tenants, their keys and their use."""

    async def teams(self) -> list[Team]:
        return [team_of(row) for row in await self._rows.all(f"{_TEAM} ORDER BY id")]

    async def team(self, team: int) -> Team:
        rows = await self._rows.all(f"{_TEAM} WHERE id = $1", team)
        if not rows:
            raise NotFound(f"no team number {team} in {self._rows.place}")
        return team_of(rows[0])

    async def keys(self, team: int | None = None) -> list[Key]:
        where = Where()
        if team is not None:
            where.add("team = ?", team)
        return [Key(*row) for row in await self._rows.all(f"{_KEY} {where} ORDER BY id", *where.values)]

    async def key(self, digest: bytes) -> Key | None:
        rows = await self._rows.all(f"{_KEY} WHERE digest = $1", digest)
        return Key(*rows[0]) if rows else None

    async def usage(self, team: int, *, periods: int = 12) -> list[Usage]:
        newest = "SELECT period, pages FROM usage WHERE team = $1 ORDER BY period DESC LIMIT $2"
        return [Usage(*row) for row in await self._rows.all(newest, team, periods)]

    async def load(self, team: int) -> Load:
        rows = await self._rows.all(
            "SELECT t.active, (SELECT max(last_at) FROM usage u WHERE u.team = t.id),"
            " coalesce(sum(c.open), 0), count(CASE WHEN c.kind IN ('crawl', 'batch') THEN 1 END)"
            " FROM team t LEFT JOIN crawl c ON c.team = t.id AND c.status = 0 WHERE t.id = $1 GROUP BY t.id",
            team,
        )
        active, last, still_open, crawls = rows[0] if rows else (0, None, 0, 0)
        return Load(active, max(0, int(still_open) - active), crawls, last)
