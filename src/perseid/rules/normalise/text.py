"""Text as people read it: spaces collapsed, invisible marks dropped."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\x00-\x08\x0e-\x1f]"
)
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def one_line(text: str) -> str:
    """All white space as single spaces; soft hyphens and marks without width dropped."""
    return " ".join(_INVISIBLE.sub("", text).split())


def lines(text: str) -> str:
    """As `one_line`, with the line breaks kept; of several in a row, one."""
    return _LINES.sub("\n", _BLANKS.sub(" ", _INVISIBLE.sub("", text))).strip()


def western(text: str) -> str:
    """One line with digits of all scripts, and letters and signs of full width, as ASCII has them."""
    text = one_line(text)
    if text.isascii():
        return text
    out = []
    for char in text:
        if char.isascii():
            out.append(char)
            continue
        digit = unicodedata.decimal(char, None)
        if digit is not None:
            out.append(str(digit))
        elif "\uff01" <= char <= "\uff5e":
            out.append(chr(ord(char) - 0xFEE0))
        else:
            out.append(char)
    return "".join(out)
