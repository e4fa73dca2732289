"""CSV files in folders that the operator has named, read from a byte on."""

from __future__ import annotations

import msgspec

from perseid.errors import SourceFailed
from perseid.model.seed import CsvSource
from perseid.ports.source import Chunk
from perseid.seeds.addresses import Gathering
from perseid.seeds.expansion import MAX_URLS, Asks, Stepped
from perseid.seeds.sources.csv_text import first_line, opened, rows
from perseid.seeds.template import BadTemplate, filled

PART = 128 * 1024
"""Bytes of a file that a step looks at."""
MAX_ROW = 1024 * 1024
"""A quote that nobody closes must not swallow the file."""


class State(msgspec.Struct, array_like=True):
    """The byte and the line to go on from, which file it is, and what is known of it."""

    at: int = 0
    line: int = 1
    identity: str = ""
    encoding: str = ""
    columns: list[str] | None = None


async def step(said: CsvSource, cursor: bytes | None, asks: Asks) -> Stepped:
    """One part of the file."""
    state = State() if cursor is None else msgspec.json.decode(cursor, type=State)
    found = Gathering()
    chunk = await _read(said, state, asks, PART)
    if not state.encoding:
        mark, state.encoding = opened(chunk.data, said.encoding)
        state.at = mark
        chunk = chunk._replace(data=chunk.data[mark:])
    while True:
        last = state.at + len(chunk.data) >= chunk.size
        begun = state.at
        _take(said, state, chunk.data, found, last=last)
        if state.at > begun or last:
            break
        if len(chunk.data) >= MAX_ROW:
            _leave_out(said, state, chunk.data, found)
            break
        chunk = await _read(said, state, asks, 2 * len(chunk.data))
    done = state.at >= chunk.size
    return Stepped(
        urls=tuple(found.urls),
        cursor=None if done else msgspec.json.encode(state),
        skipped=found.skipped,
        notes=found.notes,
    )


async def _read(said: CsvSource, state: State, asks: Asks, size: int) -> Chunk:
    chunk = await asks.read(said.folder, said.file, offset=state.at, size=size)
    if state.identity and (chunk.identity != state.identity or chunk.size < state.at):
        raise SourceFailed(f"{said.file} was replaced while it was being read; run the seed again")
    state.identity = chunk.identity
    return chunk


def _take(said: CsvSource, state: State, data: bytes, found: Gathering, *, last: bool) -> None:
    """The addresses of whole rows in `data`, up to those of one step; the state moves behind them."""
    for row in rows(data, state.encoding, said.delimiter, last=last):
        where = f"line {state.line} of {said.file}"
        if row.wrong:
            found.skip(f"{where}: {row.wrong}")
        elif row.values:
            _row(said, state, row.values, where, found)
        state.at += row.size
        state.line += row.lines
        if len(found.urls) >= MAX_URLS:
            return


def _row(said: CsvSource, state: State, values: list[str], where: str, found: Gathering) -> None:
    if state.columns is None:
        state.columns = [name.strip() for name in values] if said.header else [str(n + 1) for n in range(len(values))]
        if said.column is not None and said.column not in state.columns:
            raise SourceFailed(f"{said.file} has no column {said.column!r}; its columns are {', '.join(state.columns)}")
        if said.header:
            return
    if said.template is None:
        at = state.columns.index(said.column) if said.column is not None else 0
        found.take(values[at] if at < len(values) else None, where)
        return
    try:
        found.take(filled(said.template, dict(zip(state.columns, values, strict=False))), where)
    except BadTemplate as error:
        raise SourceFailed(f"the template {said.template!r}: {error}") from None


def _leave_out(said: CsvSource, state: State, data: bytes, found: Gathering) -> None:
    """A row that does not end: its first line is left out."""
    found.skip(f"line {state.line} of {said.file}: a row of more than {MAX_ROW} bytes; is a quote left open?")
    state.at += first_line(data, state.encoding)
    state.line += 1
