"""A rule file as a tree of values that know where they stand, so that each complaint names its line and column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column, counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Scalar:
    value: str | int | float | bool | None
    place: Place
    text: str = ""
    """As it was written, without quotes; for numbers and the like that were meant as text."""


@dataclass(slots=True)
class Listing:
    members: list[Branch]
    place: Place


@dataclass(slots=True)
class Mapping:
    members: dict[str, Branch]
    place: Place
    keys: dict[str, Place] = field(default_factory=dict)
    """Where each key stands."""


Branch: TypeAlias = Scalar | Listing | Mapping

Path: TypeAlias = tuple[str | int, ...]


def plain(branch: Branch) -> Any:
    """The values alone, as JSON has them."""
    match branch:
        case Scalar():
            return branch.value
        case Listing():
            return [plain(member) for member in branch.members]
        case Mapping():
            return {name: plain(member) for name, member in branch.members.items()}


def shown(path: Path) -> str:
    """`fields.price.from[0].css`; the whole document is `(document)`."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out or "(document)"


def kind_of(branch: Branch) -> str:
    """What a branch is, for messages."""
    match branch:
        case Mapping():
            return "a mapping"
        case Listing():
            return "a list"
        case Scalar(value=None):
            return "nothing (null)"
        case Scalar(value=bool()):
            return "true or false"
        case Scalar(value=int() | float()):
            return f"the number {branch.value}"
        case Scalar():
            return "a text"
