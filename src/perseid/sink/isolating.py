"""One item that a target refuses must hold up no other: it is found by halves, and written with less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from perseid.ports.sink import SinkFailure
from perseid.sink.rows import Row

_PATIENCE = 8
"""Tries of a single item, after which it is left out: no other tells whether it is the item or the target."""


class Refused(Exception):
    """The target refuses these rows for what they hold; its words are the message."""


Write: TypeAlias = Callable[[Sequence[Row]], Awaitable[Sequence[str]]]
"""Writes rows; notes about values that were left out. Raises `Refused`."""


async def write_isolated(rows: Sequence[Row], write: Write, *, attempts: int, bare: bool = True) -> list[str]:
    """Write all rows but those that can't be written; notes about these.

    With `bare` an item that is refused is tried again with its fields set aside, then without them. Where all are
    refused it is not the items: raises `SinkFailure`.
    """
    notes: list[str] = []
    refused: list[str] = []
    waiting = [list(rows)]
    while waiting:
        some = waiting.pop()
        try:
            notes += await write(some)
        except Refused as error:
            if len(some) > 1:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
                continue
            note = await _bare(some[0], write, str(error)) if bare else None
            if note is None:
                refused.append(f"item {some[0].unique_key[:200]!r} of {some[0].site_id} is left out: {error}")
            else:
                notes.append(note)
    if len(refused) == len(rows) and (len(rows) > 1 or attempts < _PATIENCE):
        raise SinkFailure(f"every item is refused, so it is no item's fault: {refused[0]}", lasting=True)
    return [*dict.fromkeys(notes), *refused]


async def _bare(row: Row, write: Write, reason: str) -> str | None:
    for less in (row._replace(fields={}, aside=row.fields), row._replace(fields={}, aside={})):
        try:
            await write([less])
        except Refused:
            continue
        return f"item {row.unique_key[:200]!r} of {row.site_id} is written without columns for its fields: {reason}"
    return None
