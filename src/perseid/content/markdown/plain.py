"""Plain text over the Tree seam: blocks on lines of their own, nothing marked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.markdown.inline import BLOCKS, SKIPPED
from perseid.dom.tree import OTHER, TEXT
from perseid.pattern import later

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

_BLANK = later(r"[ \t\n\r\f]+")
_APART = frozenset({"td", "th"})


def plain_text(tree: Tree, node: Node) -> str:
    """The text below `node` as a reader sees it; white space is kept in `pre` only."""
    lines: list[str] = [""]
    stack: list[tuple[Node, bool]] = [(node, False)]
    while stack:
        item, verbatim = stack.pop()
        if isinstance(item, str):
            if lines[-1].strip():
                lines.append("")
            continue
        tag = tree.tag(item)
        if tag == TEXT:
            _add(lines, tree.data(item), verbatim=verbatim)
        elif tag == "br":
            lines.append("")
        elif tag in _APART:
            stack += [(child, verbatim) for child in reversed(tree.children(item))]
            lines[-1] += "  " if lines[-1] else ""
        elif tag != OTHER and tag not in SKIPPED:
            verbatim = verbatim or tag == "pre"
            block = tag in BLOCKS
            if block:
                stack.append(("\n", False))
            stack += [(child, verbatim) for child in reversed(tree.children(item))]
            if block and lines[-1].strip():
                lines.append("")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _add(lines: list[str], text: str, *, verbatim: bool) -> None:
    if verbatim:
        first, *rest = text.split("\n")
        lines[-1] += first
        lines += rest
    else:
        run = _BLANK.sub(" ", text)
        lines[-1] += run.lstrip() if not lines[-1] or lines[-1].endswith(" ") else run
