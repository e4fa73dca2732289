"""Queries on databases that the operator has named."""

from __future__ import annotations

from typing import Any

import msgspec

from perseid.errors import SourceFailed
from perseid.model.seed import SqlSource
from perseid.ports.source import Query, Rows
from perseid.seeds.addresses import Gathering
from perseid.seeds.expansion import MAX_URLS, Asks, Stepped
from perseid.seeds.template import BadTemplate, filled


class State(msgspec.Struct, array_like=True):
    """Rows read so far, and the key of the last."""

    offset: int = 0
    after: int | str | None = None


async def step(said: SqlSource, cursor: bytes | None, asks: Asks) -> Stepped:
    """One query for one row more than is wanted: whether there are more, and whether keys are unique."""
    state = State() if cursor is None else msgspec.json.decode(cursor, type=State)
    query = Query(said.connection, said.query, said.key, state.after, state.offset, MAX_URLS + 1)
    found = await asks.rows(query)
    more = len(found.rows) > MAX_URLS
    rows = found.rows[:MAX_URLS]
    gathering = Gathering()
    for number, row in enumerate(rows, state.offset + 1):
        gathering.take(_address(said, found.columns, row), f"row {number}")
    going_on = State(state.offset + len(rows), _last_key(said.key, found, len(rows)) if more else None)
    return Stepped(
        urls=tuple(gathering.urls),
        cursor=msgspec.json.encode(going_on) if more else None,
        skipped=gathering.skipped,
        notes=gathering.notes,
    )


def _address(said: SqlSource, columns: tuple[str, ...], row: tuple[Any, ...]) -> str | None:
    if said.template is None:
        return None if row[0] is None else _text(row[0])
    try:
        return filled(said.template, {name: _text(value) for name, value in zip(columns, row, strict=True)})
    except BadTemplate as error:
        raise SourceFailed(f"the template {said.template!r}: {error}") from None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)


def _last_key(key: str | None, found: Rows, n: int) -> int | str | None:
    """Of the n-th row. Raises SourceFailed where keys can't tell rows apart."""
    if key is None:
        return None
    names = [name.lower() for name in found.columns]
    if key.lower() not in names:
        raise SourceFailed(f"the query has no column {key!r}; its columns are {', '.join(found.columns)}")
    at = names.index(key.lower())
    last, following = found.rows[n - 1][at], found.rows[n][at]
    if isinstance(last, bool) or not isinstance(last, int | str):
        raise SourceFailed(f"the key {key!r} must be a whole number or a text, not {last!r}")
    if last == following:
        raise SourceFailed(f"the key {key!r} is not unique: {last!r} is there twice")
    return last
