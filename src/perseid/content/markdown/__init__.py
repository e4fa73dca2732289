"""GitHub-flavoured Markdown of parts of a page: the door, and what both writers' output still needs."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from perseid.content.markdown import turbo
from perseid.content.markdown.plain import plain_text
from perseid.content.markdown.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perseid.dom.tree import Node, Tree

_FENCE = re.compile(r"^[ >]*(?:(?:[-*+]|\d+[.)]) +)*(`{3,}|~{3,})")
_EMPTY_HEADING = re.compile(r"^[ >]*#{1,6}\s*$", re.MULTILINE)
_INVISIBLE = re.compile("[\xad\u200b\u2060\ufeff]+")
"""Soft hyphens and zero-width characters: they break words for search and say nothing in text."""
_EDGE_BLANKS = re.compile(r"^([ >]*(?:(?:[-*+]|\d+[.)]|#{1,6}) )?)(?:&#160;\s*)+")
_BLANKS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def to_markdown(tree: Tree, nodes: Sequence[Node], resolve: Callable[[str], str | None]) -> str:
    """The markdown of `nodes`, one after another; may change the tree below them.

    `resolve` gives the absolute address of a link or image as it stands in the page, None for those that
    lead nowhere (`javascript:`).
    """
    parts = []
    own = None if tree.backend == "turbohtml" else Writer(tree, resolve)
    for node in nodes:
        if own is None:
            turbo.prepare(node, resolve)
            parts.append(turbo.render(node))
        else:
            parts.append(own.render(node))
    text = parts[0] if len(parts) == 1 else "\n\n".join(part for part in parts if part)
    return _settled(text)


def to_text(tree: Tree, nodes: Sequence[Node]) -> str:
    """The plain text of `nodes`, blocks on lines of their own."""
    plain = turbo.plain if tree.backend == "turbohtml" else partial(plain_text, tree)
    return "\n\n".join(part for node in nodes if (part := plain(node))).strip("\n")


def _settled(text: str) -> str:
    """Outside of code: no invisible characters, no blanks written as entities, no empty headings."""
    if not text.isascii() and _INVISIBLE.search(text):
        text = outside_code(text, lambda line: line if line.isascii() else _INVISIBLE.sub("", line))
    if "&#160;" in text:
        text = outside_code(text, lambda line: _blank_edges(line) if "&#160;" in line else line)
    if _EMPTY_HEADING.search(text):
        text = outside_code(text, lambda line: "" if _EMPTY_HEADING.match(line) else line)
        text = _BLANKS.sub("\n\n", text)
    return text.strip("\n")


def _blank_edges(line: str) -> str:
    return _EDGE_BLANKS.sub(r"\1", line).replace("&#160;", "\xa0").rstrip()


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to each line that is in no fence."""
    out = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match is not None and match[1].startswith(fence) and line.strip(" >") == match[1]:
                fence = ""
            out.append(line)
        elif match is not None:
            fence = match[1]
            out.append(line)
        else:
            out.append(change(line))
    return "\n".join(out)
