"""The second backend: selectolax over lexbor; it takes over when the first one fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from perseid.dom.node import OTHER, TEXT, UNMARKED, Flat, Node, Tree
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DEPTH = 2_000
"""Lexbor's tree construction is quadratic in depth, so deeper elements lose their tags, never their text."""

_TAG = later(r"<(/?)([a-zA-Z][^\s/>]{0,63})[^>]{0,2000}>")
_VOID = "area base br col embed hr img input link meta param source track wbr"
_UNCLOSED = "p li dt dd tr td th thead tbody tfoot option optgroup rp rt html head body script style"
_FLAT_TAGS = frozenset(f"{_VOID} {_UNCLOSED}".split())
"""Void elements, and those whose end tag may be missing: they can't nest in each other directly."""


class LexborTree(Tree):
    backend = "lexbor"

    def __init__(self, html: str) -> None:
        self.native = LexborHTMLParser(_bounded(html))
        root = self.native.root
        if root is None:
            raise ValueError("lexbor made no root element")
        self._root: LexborNode = root
        for node in self.native.css("template[shadowrootmode]"):
            for fragment in node.template_fragments():
                for child in list(fragment.iter(include_text=True)):
                    node.insert_before(child, move=True)
        for node in self.native.css("template"):
            node.decompose()
        self._attic: LexborNode = self.native.create_node("div")
        self._attic_id = self._attic.mem_id

    @property
    def root(self) -> Node:
        return self._root

    @property
    def body(self) -> Node:
        return self.native.body or self._root

    def select(self, css: str, within: Node | None = None) -> list[Node]:
        try:
            found = (self.native if within is None else within).css(css)
        except SelectolaxError as error:
            raise ValueError(f"invalid CSS selector {css!r}: {error}") from error
        if within is None:
            return found  # type: ignore[no-any-return]  # opaque nodes
        own = within.mem_id  # comparing nodes themselves renders their HTML
        return [node for node in found if node.mem_id != own]

    def by_tag(self, tags: frozenset[str], within: Node | None = None) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.select(", ".join(sorted(tags)), within):
            found.setdefault(self.tag(node), []).append(node)
        return found

    def first(self, css: str, within: Node | None = None) -> Node | None:
        if within is not None:
            return next(iter(self.select(css, within)), None)
        try:
            return self.native.css_first(css)
        except SelectolaxError as error:
            raise ValueError(f"invalid CSS selector {css!r}: {error}") from error

    def tag(self, node: Node) -> str:
        if node.is_element_node:
            return (node.tag or "").lower()
        return TEXT if node.is_text_node else OTHER

    def attr(self, node: Node, name: str) -> str | None:
        if not node.is_element_node:
            return None
        found = node.attrs.get(name, _ABSENT)
        return None if found is _ABSENT else found or ""

    def values(self, nodes: Iterable[Node], name: str) -> list[str | None]:
        attr = self.attr
        return [attr(node, name) for node in nodes]

    def attrs(self, node: Node) -> dict[str, str]:
        if not node.is_element_node:
            return {}
        return {name.lower(): value or "" for name, value in node.attributes.items()}

    def data(self, node: Node) -> str:
        return (node.text_content or "") if node.is_text_node else ""

    def text(self, node: Node) -> str:
        return (node.text_content or "") if node.is_text_node else (node.text_lexbor() or "")

    def parent(self, node: Node) -> Node | None:
        up = node.parent
        return up if up is not None and up.is_element_node and up.mem_id != self._attic_id else None

    def children(self, node: Node) -> list[Node]:
        out = []
        child = node.first_child
        while child is not None:
            out.append(child)
            child = child.next
        return out

    def elements(self, node: Node) -> list[Node]:
        return [child for child in node.iter() if child.is_element_node]

    def walk(self, node: Node) -> Iterator[Node]:
        walker = node.traverse(include_text=True)
        next(walker, None)
        return walker  # type: ignore[no-any-return]  # opaque node

    def outer_html(self, node: Node) -> str:
        return node.html or ""

    def inner_html(self, node: Node) -> str:
        return node.inner_html or ""

    def remove(self, node: Node) -> None:
        if self.parent(node) is not None:
            self._attic.insert_child(node, move=True)

    def unwrap(self, node: Node) -> None:
        if self.parent(node) is not None:
            for child in self.children(node):
                node.insert_before(child, move=True)
            self.remove(node)

    def set_attr(self, node: Node, name: str, value: str | None) -> None:
        if value is not None:
            node.attrs[name] = value
        elif name in node.attrs:
            del node.attrs[name]

    def replace_with_text(self, node: Node, text: str) -> None:
        node.insert_before(text)
        self.remove(node)

    def break_before(self, node: Node) -> None:
        node.insert_before(self.native.create_node("br"))

    def flatten(self, node: Node | None = None) -> Flat:
        flat = Flat()
        index: dict[int, int] = {}
        for item in (self.body if node is None else node).traverse(include_text=True):
            if item.is_element_node:
                tag = item.tag or ""
                index[item.mem_id] = len(flat.nodes)
                flat.nodes.append(item)
                flat.tags.append(tag)
                up = item.parent
                flat.parents.append(index.get(up.mem_id, -1) if up is not None else -1)
                flat.marks.append(_mark(item) if tag not in UNMARKED or "role" in item.attributes else "")
            elif item.is_text_node and (run := (item.text_content or "").strip()):
                flat.run_at.append(index[item.parent.mem_id])
                flat.run_text.append(run)
        flat.close()
        return flat


_ABSENT = "\0"


def _mark(node: LexborNode) -> str:
    attrs = node.attributes
    if not attrs:
        return ""
    mark = " ".join(value for name in ("class", "id") if (value := attrs.get(name)))
    role = attrs.get("role")
    return f"{mark} {role}".lower() if role else mark.lower()


def _bounded(html: str) -> str:
    """`html` without the tags of elements nested deeper than `_DEPTH`."""
    if html.count("<") <= _DEPTH:
        return html
    depth = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal depth
        if match[2].lower() in _FLAT_TAGS or match[0].endswith("/>"):
            return match[0]
        if match[1]:
            depth = max(0, depth - 1)
            return match[0] if depth < _DEPTH else ""
        depth += 1
        return match[0] if depth <= _DEPTH else ""

    return _TAG.sub(keep, html)
