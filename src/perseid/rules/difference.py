"""What changed between two versions of a rule, part by part, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perseid.rules.loading import dumped
from perseid.rules.tree import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.model.rule import Rule
    from perseid.rules.tree import Path

_LONGEST = 120


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One part that was added, removed or changed; `before` and `after` are JSON values, None where there is none."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        match self.kind:
            case "added":
                return f"+ {self.path}: {_short(self.after)}"
            case "removed":
                return f"- {self.path}: {_short(self.before)}"
            case "changed":
                return f"~ {self.path}: {_short(self.before)} → {_short(self.after)}"


def difference(before: Rule, after: Rule) -> list[Change]:
    """The changes, in the order of the newer version's parts; none where both mean the same."""
    return changes(dumped(before), dumped(after))


def changes(before: Any, after: Any) -> list[Change]:
    """The same for two JSON values."""
    return list(_between(before, after, ()))


def _between(before: Any, after: Any, path: Path) -> Iterator[Change]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*after, *(name for name in before if name not in after)]:
            yield from _member(before, after, name, path)
    elif isinstance(before, list) and isinstance(after, list) and _comparable(before, after):
        for at in range(max(len(before), len(after))):
            if at >= len(before):
                yield Change(path=shown((*path, at)), kind="added", after=after[at])
            elif at >= len(after):
                yield Change(path=shown((*path, at)), kind="removed", before=before[at])
            else:
                yield from _between(before[at], after[at], (*path, at))
    else:
        yield Change(path=shown(path), kind="changed", before=before, after=after)


def _member(before: dict[str, Any], after: dict[str, Any], name: str, path: Path) -> Iterator[Change]:
    if name not in before:
        yield Change(path=shown((*path, name)), kind="added", after=after[name])
    elif name not in after:
        yield Change(path=shown((*path, name)), kind="removed", before=before[name])
    else:
        yield from _between(before[name], after[name], (*path, name))


def _comparable(before: list[Any], after: list[Any]) -> bool:
    """Lists of mappings are compared member by member; of plain values, all of the list is one value."""
    return any(isinstance(each, dict) for each in [*before, *after])


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
