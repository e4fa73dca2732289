"""Splits Markdown into prose and fenced code (CommonMark 4.5); fences of back-ticks only, as we write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREFIX = re.compile(r"[ >]*(?:(?:[-*+]|\d+[.)]) +)*")


class Part(NamedTuple):
    """A stretch of prose, or one block of code with its fences; parts joined are the text again."""

    text: str
    code: bool = False
    closed: bool = True
    """False for code whose fence is still open at the end."""


def split(text: str) -> Iterator[Part]:
    """The parts of a document, in order; its cost is that of finding back-ticks."""
    start = fence = 0
    at = text.find("```")
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        rest = text[at:end]
        info = rest.lstrip("`")
        size = len(rest) - len(info)
        if line == at or ((prefix := _PREFIX.match(text, line, at)) is not None and prefix.end() == at):
            if not fence and "`" not in info:
                fence = size
                if line > start:
                    yield Part(text[start:line])
                start = line
            elif fence and size >= fence and not info.strip():
                fence = 0
                yield Part(text[start:end], code=True)
                start = end
        at = text.find("```", end)
    if start < len(text):
        yield Part(text[start:], code=bool(fence), closed=not fence)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to each stretch that is in no fence."""
    if "```" not in text:
        return change(text)
    return "".join(part.text if part.code else change(part.text) for part in split(text))
