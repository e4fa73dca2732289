"""Text that must not read as Markdown: its significant characters escaped, as sparingly as GFM allows."""

from __future__ import annotations

import re

from perseid.pattern import later

_BLANK = later(r"[ \t\n\r\f]+")
_SPECIAL = later(r"[*_`\[\]~]|\\(?=[!-/:-@\[-`{-~])|<(?=[A-Za-z/!?])|&(?=#?\w{1,31};)")
_LINE_START = later(
    r"^(?:(#{1,6}|[-+*])(?=\s|$)|(\d{1,9})([.)])(?=\s|$)|(>)|(-{3,}|_{3,}|={3,})(?=\s*$))", re.MULTILINE
)


def escaped(text: str) -> str:
    """Text with its markdown-significant characters escaped and white space collapsed."""
    return _SPECIAL.sub(r"\\\g<0>", _BLANK.sub(" ", text))


def escaped_starts(text: str) -> str:
    """A paragraph none of whose lines begins a heading, a list, a quote or a rule (CommonMark 4 and 5)."""

    def escape(match: re.Match[str]) -> str:
        return f"{match[2]}\\{match[3]}" if match[2] else f"\\{match[0]}"

    return _LINE_START.sub(escape, text) if text else text
