"""What is published: versions are added, and one of them is in use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from perseid.ports.configs import ConfigKind, NewVersion, Version
from perseid.store.postgres import sinks
from perseid.store.postgres.tx import PgTx
from perseid.store.publishing import on_top_of
from perseid.store.reading.configs import VERSION, ConfigReader, version_of
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean

Write = Callable[[Callable[[PgTx], Awaitable[Any]]], Awaitable[Any]]
# One publication at a time: whoever reads up to a counter has seen all changes before it. 0x50455253 is "PERS".
_ALONE = "SELECT pg_advisory_xact_lock(1346720339, 2)"
_NEXT = "(SELECT coalesce(max(changed), 0) + 1 FROM config)"


class PgConfigs(ConfigReader):
    """`Configs`; `write` is synced."""

    def __init__(self, write: Write, rows: Rows) -> None:
        super().__init__(rows)
        self._write = write

    async def publish(self, new: NewVersion) -> Version:
        version: Version = await self._write(lambda tx: publish(tx, new))
        return version

    async def retire(self, team: int, kind: ConfigKind, name: str) -> bool:
        async def work(tx: PgTx) -> bool:
            await tx.execute(_ALONE)
            retired = await tx.execute(
                f"UPDATE config SET head = 0, changed = {_NEXT} WHERE team = $1 AND kind = $2 AND name = $3"  # noqa: S608 - a constant
                " AND head > 0",
                team, kind.value, clean(name),
            )  # fmt: skip
            return retired > 0

        changed: bool = await self._write(work)
        return changed


async def publish(tx: PgTx, new: NewVersion) -> Version:
    name = clean(new.name)
    await tx.execute(_ALONE)
    row = await tx.one(
        "SELECT id, head, (SELECT max(version) FROM config_version WHERE config = config.id) FROM config"
        " WHERE team = $1 AND kind = $2 AND name = $3",
        new.team, new.kind.value, name,
    )  # fmt: skip
    config, head, newest = row or (None, 0, 0)
    on_top_of(head, new)
    if head:
        before = await tx.one(f"{VERSION} WHERE c.id = $1 AND v.version = $2", config, head)
        assert before is not None
        if before["body"] == new.body:
            return version_of(before)
    if config is None:
        config = await tx.value(
            f"INSERT INTO config (team, kind, name, head, changed) VALUES ($1, $2, $3, 1, {_NEXT}) RETURNING id",  # noqa: S608 - a constant
            new.team, new.kind.value, name,
        )  # fmt: skip
    else:
        await tx.execute(f"UPDATE config SET head = $1, changed = {_NEXT} WHERE id = $2", newest + 1, config)  # noqa: S608 - a constant
    await tx.execute(
        "INSERT INTO config_version (config, version, body, author, message, restores, at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        config, newest + 1, new.body, clean(new.author), clean(new.message), new.restores, tx.now,
    )  # fmt: skip
    if new.kind is ConfigKind.SINK:
        await sinks.hold_no_longer(tx, new.team, name)
    row = await tx.one(f"{VERSION} WHERE c.id = $1 AND v.version = $2", config, newest + 1)
    assert row is not None
    return version_of(row)
