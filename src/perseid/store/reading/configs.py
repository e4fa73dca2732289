"""The reading half of `Configs`."""

from __future__ import annotations

from perseid.ports.configs import Changed, ConfigKind, Version
from perseid.store.reading.rows import Row, Rows
from perseid.store.schema import clean

VERSION = (
    "SELECT c.team, c.kind, c.name, v.version, v.body, v.author, v.message, v.restores, v.at FROM config c"
    " JOIN config_version v ON v.config = c.id"
)
CHANGED = "coalesce((SELECT max(changed) FROM config), 0)"
"""How often anything has changed: the last entry of an index."""


def version_of(row: Row) -> Version:
    team, kind, name, version, body, author, message, restores, at = row
    return Version(
        team=team,
        kind=ConfigKind(kind),
        name=name,
        version=version,
        body=body,
        author=author,
        message=message,
        restores=restores,
        at=at,
    )


class ConfigReader:
    """What is published."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def head(self, team: int, kind: ConfigKind, name: str) -> Version | None:
        found = await self._versions("AND v.version = c.head", team, kind.value, clean(name))
        return found[0] if found else None

    async def version(self, team: int, kind: ConfigKind, name: str, version: int) -> Version | None:
        found = await self._versions("AND v.version = $4", team, kind.value, clean(name), version)
        return found[0] if found else None

    async def history(
        self, team: int, kind: ConfigKind, name: str, *, before: int | None = None, limit: int = 100
    ) -> list[Version]:
        newest = 1 << 62 if before is None else before
        page = "AND v.version < $4 ORDER BY v.version DESC LIMIT $5"
        return await self._versions(page, team, kind.value, clean(name), newest, limit)

    async def heads(self, team: int, kind: ConfigKind, *, after: str = "", limit: int = 100) -> list[Version]:
        rows = await self._rows.all(
            f"{VERSION} AND v.version = c.head WHERE c.team = $1 AND c.kind = $2 AND c.name > $3"
            " ORDER BY c.name LIMIT $4",
            team, kind.value, clean(after), limit,
        )  # fmt: skip
        return [version_of(row) for row in rows]

    async def changed(self) -> int:
        ((counter,),) = await self._rows.all(f"SELECT {CHANGED}")
        return int(counter)

    async def changed_since(self, counter: int, *, limit: int = 1_000) -> tuple[int, list[Changed]]:
        rows = await self._rows.all(
            "SELECT team, kind, name, head, changed FROM config WHERE changed > $1 ORDER BY changed LIMIT $2",
            counter, limit,
        )  # fmt: skip
        found = [Changed(team, ConfigKind(kind), name, head) for team, kind, name, head, _changed in rows]
        return (rows[-1][-1] if rows else counter), found

    async def _versions(self, rest: str, *values: object) -> list[Version]:
        statement = f"{VERSION} WHERE c.team = $1 AND c.kind = $2 AND c.name = $3 {rest}"
        return [version_of(row) for row in await self._rows.all(statement, *values)]
