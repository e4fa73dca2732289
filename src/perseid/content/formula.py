"""Formulas that MathJax 2 keeps in scripts, saved before scripts go (`x-tex` elements, which writers know)."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perseid.dom.tree import Tree

_SCRIPT = re.compile(
    r"<script\b([^>]{0,500}?\btype\s*=\s*[\"']?\s*math/tex\b[^>]{0,500})>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL
)
_RENDERED = ".MathJax_Preview, .MathJax, .MathJax_Display, .MathJax_SVG, .MathJax_CHTML"


def occurs(text: str) -> bool:
    return "math/tex" in text


def keep_scripts(text: str) -> str:
    """The page with `<script type="math/tex">` as elements that are content."""

    def element(match: re.Match[str]) -> str:
        mode = " mode=display" if "display" in match[1].lower() else ""
        return f"<x-tex{mode}>{html.escape(match[2].strip(), quote=False)}</x-tex>"

    return _SCRIPT.sub(element, text)


def drop_renderings(tree: Tree) -> None:
    """Take out what MathJax drew beside its sources."""
    if tree.first("x-tex") is not None:
        for node in tree.select(_RENDERED):
            tree.remove(node)
