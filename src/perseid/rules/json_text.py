"""JSON as a tree that knows its places: RFC 8259, and nothing else."""

from __future__ import annotations

import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the standard library's own, and not in its stubs
from typing import TYPE_CHECKING

from perseid.pattern import later
from perseid.rules.tree import Branch, Listing, Mapping, Place, Scalar

if TYPE_CHECKING:
    from perseid.rules.complaint import Complaints

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = later(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = (("true", True), ("false", False), ("null", None))
MAX_DEPTH = 60


class _Fault(Exception):
    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def read_json(text: str, complaints: Complaints) -> Branch | None:
    """The tree; None after a complaint about the first fault of syntax."""
    reader = _Reader(text, complaints)
    try:
        return reader.document()
    except _Fault as fault:
        complaints.error((), reader.place(fault.at), f"this is no JSON: {fault}")
        return None


class _Reader:
    def __init__(self, text: str, complaints: Complaints) -> None:
        self._text = text
        self._complaints = complaints
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, at: int) -> Place:
        from bisect import bisect_right  # noqa: PLC0415  start-up time

        line = bisect_right(self._starts, at)
        return Place(line, at - self._starts[line - 1] + 1)

    def document(self) -> Branch:
        branch, at = self.value(self.skip(0), 0)
        at = self.skip(at)
        if at < len(self._text):
            raise _Fault(at, f"the document ends before {self._text[at : at + 20]!r}; take that away")
        return branch

    def skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> tuple[Branch, int]:
        if depth > MAX_DEPTH:
            raise _Fault(at, f"it nests deeper than {MAX_DEPTH} levels")
        char = self._text[at : at + 1]
        if char == "{":
            return self._mapping(at, depth)
        if char == "[":
            return self._listing(at, depth)
        if char == '"':
            found, end = self._string(at)
            return Scalar(found, self.place(at), found), end
        return self._word(at)

    def _word(self, at: int) -> tuple[Branch, int]:
        for word, meant in _WORDS:
            if self._text.startswith(word, at):
                return Scalar(meant, self.place(at), word), at + len(word)
        number = _NUMBER.match(self._text, at)
        if number is None:
            raise _Fault(at, f"a value is wanted here, not {self._text[at : at + 20]!r}")
        written = number[0]
        whole = number[1] is None and number[2] is None and len(written) < 300
        return Scalar(int(written) if whole else float(written), self.place(at), written), number.end()

    def _string(self, at: int) -> tuple[str, int]:
        try:
            found: tuple[str, int] = scanstring(self._text, at + 1, True)
        except JSONDecodeError as error:
            raise _Fault(error.pos, f"{error.msg[:1].lower()}{error.msg[1:]}") from None
        return found

    def _listing(self, at: int, depth: int) -> tuple[Branch, int]:
        out = Listing([], self.place(at))
        at = self.skip(at + 1)
        if self._text.startswith("]", at):
            return out, at + 1
        while True:
            member, at = self.value(at, depth + 1)
            out.members.append(member)
            at = self.skip(at)
            if self._text.startswith("]", at):
                return out, at + 1
            at = self._comma(at, "]")

    def _mapping(self, at: int, depth: int) -> tuple[Branch, int]:
        out = Mapping({}, self.place(at))
        at = self.skip(at + 1)
        if self._text.startswith("}", at):
            return out, at + 1
        while True:
            if not self._text.startswith('"', at):
                raise _Fault(at, "a name in double quotes is wanted here")
            begun = at
            name, at = self._string(at)
            at = self.skip(at)
            if not self._text.startswith(":", at):
                raise _Fault(at, f"a colon is wanted after {name!r}")
            member, at = self.value(self.skip(at + 1), depth + 1)
            if name in out.members:
                self._complaints.error((name,), self.place(begun), f"{name!r} stands here twice; keep one of the two")
            out.members[name] = member
            out.keys[name] = self.place(begun)
            at = self.skip(at)
            if self._text.startswith("}", at):
                return out, at + 1
            at = self._comma(at, "}")

    def _comma(self, at: int, end: str) -> int:
        if not self._text.startswith(",", at):
            raise _Fault(at, f"a comma or {end!r} is wanted here")
        following = self.skip(at + 1)
        if self._text.startswith(end, following):
            raise _Fault(at, f"take away the comma before {end!r}")
        return following
