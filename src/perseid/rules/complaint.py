"""What is wrong with a rule, where, and what would be right."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from perseid.errors import ConfigError
from perseid.rules.tree import Path, Place, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 12
"""Complaints that an error's text quotes; the rest are counted."""


class Complaint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault of a rule file; a `warning` doesn't keep the rule from being used. Line and column count from 1."""

    file: str
    line: int
    column: int
    path: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.path}: {self.message}"


class Invalid(ConfigError):
    """A file that can't be used; `complaints` holds all that is wrong with it, in the file's order."""

    code = "invalid_file"
    what = "file"

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        self.complaints = tuple(complaints)
        lines = [str(each) for each in self.complaints[:_SHOWN]]
        if len(self.complaints) > _SHOWN:
            lines.append(f"and {len(self.complaints) - _SHOWN} more")
        super().__init__(f"the {self.what} is not valid:\n" + "\n".join(lines))


class RuleInvalid(Invalid):
    """A rule file that can't be used."""

    code = "rule_invalid"
    what = "rule"


class Complaints:
    """Gathers complaints about one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Complaint] = []

    def error(self, path: Path, place: Place, message: str) -> None:
        self._add(path, place, message, "error")

    def warn(self, path: Path, place: Place, message: str) -> None:
        self._add(path, place, message, "warning")

    @property
    def fatal(self) -> bool:
        return any(each.severity == "error" for each in self.found)

    def forget(self, begun: int) -> None:
        """Drop, of the complaints from that one on, those about what was complained about before, or lies around it."""
        known = [each.path for each in self.found[:begun] if each.severity == "error"]
        later = [each for each in self.found[begun:] if not any(_related(each.path, path) for path in known)]
        self.found[begun:] = later

    def sorted(self) -> list[Complaint]:
        return sorted(self.found, key=lambda each: (each.line, each.column))

    def _add(self, path: Path, place: Place, message: str, severity: Literal["error", "warning"]) -> None:
        self.found.append(
            Complaint(
                file=self.file,
                line=place.line,
                column=place.column,
                path=shown(path),
                message=message,
                severity=severity,
            )
        )


def _related(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) : len(shorter) + 1] in ("", ".", "[")


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'title'?`, or nothing where no known word is close."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def listed(words: Iterable[object]) -> str:
    """`a, b or c`."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def clipped(value: object, longest: int = 80) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"
