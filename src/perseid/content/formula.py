"""Formulas that MathJax 2 keeps in scripts, saved before scripts go (`x-tex` elements, which writers know)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.dom.tree import Node, Tree

_OPENING = later(r"<script\b([^<>]{0,500})>", re.IGNORECASE)
_CLOSING = later(r"</script\s*>", re.IGNORECASE)
_RENDERED = ".MathJax_Preview, .MathJax, .MathJax_Display, .MathJax_SVG, .MathJax_CHTML"


def occurs(tree: Tree, scripts: Iterable[Node]) -> bool:
    """Whether one of these script elements holds a formula."""
    return any(kind is not None and "math/tex" in kind.lower() for kind in tree.values(scripts, "type"))


def keep_scripts(text: str) -> str:
    """The page with `<script type="math/tex">` as elements that are content."""
    from html import escape  # noqa: PLC0415  start-up time, and few pages hold formulas so

    out = []
    at = 0
    while True:
        opening = _OPENING.search(text, at)
        closing = _CLOSING.search(text, opening.end()) if opening is not None else None
        if opening is None or closing is None:
            break
        if "math/tex" in opening[1].lower():
            mode = " mode=display" if "display" in opening[1].lower() else ""
            tex = escape(text[opening.end() : closing.start()].strip(), quote=False)
            out += [text[at : opening.start()], f"<x-tex{mode}>{tex}</x-tex>"]
        else:
            out.append(text[at : closing.end()])
        at = closing.end()
    out.append(text[at:])
    return "".join(out)


def drop_renderings(tree: Tree) -> None:
    """Take out what MathJax drew beside its sources, on a page that holds these."""
    for node in tree.select(_RENDERED):
        tree.remove(node)
