"""One end of a copy of a whole store: its rows as they are, table by table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from perseid.ports.truth import Relocation


class Table(NamedTuple):
    """`order` sorts its rows; where that is one ascending number, a copy that was cut off goes on behind the last."""

    name: str
    order: tuple[str, ...] = ("id",)
    heavy: bool = False
    """Rows hold bodies: few at a time."""

    @property
    def numbered(self) -> bool:
        return self.order in (("id",), ("job",))


TABLES = (
    Table("team"),
    Table("api_key"),
    Table("usage", ("team", "period")),
    Table("host"),
    Table("crawl"),
    Table("idempotency", ("team", "key")),
    Table("queue"),
    Table("lane"),
    Table("url"),
    Table("variant", ("crawl", "key", "url")),
    Table("edge", ("crawl", "parent", "child")),
    Table("cut", ("crawl", "parent", "key")),
    Table("retry", ("run_at", "job")),
    Table("ended", ("job",)),
    Table("document", heavy=True),
    Table("denied"),
    Table("denied_count", ("crawl", "reason")),
    Table("erasure", ("crawl",)),
    Table("outbox"),
    Table("outbox_lane", ("crawl",)),
    Table("delivery"),
    Table("block"),
    Table("robots", ("origin",), heavy=True),
    Table("page_cache", ("key",), heavy=True),
    Table("known_url", ("team", "site", "url")),
    Table("snapshot", ("team", "url", "tag"), heavy=True),
    Table("config"),
    Table("config_version", ("config", "version")),
    Table("site"),
    Table("seed"),
    Table("collected"),
    Table("site_page", heavy=True),
    Table("item"),
    Table("broken_item"),
    Table("sink"),
    Table("sink_line", ("sink", "item")),
    Table("field_minute", ("site", "minute", "rule_version", "field")),
    Table("run_count", ("crawl",)),
    Table("run_time", ("crawl", "bucket")),
    Table("alarm"),
)
"""All but workers and leases, which end with the processes that hold them."""


OWN = {"queue": {"shelf"}, "host": {"freed_at"}}
"""Columns that one database keeps for its own quickness; elsewhere they begin as a new row has them."""


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers that are drawn from and must never be drawn twice, and the two clocks of the queues."""

    next_job: int
    turn: int
    global_open: int
    next_ids: dict[str, int]
    """Of tables that give out their ids themselves."""


class Side(Protocol):
    """A database to copy from or into, opened by nobody else. Raises `StoreUnavailable`, `StoreError`."""

    @property
    def shown(self) -> str:
        """For people, and to know it again: without passwords."""
        ...

    async def close(self) -> None: ...

    async def columns(self, table: str) -> list[str]:
        """Those that can be written."""
        ...

    async def count(self, table: str) -> int: ...

    async def last(self, table: Table) -> int:
        """The highest number of a numbered table; 0 where it is empty."""
        ...

    def rows(self, table: Table, columns: Sequence[str], *, after: int = 0) -> AsyncIterator[list[tuple[Any, ...]]]:
        """All rows in order, some at a time; of a numbered table those above `after`."""
        ...

    async def add(self, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """One durable transaction."""
        ...

    async def clear(self, table: str) -> None: ...

    async def counters(self) -> Counters: ...

    async def set_counters(self, counters: Counters) -> None: ...

    async def relocation(self) -> Relocation | None: ...

    async def arrive(self, source: str) -> None:
        """From now on it is being filled."""
        ...

    async def leave(self, target: str) -> None:
        """From now on it is the truth no longer: it refuses every write, by whatever process."""
        ...

    async def stay(self) -> None:
        """It is the truth: neither being filled nor left."""
        ...

    async def tidy(self) -> None:
        """After a copy into it: what makes it quick."""
        ...
