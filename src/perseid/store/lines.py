"""The lines of sinks as `Items` offers them, over the statements of each database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar, Protocol

from perseid.model.ids import WorkerId
from perseid.ports.items import Batch

_CHUNK = 5_000


class Statements(Protocol):
    """Functions of a transaction: a database's module `sinks`."""

    take: Callable[..., Any]
    settle: Callable[..., Any]
    put_back: Callable[..., Any]
    hold_no_longer: Callable[..., Any]
    line_up: Callable[..., Any]
    leave: Callable[..., Any]


class Lines:
    """A part of `Items`; `_write` runs a function in a transaction."""

    _sinks: ClassVar[Statements]
    _write: Callable[[Callable[[Any], Any]], Awaitable[Any]]

    async def take_batch(
        self, *, limit: int, lease_us: int, of: tuple[int, str] | None = None, worker: WorkerId | None = None
    ) -> Batch | None:
        batch: Batch | None = await self._write(lambda tx: self._sinks.take(tx, limit, lease_us, of, worker or 0))
        return batch

    async def settle_batch(self, batch: Batch, *, position: bytes) -> bool:
        ours: bool = await self._write(lambda tx: self._sinks.settle(tx, batch, position))
        return ours

    async def put_back_batch(self, batch: Batch, *, in_us: int, error: str) -> bool:
        ours: bool = await self._write(lambda tx: self._sinks.put_back(tx, batch, in_us, error))
        return ours

    async def try_sink(self, team: int, sink: str) -> bool:
        held: bool = await self._write(lambda tx: self._sinks.hold_no_longer(tx, team, sink))
        return held

    async def line_up(self, team: int, sink: str, *, site: str | None = None, chunk: int = 5_000) -> int:
        line_up = partial(self._sinks.line_up, team=team, name=sink, site=site, chunk=chunk)
        looked, after = 0, 0
        while True:
            found, after = await self._write(partial(line_up, after=after))
            looked += int(found)
            if found < chunk:
                return looked

    async def leave_line(self, team: int, sink: str) -> int:
        left = 0
        while gone := await self._write(partial(self._sinks.leave, team=team, name=sink, chunk=_CHUNK)):
            left += gone
        return left
