"""YAML as a tree that knows its places.

Plain words mean what YAML 1.2 says (`no` and `on` are texts), there are no tags that make objects, and what anchors
and merge keys unfold to is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perseid.errors import MissingExtra
from perseid.pattern import later
from perseid.rules.tree import Branch, Listing, Mapping, Place, Scalar

if TYPE_CHECKING:
    from perseid.rules.complaint import Complaints

MAX_NODES = 50_000
"""That a document may unfold to; a rule has some hundred."""
MAX_DEPTH = 60
_INTEGER = later(r"[-+]?[0-9]{1,300}\Z")
_FLOAT = later(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, bool | None] = {
    "null": None, "Null": None, "NULL": None, "~": None, "": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_TAGS = {"null", "bool", "int", "float", "str", "seq", "map", "merge", "timestamp", "value"}


class _Fault(Exception):
    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


def read_yaml(text: str, complaints: Complaints) -> Branch | None:
    """The tree; None after a complaint about the first fault of syntax. Raises MissingExtra without PyYAML."""
    try:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415  an optional extra, and slow to import
    except ImportError as error:
        raise MissingExtra("rules in YAML need PyYAML: pip install 'perseid[rules]'") from error
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        root = yaml.compose(text, Loader=loader)
        if root is not None:
            return _Grower(yaml, complaints).grow(root, 0)
        complaints.error((), Place(1, 1), "the file is empty")
    except _Fault as fault:
        complaints.error((), fault.place, str(fault))
    except yaml.reader.ReaderError as error:
        at = text[: error.position]
        place = Place(at.count("\n") + 1, len(at) - at.rfind("\n"))
        complaints.error((), place, f"this is no YAML: the character {error.character!r} is not allowed")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        said = ", ".join(part for part in (error.context, error.problem) if part)
        complaints.error((), place, f"this is no YAML: {said}")
    except RecursionError:
        complaints.error((), Place(1, 1), f"it nests deeper than {MAX_DEPTH} levels")
    return None


class _Grower:
    def __init__(self, yaml: Any, complaints: Complaints) -> None:
        self._yaml = yaml
        self._complaints = complaints
        self._left = MAX_NODES

    def grow(self, node: Any, depth: int) -> Branch:
        place = _place(node)
        self._left -= 1
        if self._left < 0:
            raise _Fault(place, f"the document unfolds to more than {MAX_NODES} values; use fewer anchors")
        if depth > MAX_DEPTH:
            raise _Fault(place, f"it nests deeper than {MAX_DEPTH} levels, or refers to itself")
        tag = node.tag.rpartition(":")[2] if node.tag.startswith("tag:yaml.org,2002:") else None
        if tag not in _TAGS:
            raise _Fault(place, f"the tag {node.tag!r} is not allowed; write a plain value")
        if isinstance(node, self._yaml.ScalarNode):
            return Scalar(_meant(node), place, node.value)
        if isinstance(node, self._yaml.SequenceNode):
            return Listing([self.grow(member, depth + 1) for member in node.value], place)
        return self._mapping(node, place, depth)

    def _mapping(self, node: Any, place: Place, depth: int) -> Mapping:
        out = Mapping({}, place)
        merged: list[Branch] = []
        for key, value in node.value:
            if not isinstance(key, self._yaml.ScalarNode):
                raise _Fault(_place(key), "a name must be a text, not a list or a mapping")
            if key.tag.endswith(":merge") and key.value == "<<":
                merged.append(self.grow(value, depth + 1))
                continue
            if key.value in out.members:
                self._complaints.error(
                    (key.value,), _place(key), f"{key.value!r} stands here twice; keep one of the two"
                )
            out.members[key.value] = self.grow(value, depth + 1)
            out.keys[key.value] = _place(key)
        for each in merged:
            for source in each.members if isinstance(each, Listing) else [each]:
                if not isinstance(source, Mapping):
                    raise _Fault(source.place, "only mappings can be merged by <<")
                for name, member in source.members.items():
                    if name not in out.members:
                        out.members[name] = member
                        out.keys[name] = source.keys[name]
        return out


def _place(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _meant(node: Any) -> str | int | float | bool | None:
    """The value of a scalar by YAML 1.2's core schema; what is quoted is a text."""
    written: str = node.value
    if node.style in ("'", '"', "|", ">"):
        return written
    if written in _WORDS:
        return _WORDS[written]
    return _number(written)


def _number(written: str) -> str | int | float:
    if _INTEGER.match(written):
        return int(written)
    return float(written) if _FLOAT.match(written) else written
