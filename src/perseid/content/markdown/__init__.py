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

_FENCE_PREFIX = re.compile(r"[ >]*(?:(?:[-*+]|\d+[.)]) +)*")
_INVISIBLE = ("\xad", "\u200b", "\u2060", "\ufeff")
"""Soft hyphens and zero-width characters: they break words for search and say nothing in text."""
_BLANK_ENTITY = "&#160;"
_EMPTY_HEADING = re.compile(r"^[ >]*#{1,6}[ \t]*$", re.MULTILINE)


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
    """No invisible characters and, outside of code, no blanks written as entities and no empty headings."""
    if not text.isascii():
        for char in _INVISIBLE:
            if char in text:
                text = text.replace(char, "")
    if _BLANK_ENTITY in text or "\n\n\n" in text or "#\n" in text or "# \n" in text or text.endswith("#"):
        text = outside_code(text, _tidied)
    return text.strip("\n")


def _tidied(prose: str) -> str:
    if _BLANK_ENTITY in prose:
        prose = _without_entities(prose)
    if "#\n" in prose or "# \n" in prose or prose.endswith("#"):
        prose = _EMPTY_HEADING.sub("", prose)
    while "\n\n\n" in prose:
        prose = prose.replace("\n\n\n", "\n\n")
    return prose


def _without_entities(prose: str) -> str:
    """Blanks that may not break, as the character; gone at the edges of lines and cells."""
    prose = f"\n{prose}\n"
    for edge in (f"\n{_BLANK_ENTITY}", f"{_BLANK_ENTITY}\n", f"# {_BLANK_ENTITY}", f"- {_BLANK_ENTITY}"):
        while edge in prose:
            prose = prose.replace(edge, edge.replace(_BLANK_ENTITY, ""))
    return prose[1:-1].replace(_BLANK_ENTITY, "\xa0")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to each stretch that is in no fence; writers fence with back-ticks only."""
    out = []
    start = fence = 0
    at = text.find("```")
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        rest = text[at:end]
        info = rest.lstrip("`")
        size = len(rest) - len(info)
        prefix = _FENCE_PREFIX.match(text, line, at)
        if prefix is not None and prefix.end() == at:
            if not fence and "`" not in info:
                fence = size
                out.append(change(text[start:line]))
                start = line
            elif fence and size >= fence and not info.strip():
                fence = 0
                out.append(text[start:end])
                start = end
        at = text.find("```", end)
    out.append(text[start:] if fence else change(text[start:]))
    return "".join(out)
