"""A text together with what several looks at it need: its UTF-8, and what kind each byte of that is."""

from __future__ import annotations

from typing import AnyStr, NamedTuple
from zlib import adler32

CONTROLS = bytes([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
CONTROL = 2
_KINDS = bytes(CONTROL if code in CONTROLS else code > 127 or chr(code).isalnum() for code in range(256))
"""1 for the bytes of letters and digits in UTF-8, 2 for control characters, 0 for all others."""


_RARE = 20
"""Times that the first character of what is looked for may lead nowhere before all of it is searched at once."""


class Inked(NamedTuple):
    """A finished text as it will be stored and as it is judged."""

    text: str
    encoded: bytes
    kinds: bytes
    """One for each byte of `encoded`."""
    lone: bool = False
    """Whether the text holds lone surrogates, which have no bytes: question marks stand for them."""

    @property
    def has_controls(self) -> bool:
        return CONTROL in self.kinds


def inked(text: str) -> Inked:
    """`text` with its bytes."""
    lone = False
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        encoded = text.encode("utf-8", "replace")
        lone = True
    return Inked(text, encoded, encoded.translate(_KINDS), lone)


def holds(text: AnyStr, wanted: AnyStr) -> bool:
    """`wanted in text`, at the cost of finding its first character where that is rare.

    A single one is found at the speed of memory, several at a twentieth of that.
    """
    first = wanted[:1]
    at = text.find(first)
    for _ in range(_RARE):
        if at < 0 or text.startswith(wanted, at):
            return at >= 0
        at = text.find(first, at + 1)
    return at >= 0 and text.find(wanted, at) >= 0


def letters(encoded: bytes) -> int:
    """How many bytes of some UTF-8 are of letters and digits."""
    return counted(encoded.translate(_KINDS))


def counted(kinds: bytes) -> int:
    """How many bytes are of letters and digits, given the kinds of all."""
    if CONTROL in kinds:
        kinds = kinds.replace(bytes([CONTROL]), b"")
    # The lower half of Adler-32 is the sum of all bytes modulo 65521: a count in C, twice as fast as deleting.
    return sum(adler32(kinds[at : at + 65520], 0) & 0xFFFF for at in range(0, len(kinds), 65520))
