"""GitHub-flavoured Markdown of parts of a page: the door, and what both writers' output still needs."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from perseid.content.fences import outside_code, split
from perseid.content.inked import CONTROLS, Inked, holds, inked
from perseid.content.markdown import turbo
from perseid.content.markdown.plain import plain_text
from perseid.content.markdown.writer import Writer
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perseid.dom.tree import Node, Tree

_INVISIBLE = ("\xad", "\u200b", "\u2060", "\ufeff")
"""Soft hyphens and zero-width characters: they break words for search and say nothing in text."""
_ENTITY = later(r"&#(\d{2,5});")
"""The first writer's way to keep white space at the edge of a line; what stood in the page is escaped."""
_ENTITIES = later(r"(?<!\\)&#\d{2,5};(?: *&#\d{2,5};)*")
_EDGES = frozenset({"# ", "- ", "| ", "> "})
_BREAKS = re.compile(r" *\n([ >]*)\\(?:\n[ >]*\\)*(?=\n)")
_MARKER = r"(?:[-*+]|\d+[.)])"
_LATE_ITEM = later(
    # Not before rules and other empty items: markers alone on a line would be a rule themselves.
    rf"^([ >]*+)((?:{_MARKER} )*{_MARKER}) *+\n(?:[ >]*\n)*+\1 {{2,}}+(?=\S)(?!(?:---|{_MARKER} *)$)",
    re.MULTILINE,
)
_DEEPEST = 10
"""Passes in which markers that stand alone are joined with what follows; each halves how many are nested."""
_BARE_ITEM = later(rf"(?:^|\n)([ >]*)(?:{_MARKER} )+\n\Z")


def to_markdown(tree: Tree, nodes: Sequence[Node], resolve: Callable[[str], str | None]) -> str:
    """The text of `written`."""
    return written(tree, nodes, resolve).text


def written(tree: Tree, nodes: Sequence[Node], resolve: Callable[[str], str | None]) -> Inked:
    """The markdown of `nodes`, one after another; may change the tree below them.

    `resolve` gives the absolute address of a link or image as it stands in the page, None for those that
    lead nowhere (`javascript:`).
    """
    parts = []
    breaks = items = tree.backend != "turbohtml"
    for node in nodes:
        if tree.backend == "turbohtml":
            held = turbo.prepare(tree.native, node, resolve)
            breaks, items = breaks or held.breaks, items or held.items
            parts.append(turbo.render(node))
        else:
            parts.append(Writer(tree, resolve).render(node))
    text = parts[0] if len(parts) == 1 else "\n\n".join(part for part in parts if part)
    return _settled(text, breaks=breaks, items=items)


def to_text(tree: Tree, nodes: Sequence[Node]) -> str:
    """The plain text of `nodes`, blocks on lines of their own."""
    plain = turbo.plain if tree.backend == "turbohtml" else partial(plain_text, tree)
    return "\n\n".join(part for node in nodes if (part := plain(node))).strip("\n")


def _settled(text: str, *, breaks: bool, items: bool) -> Inked:
    """No invisible characters and, outside of code, no blanks written as entities and no empty headings.

    `breaks` and `items` say whether the page held any: what those leave behind need not be looked for elsewhere.
    """
    found = inked(text)
    encoded = found.encoded
    if found.has_controls:
        encoded = encoded.translate(None, CONTROLS)
        text = encoded.decode()
    # The bytes that end them in UTF-8 are found faster than they themselves.
    if b"\xad" in encoded or b"\x8b" in encoded or b"\xa0" in encoded or b"\xbf" in encoded:
        for char in _INVISIBLE:
            if char in text:
                text = text.replace(char, "")
    bare_items = items and b" \n" in encoded and (b"- \n" in encoded or b". \n" in encoded)
    marks = (breaks and holds(encoded, b"\\\n")) or holds(encoded, b"&#")
    if marks or bare_items or b"\n\n\n" in encoded:
        text = outside_code(text, _tidied if marks or bare_items else _without_gaps)
        if bare_items and "```" in text:
            text = _with_raised_fences(text)
    text = text.strip("\n")
    return found if text == found.text else inked(text)


def _tidied(prose: str) -> str:
    """What the first writer leaves untidy; each step only where its traces are."""
    if "&#" in prose:
        prose = _ENTITIES.sub(_as_characters, prose)
    if "\\\n" in prose:
        prose = _BREAKS.sub(r"\n\1", prose)  # two line breaks in a row are a paragraph's end
    for _ in range(_DEEPEST):
        if "- \n" not in prose and ". \n" not in prose:
            break
        joined = _LATE_ITEM.sub(r"\1\2 ", prose)  # a marker alone on its line may end a paragraph as a heading
        if joined == prose:
            break
        prose = joined
    return _without_gaps(prose)


def _without_gaps(prose: str) -> str:
    while "\n\n\n" in prose:
        prose = prose.replace("\n\n\n", "\n\n")
    return prose


def _with_raised_fences(text: str) -> str:
    """Fences that stand below the marker of their list item go beside it, like any first block of an item."""
    for _ in range(_DEEPEST):
        raised = _raised_once(text)
        if raised == text:
            break
        text = raised
    return text


def _raised_once(text: str) -> str:
    out: list[str] = []
    for part in split(text):
        item = _BARE_ITEM.search(out[-1]) if part.code and out else None
        if item is None:
            out.append(part.text)
        else:
            out[-1] = out[-1][:-1]
            out.append(part.text[len(item[1]) :].lstrip(" "))
    return "".join(out)


def _as_characters(match: re.Match[str]) -> str:
    """A run of white space that was written as entities; at the edge of a line or cell it goes."""
    text, start, end = match.string, match.start(), match.end()
    if start == 0 or end == len(text) or text[end] == "\n" or text[start - 1] == "\n":
        return ""
    if text[start - 2 : start] in _EDGES or text[end : end + 2] == " |":
        return ""
    return _ENTITY.sub(_character, match[0])


def _character(match: re.Match[str]) -> str:
    char = chr(int(match[1]))
    return " " if char in "\n\r\t" else char
