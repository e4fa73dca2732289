"""Holds a tree against the types of `perseid.model.rule`: all faults at once, each with what is allowed."""

from __future__ import annotations

import operator
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from perseid.pattern import later
from perseid.rules.complaint import clipped, listed, nearest
from perseid.rules.tree import Branch, Listing, Mapping, Path, Scalar, kind_of, plain

if TYPE_CHECKING:
    from perseid.rules.complaint import Complaints

_DURATION = later(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|w)\s*\Z")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BAD = object()
"""Stands for what can't be used; a complaint was made."""


@lru_cache(maxsize=8)
def type_of(kind: type) -> inspect.Type:
    return inspect.type_info(kind)


def seconds_of(text: str) -> float | None:
    """`1.5h` as seconds; None where it is no duration."""
    found = _DURATION.match(text)
    return None if found is None else float(found[1]) * _UNITS[found[2]]


class Checker:
    """Walks a tree beside the types; what can't be used is left out of what it gives back, after a complaint."""

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints

    def value(self, kind: inspect.Type, branch: Branch, path: Path) -> Any:  # noqa: PLR0911  one way out a kind
        """The plain value of the branch, as JSON has it."""
        extra: dict[str, Any] = {}
        while isinstance(kind, inspect.Metadata):
            extra.update(kind.extra or {})
            kind = kind.type
        if extra.get("duration"):
            return self._duration(kind, branch, path)
        match kind:
            case inspect.AnyType():
                return plain(branch)
            case inspect.UnionType():
                return self._union(kind, branch, path)
            case inspect.StructType():
                return self._struct(kind, branch, path)
            case inspect.DictType():
                return self._dict(kind, branch, path)
            case inspect.VarTupleType():
                return self._list(kind, branch, path)
            case inspect.TupleType():
                return self._tuple(kind, branch, path)
            case _:
                return self._scalar(kind, branch, path)

    def _bad(self, branch: Branch, path: Path, message: str) -> Any:
        self._complaints.error(path, branch.place, message)
        return _BAD

    def _union(self, kind: inspect.UnionType, branch: Branch, path: Path) -> Any:
        if isinstance(branch, Scalar) and branch.value is None and kind.includes_none:
            return None
        kinds = [each for each in kind.types if not isinstance(_bare(each), inspect.NoneType)]
        if len(kinds) == 1:
            return self.value(kinds[0], branch, path)
        value = plain(branch)
        if any(_fits(_bare(each), value) for each in kinds):
            return value
        return self._bad(
            branch, path, f"{listed(_named(each) for each in kinds)} is wanted here, not {kind_of(branch)}"
        )

    def _struct(self, kind: inspect.StructType, branch: Branch, path: Path) -> Any:
        fields = {each.encode_name: each for each in kind.fields}
        if not isinstance(branch, Mapping):
            keys = ", ".join(fields)
            return self._bad(branch, path, f"a mapping is wanted here, not {kind_of(branch)}; its keys: {keys}")
        out: dict[str, Any] = {}
        meant: set[str] = set()
        for name, member in branch.members.items():
            known = fields.get(name)
            if known is None:
                place = branch.keys.get(name, member.place)
                hint = nearest(name, fields)
                meant.update(each for each in fields if repr(each) in hint)
                hint = hint or f" Allowed are {', '.join(fields)}."
                self._complaints.error((*path, name), place, f"there is no key {clipped(name)!r} here.{hint}")
            elif isinstance(member, Scalar) and member.value is None and not _takes_none(known.type):
                continue  # `key:` with nothing behind it says nothing
            else:
                value = self.value(known.type, member, (*path, name))
                if value is not _BAD:
                    out[name] = value
        for name, known in fields.items():
            if known.required and name not in branch.members and name not in meant:
                self._bad(branch, path, f"the key {name!r} is missing")
        return out

    def _dict(self, kind: inspect.DictType, branch: Branch, path: Path) -> Any:
        if not isinstance(branch, Mapping):
            return self._bad(branch, path, f"a mapping is wanted here, not {kind_of(branch)}")
        if (least := kind.min_length) and len(branch.members) < least:
            return self._bad(branch, path, f"at least {least} entry is wanted here")
        out = {}
        for name, member in branch.members.items():
            key = Scalar(name, branch.keys.get(name, member.place), name)
            if self.value(kind.key_type, key, (*path, name)) is not _BAD:
                value = self.value(kind.value_type, member, (*path, name))
                if value is not _BAD:
                    out[name] = value
        return out

    def _list(self, kind: inspect.VarTupleType, branch: Branch, path: Path) -> Any:
        if not isinstance(branch, Listing):
            return self._bad(branch, path, f"a list is wanted here, not {kind_of(branch)}")
        if (least := kind.min_length) and len(branch.members) < least:
            return self._bad(branch, path, f"at least {least} entry is wanted here")
        found = [self.value(kind.item_type, member, (*path, at)) for at, member in enumerate(branch.members)]
        return _BAD if _BAD in found else found

    def _tuple(self, kind: inspect.TupleType, branch: Branch, path: Path) -> Any:
        wanted = len(kind.item_types)
        if not isinstance(branch, Listing) or len(branch.members) != wanted:
            held = f"a list of {len(branch.members)}" if isinstance(branch, Listing) else kind_of(branch)
            return self._bad(branch, path, f"a list of {wanted} is wanted here, not {held}")
        pairs = zip(kind.item_types, branch.members, strict=True)
        found = [self.value(each, member, (*path, at)) for at, (each, member) in enumerate(pairs)]
        return _BAD if _BAD in found else found

    def _duration(self, kind: inspect.Type, branch: Branch, path: Path) -> Any:
        if isinstance(branch, Scalar) and isinstance(branch.value, str):
            found = seconds_of(branch.value)
            if found is not None:
                return self._scalar(kind, Scalar(found, branch.place, branch.text), path)
        if not isinstance(branch, Scalar) or isinstance(branch.value, bool | str | None):
            said = f"the text {clipped(branch.text)!r}" if isinstance(branch, Scalar) else kind_of(branch)
            return self._bad(branch, path, f"a duration is wanted here (10, 500ms, 10s, 5m, 2h, 7d), not {said}")
        return self._scalar(kind, branch, path)

    def _scalar(self, kind: inspect.Type, branch: Branch, path: Path) -> Any:  # noqa: PLR0911  one way out a kind
        if not isinstance(branch, Scalar):
            return self._bad(branch, path, f"{_named(kind)} is wanted here, not {kind_of(branch)}")
        value = branch.value
        if isinstance(kind, inspect.StrType):
            if isinstance(value, int | float) and not isinstance(value, bool):
                value = branch.text  # a text that looks like a number, such as a site that is named 365
            if isinstance(value, str):
                return self._bounded_text(kind, value, branch, path)
        if isinstance(kind, inspect.LiteralType):
            if value in kind.values and not isinstance(value, bool):
                return value
            said = clipped(branch.text)
            hint = nearest(said, [str(each) for each in kind.values])
            return self._bad(
                branch, path, f"{listed(kind.values)} is wanted here, not {said!r}.{hint}".removesuffix(".")
            )
        if isinstance(kind, inspect.BoolType) and isinstance(value, bool):
            return value
        if isinstance(kind, inspect.IntType | inspect.FloatType) and _is_number(kind, value):
            return self._bounded_number(kind, value, branch, path)
        return self._bad(branch, path, f"{_named(kind)} is wanted here, not {_quoted(branch)}")

    def _bounded_text(self, kind: inspect.StrType, value: str, branch: Branch, path: Path) -> Any:
        if kind.min_length and len(value) < kind.min_length:
            return self._bad(branch, path, "an empty text is not allowed here")
        if kind.max_length and len(value) > kind.max_length:
            return self._bad(branch, path, f"at most {kind.max_length} characters are allowed here, not {len(value)}")
        if kind.pattern and not re.search(kind.pattern, value):
            return self._bad(branch, path, f"{clipped(value)!r} is not allowed here; it must match {kind.pattern}")
        return value

    def _bounded_number(self, kind: inspect.IntType | inspect.FloatType, value: Any, branch: Branch, path: Path) -> Any:
        bounds = (
            (kind.gt, "more than", operator.gt),
            (kind.ge, "at least", operator.ge),
            (kind.lt, "less than", operator.lt),
            (kind.le, "at most", operator.le),
        )
        for limit, words, holds in bounds:
            if limit is not None and not holds(value, limit):
                return self._bad(branch, path, f"{words} {limit:g} is wanted here, not {value:g}")
        return value


def _bare(kind: inspect.Type) -> inspect.Type:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def _takes_none(kind: inspect.Type) -> bool:
    bare = _bare(kind)
    return isinstance(bare, inspect.AnyType) or (isinstance(bare, inspect.UnionType) and bare.includes_none)


def _is_number(kind: inspect.Type, value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(kind, inspect.FloatType) and isinstance(value, float))


def _fits(kind: inspect.Type, value: object) -> bool:
    match kind:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case _:
            return _is_number(kind, value)


_NAMES = {
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
}


def _named(kind: inspect.Type) -> str:
    bare = _bare(kind)
    if isinstance(bare, inspect.LiteralType):
        return listed(bare.values)
    return _NAMES.get(type(bare), "another value")


def _quoted(branch: Scalar) -> str:
    return f"the text {clipped(branch.value)!r}" if isinstance(branch.value, str) else kind_of(branch)
