"""`Rows` of a database file: a read-only connection with a thread, so that the event loop never waits for long."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from perseid.store.schema import clean
from perseid.store.sqlite.connection import Connection, Row, reading
from perseid.store.sqlite.hand import Hand

T = TypeVar("T")


@lru_cache(512)
def _numbered(statement: str) -> str:
    """SQLite numbers `$1`, `$2` by their first appearance, and only `?1`, `?2` by what they say."""
    return re.sub(r"\$(\d+)", r"?\1", statement)


class SqliteRows:
    """Each statement sees the newest state and holds no snapshot."""

    along = "+"

    def __init__(self, path: Path, reader: Connection) -> None:
        self._path = path
        self._reader = reader
        self._thread = Hand("perseid-reader")

    @property
    def place(self) -> str:
        return str(self._path)

    def same(self, column: str, parameter: str) -> str:
        return f"{column} = {parameter}"

    async def all(self, statement: str, *bindings: object, brief: bool = False) -> list[Row]:
        numbered, cleaned = _numbered(statement), [clean(it) if isinstance(it, str) else it for it in bindings]
        return await self.run(lambda connection: list(connection.execute(numbered, cleaned)), brief=brief)

    async def run(self, query: Callable[[Connection], T], *, brief: bool = False) -> T:
        """Several statements that belong together."""
        return await self._thread.do(lambda: reading(self._reader, self._path, query), brief=brief)

    async def close(self) -> None:
        if self._thread.stopped:
            return
        await self.run(lambda connection: connection.close())
        await self._thread.stop()
