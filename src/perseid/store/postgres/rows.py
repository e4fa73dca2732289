"""`Rows` of a database on a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from perseid.store.reading.rows import Row
from perseid.store.schema import clean

Fetch = Callable[[str, Sequence[Any]], Awaitable[list[Row]]]


class PgRows:
    """Each statement sees the newest state and holds no snapshot."""

    along = ""

    def __init__(self, fetch: Fetch, place: str) -> None:
        self._fetch = fetch
        self._place = place

    @property
    def place(self) -> str:
        return self._place

    def same(self, column: str, parameter: str) -> str:
        return f"md5({column}) = md5({parameter}) AND {column} = {parameter}"

    async def all(self, statement: str, *bindings: object, brief: bool = False) -> list[Row]:  # noqa: ARG002 - never does
        # What is asked for may hold what no text of the database can: it is looked for as it would have been kept.
        return await self._fetch(statement, [clean(it) if isinstance(it, str) else it for it in bindings])
