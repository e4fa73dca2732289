"""Migrations that take away what older releases use must wait until none of those is at work.

Such a script begins with the line `-- contract: what it takes away`. All others only add, and older workers go on
beside newer ones while a fleet is upgraded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from perseid._version import __version__
from perseid.errors import StoreError

_MARK = "-- contract:"
OBSERVED_S = 6.0
"""How long beats are watched: three of them."""


class Working(NamedTuple):
    """A worker's row, as far as it matters here."""

    id: int
    host: str
    pid: int
    beat: int
    version: str


def contracts(scripts: Iterable[str]) -> bool:
    """Whether any of these may not be run beside an older release."""
    return any(script.startswith(_MARK) for script in scripts)


def older(rows: Sequence[Working]) -> dict[int, int]:
    """Beats of the workers of older releases."""
    ours = _number(__version__)
    return {row.id: row.beat for row in rows if _number(row.version) < ours}


def refuse_beside(before: Mapping[int, int], rows: Sequence[Working], place: str) -> None:
    """Raises `StoreError` where a worker of an older release showed life since `before`."""
    now = older(rows)
    alive = [row for row in rows if row.id in now and now[row.id] != before.get(row.id, -1)]
    if alive:
        first = alive[0]
        raise StoreError(
            f"{place} can't be brought up to date while {len(alive)} workers of an older release are at work"
            f" (the first is process {first.pid} on {first.host}, version {first.version or 'unknown'});"
            " let them drain, then try again"
        )


def _number(version: str) -> tuple[int, ...]:
    """What comes first of a version: its numbers. None at all is the oldest."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
