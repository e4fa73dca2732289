"""What is published: versions are added, and one of them is in use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from perseid.ports.configs import ConfigKind, NewVersion, Version
from perseid.store.publishing import on_top_of
from perseid.store.reading.configs import VERSION, ConfigReader, version_of
from perseid.store.reading.rows import Rows
from perseid.store.schema import clean
from perseid.store.sqlite import sinks
from perseid.store.sqlite.tx import Tx

Write = Callable[[Callable[[Tx], Any]], Awaitable[Any]]
_NEXT = "(SELECT coalesce(max(changed), 0) + 1 FROM config)"


class SqliteConfigs(ConfigReader):
    """`Configs` through the two connections of a store; `write` is synced."""

    def __init__(self, write: Write, rows: Rows) -> None:
        super().__init__(rows)
        self._write = write

    async def publish(self, new: NewVersion) -> Version:
        version: Version = await self._write(lambda tx: publish(tx, new))
        return version

    async def retire(self, team: int, kind: ConfigKind, name: str) -> bool:
        retired: bool = await self._write(lambda tx: retire(tx, team, kind, clean(name)))
        return retired


def publish(tx: Tx, new: NewVersion) -> Version:
    name = clean(new.name)
    row = tx.one(
        "SELECT id, head, (SELECT max(version) FROM config_version WHERE config = config.id) FROM config"
        " WHERE team = ? AND kind = ? AND name = ?",
        (new.team, new.kind.value, name),
    )
    config, head, newest = row or (None, 0, 0)
    on_top_of(head, new)
    if head:
        (before,) = tx.all(f"{VERSION} WHERE c.id = ? AND v.version = ?", (config, head))
        if before[4] == new.body:
            return version_of(before)
    if config is None:
        ((config,),) = tx.all(
            f"INSERT INTO config (team, kind, name, head, changed) VALUES (?, ?, ?, 1, {_NEXT}) RETURNING id",  # noqa: S608 - a constant
            (new.team, new.kind.value, name),
        )
    else:
        tx.execute(f"UPDATE config SET head = ?, changed = {_NEXT} WHERE id = ?", (newest + 1, config))  # noqa: S608 - a constant
    tx.execute(
        "INSERT INTO config_version (config, version, body, author, message, restores, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (config, newest + 1, new.body, clean(new.author), clean(new.message), new.restores, tx.now),
    )
    if new.kind is ConfigKind.SINK:
        sinks.hold_no_longer(tx, new.team, name)
    (row,) = tx.all(f"{VERSION} WHERE c.id = ? AND v.version = ?", (config, newest + 1))
    return version_of(row)


def retire(tx: Tx, team: int, kind: ConfigKind, name: str) -> bool:
    row = tx.one(
        f"UPDATE config SET head = 0, changed = {_NEXT} WHERE team = ? AND kind = ? AND name = ? AND head > 0"  # noqa: S608 - a constant
        " RETURNING id",
        (team, kind.value, name),
    )
    return row is not None
