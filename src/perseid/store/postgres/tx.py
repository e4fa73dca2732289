"""One write transaction in progress: its clock, the settings it goes by, what is to be remembered once it is over."""

from __future__ import annotations

import random
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.store.postgres.connection import Connection, Row
from perseid.store.postgres.memory import Memory
from perseid.store.seen import Learnt

_LONGEST_HOST = 255


class PgTx:
    """Every function of the sibling modules takes it first. It may be run again from its start (a clash)."""

    def __init__(self, connection: Connection, now: int, defaults: HostDefaults, memory: Memory) -> None:
        self.connection = connection
        self.now = now
        """µs, the store's clock; the same for the whole transaction."""
        self.defaults = defaults
        self.settings = settings_of(defaults)
        """`defaults` as the functions in the database take them."""
        self.memory = memory
        self.random = random.SystemRandom()
        self.learnt = Learnt()
        self.completed: list[CrawlId] = []
        self.stirred = False
        """Something may have become claimable: others are told after the commit."""

    async def one(self, statement: str, *bindings: Any) -> Row | None:
        row: Row | None = await self.connection.fetchrow(statement, *bindings)
        return row

    async def all(self, statement: str, *bindings: Any) -> list[Row]:
        rows: list[Row] = await self.connection.fetch(statement, *bindings)
        return rows

    async def value(self, statement: str, *bindings: Any) -> Any:
        """First column of the first row, or None."""
        return await self.connection.fetchval(statement, *bindings)

    async def execute(self, statement: str, *bindings: Any) -> int:
        """Rows touched."""
        _verb, _, count = (await self.connection.execute(statement, *bindings)).rpartition(" ")
        return int(count) if count.isdigit() else 0

    async def executemany(self, statement: str, bindings: Iterable[tuple[Any, ...]]) -> None:
        await self.connection.executemany(statement, bindings)

    def committed(self) -> None:
        """Called after the commit: what is now surely in the database may be remembered."""
        self.learnt.enter(self.memory)


def settings_of(defaults: HostDefaults) -> list[int]:
    """`bigint[]` for the functions: their parameter `settings`, in this order."""
    return [
        defaults.max_active,  # 1
        defaults.interval_us,  # 2
        defaults.burst,  # 3
        defaults.give_up_after,  # 4
        defaults.give_up_after_us,  # 5
        defaults.max_backoff_us,  # 6
        defaults.global_interval_us,  # 7
        defaults.global_burst,  # 8
    ]


def host_name(name: str) -> str:
    """A name that an index takes: one too long to be resolved is cut, and made unique by a digest."""
    if len(name) <= _LONGEST_HOST:
        return name
    return f"{name[:180]}…{sha256(name.encode()).hexdigest()}"
