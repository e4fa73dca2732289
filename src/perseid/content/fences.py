"""Splits Markdown into prose and fenced code (CommonMark 4.5); fences of back-ticks only, as we write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREFIX = re.compile(r"[ >]*(?:(?:[-*+]|\d+[.)]) +)*")
_LINE = re.compile(r"```(`*)([^\n]*)")
"""A fence with the rest of its line; the literal stands first, for speed."""


class Blocks(NamedTuple):
    """Where the code of a document is."""

    spans: list[tuple[int, int]]
    """From the line of a fence to the end of the one that closes it, without its line break."""
    closed: bool = True
    """False where the last one is still open at the end."""


class Part(NamedTuple):
    """A stretch of prose, or one block of code with its fences; parts joined are the text again."""

    text: str
    code: bool = False
    closed: bool = True
    """False for code whose fence is still open at the end."""


def blocks(text: str) -> Blocks:
    """The blocks of code, in order; their cost is that of finding back-ticks."""
    spans: list[tuple[int, int]] = []
    start = fence = 0
    for found in _LINE.finditer(text):
        line = at = found.start()
        if at and text[at - 1] != "\n":
            line = text.rfind("\n", 0, at) + 1
            prefix = _PREFIX.match(text, line, at)
            if prefix is None or prefix.end() != at:
                continue
        more, info = found.groups()
        if not fence:
            if "`" not in info:
                fence, start = 3 + len(more), line
        elif 3 + len(more) >= fence and not info.strip():
            fence = 0
            spans.append((start, found.end()))
    if fence:
        spans.append((start, len(text)))
    return Blocks(spans, closed=not fence)


def prose_between(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """The stretches of `text` outside of `spans`, in order, where there is anything."""
    out = []
    at = 0
    for start, end in spans:
        if start > at:
            out.append(text[at:start])
        at = end
    if at < len(text):
        out.append(text[at:])
    return out


def split(text: str) -> Iterator[Part]:
    """The parts of a document, in order."""
    spans, closed = blocks(text)
    at = 0
    for start, end in spans:
        if start > at:
            yield Part(text[at:start])
        yield Part(text[start:end], code=True, closed=closed or end < len(text))
        at = end
    if at < len(text):
        yield Part(text[at:])


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to each stretch that is in no fence."""
    if "```" not in text:
        return change(text)
    return "".join(part.text if part.code else change(part.text) for part in split(text))
