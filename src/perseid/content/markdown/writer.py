"""Our own Markdown writer over the Tree seam: slower than the first backend's, and for any backend.

It reads the tree and never changes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.content.escape import escaped_starts
from perseid.content.markdown.code import GUTTER, GUTTER_CLASSES, language_of, named_language
from perseid.content.markdown.inline import BLOCKS, BREAK, SKIPPED, Inline, title_of
from perseid.content.markdown.inline import destination as target
from perseid.content.markdown.writer_table import Tables
from perseid.dom.tree import OTHER, TEXT
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.dom.tree import Node, Tree

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_BLOCK_CSS = ", ".join(sorted(BLOCKS - {"html", "body", "noscript"}))
_IN_LINK_CSS = "h1, h2, h3, h4, h5, h6, pre, table"
_FENCES = later(r"^\s*(`{3,})", re.MULTILINE)
_BREAKS = later(f"(?: *{BREAK} *)+")
_DEEPEST = 100


class Writer:
    """Renders parts of one tree as blocks of markdown."""

    def __init__(self, tree: Tree, resolve: Callable[[str], str | None]) -> None:
        self.tree = tree
        self.inline = Inline(tree, resolve)
        self.tables = Tables(tree, self)

    def render(self, node: Node) -> str:
        return "\n\n".join(self.block(node, self.tree.tag(node), 0))

    def flow(self, nodes: list[Node], depth: int) -> list[str]:
        """The blocks that sibling nodes make; inline ones in a row are one paragraph."""
        tree = self.tree
        out: list[str] = []
        run: list[Node] = []
        previous_list = ""
        for node in nodes:
            tag = tree.tag(node)
            if tag == OTHER or tag in SKIPPED:
                continue
            if tag in BLOCKS or (tag != TEXT and self._holds_blocks(node, tag)):
                self._flush(run, out)
                made = self.block(node, tag, depth + 1)
                if tag in _LISTS and made and previous_list == tag and out:
                    made[0] = _other_marker(made[0])
                out += made
                previous_list = tag if tag in _LISTS and made else ("" if made else previous_list)
            elif tag != TEXT or tree.data(node).strip() or run:
                run.append(node)
                previous_list = ""
        self._flush(run, out)
        return out

    def _flush(self, run: list[Node], out: list[str]) -> None:
        if run:
            paragraph = self.paragraph(run)
            if paragraph:
                out.append(paragraph)
            run.clear()

    def paragraph(self, nodes: list[Node]) -> str:
        text = self.inline.run(nodes).strip(f" {BREAK}")
        return escaped_starts(_BREAKS.sub(_break, text))

    def _holds_blocks(self, node: Node, tag: str) -> bool:
        if tag in {"br", "img", "code", "input"}:
            return False
        return self.tree.first(_IN_LINK_CSS if tag == "a" else _BLOCK_CSS, node) is not None

    def block(self, node: Node, tag: str, depth: int) -> list[str]:
        """The blocks that one block-level node makes."""
        tree = self.tree
        if depth > _DEEPEST:
            text = " ".join(tree.text(node).split())
            return [text] if text else []
        if tag in _HEADINGS:
            text = self.inline.run(tree.children(node)).replace(BREAK, " ")
            return [f"{_HEADINGS[tag]} {' '.join(text.split())}"] if text.strip() else []
        if tag in _LISTS:
            return self.list_block(node, tag, depth)
        special = self._special(node, tag, depth)
        return self.flow(tree.children(node), depth) if special is None else special

    def _special(self, node: Node, tag: str, depth: int) -> list[str] | None:
        """Blocks of elements that are more than a box round their content; None for boxes."""
        children = self.tree.children(node)
        out: list[str] | None = None
        if tag == "pre":
            out = self.code_block(node)
        elif tag == "table":
            out = self.tables.block(node, depth)
        elif tag == "blockquote":
            inner = "\n\n".join(self.flow(children, depth))
            out = ["\n".join(f"> {line}" if line else ">" for line in inner.split("\n"))] if inner else []
        elif tag == "hr":
            out = ["---"]
        elif tag == "a":
            out = self._linked(node, children, depth)
        elif tag == "noscript" and self.inline.repeats_image(node):
            out = []
        elif tag == "math" or self.inline.is_math(node, tag):
            tex = self.inline.tex(node)
            out = None if tex is None else [tex]
        return out

    def _linked(self, node: Node, children: list[Node], depth: int) -> list[str]:
        """A link round headings: each heading becomes a link, all else keeps its text."""
        blocks = self.flow(children, depth)
        href = self.tree.attr(node, "href")
        url = self.inline.resolve(href) if href else None
        if url is None:
            return blocks
        title = title_of(self.tree.attr(node, "title"))
        return [_link_heading(block, f"{target(url)}{title}") for block in blocks]

    def list_block(self, node: Node, tag: str, depth: int) -> list[str]:
        tree = self.tree
        items: list[list[str]] = []
        loose = False
        for child in tree.children(node):
            kind = tree.tag(child)
            if kind == "li":
                loose = loose or any(tree.tag(part) == "p" for part in tree.elements(child))
                items.append(self.flow(tree.children(child), depth))
            elif kind in _LISTS:
                nested = self.list_block(child, kind, depth + 1)
                if items:
                    items[-1] += nested
                else:
                    items.append(nested)
            elif kind != OTHER and kind not in SKIPPED and tree.text(child).strip():
                items.append(self.flow([child], depth))
        number = _start(tree.attr(node, "start")) if tag == "ol" else 0
        lines: list[str] = []
        for blocks in items:
            marker = f"{number}. " if tag == "ol" else "- "
            number += 1
            body = ("\n\n" if loose else "\n").join(blocks)
            indent = " " * len(marker)
            shifted = "\n".join(f"{indent}{line}" if line else "" for line in body.split("\n"))
            lines.append(f"{marker}{shifted[len(indent) :]}".rstrip())
        return [("\n\n" if loose else "\n").join(lines)] if lines else []

    def code_block(self, node: Node) -> list[str]:
        text = self.code_text(node).strip("\n")
        if not text.strip():
            return []
        longest = max((len(match[1]) for match in _FENCES.finditer(text)), default=2)
        fence = "`" * max(3, longest + 1)
        return [f"{fence}{self.code_language(node)}\n{text}\n{fence}"]

    def code_text(self, node: Node) -> str:
        """The code itself: no line numbers, no buttons, each block-level line on one of its own."""
        tree = self.tree
        skip = set(tree.select(GUTTER, node))
        out: list[str] = []
        stack = list(reversed(tree.children(node)))
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                if out and not out[-1].endswith("\n"):
                    out.append(item)
                continue
            if item in skip:
                continue
            tag = tree.tag(item)
            if tag == TEXT:
                out.append(tree.data(item))
            elif tag == "br":
                out.append("\n")
            elif tag != OTHER and tag not in SKIPPED:
                if tag in {"div", "li", "tr", "p"}:
                    stack.append("\n")
                stack += reversed(tree.children(item))
        return "".join(out)

    def code_language(self, node: Node) -> str:
        tree = self.tree
        code = tree.first("code", node)
        inner = [node] if code is None else [code, node]
        named = language_of(*((tree.attr(element, "class") or "") for element in inner))
        for element in inner:
            for name in ("data-lang", "data-language", "lang"):
                named = named or named_language(tree.attr(element, name))
        up = tree.parent(node)
        for _ in range(3):
            if named or up is None or tree.tag(up) not in {"div", "figure", "td", "span", "section"}:
                break
            named = language_of(tree.attr(up, "class") or "") or named_language(tree.attr(up, "data-lang"))
            up = tree.parent(up)
        return named

    def is_gutter(self, cell: Node) -> bool:
        return not GUTTER_CLASSES.isdisjoint((self.tree.attr(cell, "class") or "").split())


def _break(match: re.Match[str]) -> str:
    """One break is a hard line break, several are a paragraph's end."""
    return "  \n" if match[0].count(BREAK) == 1 else "\n\n"


def _start(value: str | None) -> int:
    digits = (value or "").strip()
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 1


def _other_marker(block: str) -> str:
    """The same list with its other marker, so that it doesn't run on from the list before it."""
    if block.startswith("- "):
        return re.sub(r"^- ", "* ", block, flags=re.MULTILINE)
    return re.sub(r"^(\d+)\. ", r"\1) ", block, flags=re.MULTILINE)


def _link_heading(block: str, inside: str) -> str:
    match = re.match(r"(#{1,6} )([^\n]*)$", block)
    return f"{match[1]}[{match[2]}]({inside})" if match is not None and "](" not in match[2] else block
