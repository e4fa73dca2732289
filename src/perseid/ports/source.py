"""Where a seed's addresses may come from beside HTTP: databases and folders that the operator has named."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Query(NamedTuple):
    """A part of the rows of a SELECT.

    With `key`, a column of unique values, the rows come in its order and those behind `after` are wanted (None: from
    the first on); without, they come as the query orders them and the first `offset` are left out.
    """

    connection: str
    text: str
    key: str | None = None
    after: int | str | None = None
    offset: int = 0
    limit: int = 500


class Rows(NamedTuple):
    """Values are those of the driver: numbers, texts, bytes, instants, None."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Chunk(NamedTuple):
    """Bytes of a file from an offset on: fewer than wanted only at its end."""

    data: bytes
    size: int
    """Of the whole file."""
    identity: str
    """Another one where another file has taken its place; the same while it is only appended to."""


class Tables(Protocol):
    async def rows(self, query: Query) -> Rows:
        """Read in a transaction that can't write, under a time limit.

        Raises `SourceFailed`: no such connection, a query that the database refuses, a database that can't be reached
        (a retry helps), a query that takes too long.
        """
        ...

    async def close(self) -> None: ...


class Folders(Protocol):
    async def read(self, folder: str, file: str, *, offset: int, size: int) -> Chunk:
        """Raises `SourceFailed`: no such folder, no such file in it, or none that may be read."""
        ...
