"""The first backend: turbohtml, a C parser whose tree serves all steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbohtml import Element, Text
from turbohtml import parse as turbo_parse

from perseid.dom.node import OTHER, TEXT, UNMARKED, Flat, Node, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turbohtml import Document


class TurboTree(Tree):
    backend = "turbohtml"

    def __init__(self, html: str) -> None:
        self.native: Document = turbo_parse(html, positions=False, allow_declarative_shadow_roots=False)
        root = self.native.root
        if root is None:
            raise ValueError("turbohtml made no root element")
        self._root = root
        self._settle_templates()
        self._body: Element | None = None

    def _settle_templates(self) -> None:
        """Templates are inert: they go, save declarative shadow roots, whose content is on the page."""
        for node in self.native.select("template"):
            if node.attr("shadowrootmode") is not None:
                for fragment in list(node.children):
                    node.insert_before(*list(fragment.children))
            node.extract()

    @property
    def root(self) -> Node:
        return self._root

    @property
    def body(self) -> Node:
        if self._body is None:
            self._body = self._root.select_one("body") or self._root
        return self._body

    def select(self, css: str, within: Node | None = None) -> list[Node]:
        return (self.native if within is None else within).select(css)

    def first(self, css: str, within: Node | None = None) -> Node | None:
        return (self.native if within is None else within).select_one(css)

    def by_tag(self, tags: frozenset[str], within: Node | None = None) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in (self.native if within is None else within).iter_elements(tags):
            tag = node.tag
            if tag in found:
                found[tag].append(node)
            else:
                found[tag] = [node]
        return found

    def tag(self, node: Node) -> str:
        kind = type(node)
        if kind is Element:
            return node.tag.lower()  # type: ignore[no-any-return]  # opaque node
        return TEXT if kind is Text else OTHER

    def attr(self, node: Node, name: str) -> str | None:
        return node.attr(name) if type(node) is Element else None

    def values(self, nodes: Iterable[Node], name: str) -> list[str | None]:
        return [node.attr(name) for node in nodes]

    def attrs(self, node: Node) -> dict[str, str]:
        if type(node) is not Element:
            return {}
        return {
            name.lower(): " ".join(value) if isinstance(value, list) else value or ""
            for name, value in node.attrs.items()
        }

    def data(self, node: Node) -> str:
        return node.data if type(node) is Text else ""

    def text(self, node: Node) -> str:
        return node.text  # type: ignore[no-any-return]  # opaque node

    def parent(self, node: Node) -> Node | None:
        up = node.parent
        return up if type(up) is Element else None

    def children(self, node: Node) -> list[Node]:
        return list(node.children)

    def elements(self, node: Node) -> list[Node]:
        return [child for child in node.children if type(child) is Element]

    def walk(self, node: Node) -> Iterator[Node]:
        return node.descendants  # type: ignore[no-any-return]  # opaque node

    def outer_html(self, node: Node) -> str:
        return node.html  # type: ignore[no-any-return]  # opaque node

    def inner_html(self, node: Node) -> str:
        return node.inner_html  # type: ignore[no-any-return]  # opaque node

    def remove(self, node: Node) -> None:
        if node.parent is not None:
            node.extract()

    def unwrap(self, node: Node) -> None:
        if node.parent is not None:
            node.unwrap()

    def set_attr(self, node: Node, name: str, value: str | None) -> None:
        if value is not None:
            node.attrs[name] = value
        elif name in node.attrs:
            del node.attrs[name]

    def replace_with_text(self, node: Node, text: str) -> None:
        node.replace_with(Text(text))

    def break_before(self, node: Node) -> None:
        node.insert_before(Element("br"))

    def flatten(self, node: Node | None = None) -> Flat:
        start = self.body if node is None else node
        items = [start, *start.descendants]
        nodes = [item for item in items if type(item) is Element]
        tags = [item.tag for item in nodes]
        index: dict[Node, int] = dict(zip(nodes, range(len(nodes)), strict=True))
        where = index.get
        flat = Flat()
        flat.nodes, flat.tags = nodes, tags
        flat.parents = [where(item.parent, -1) for item in nodes]
        flat.parents[0] = -1
        flat.marks = [
            "" if tag in UNMARKED else _mark(item.attr("class"), item.attr("id"))
            for tag, item in zip(tags, nodes, strict=True)
        ]
        for item in start.select("[role]"):
            flat.marks[index[item]] += f" {item.attr('role').lower()}"
        for item in items:
            if type(item) is Text:
                run = item.data.strip()
                if run:
                    flat.run_at.append(index[item.parent])
                    flat.run_text.append(run)
        flat.close()
        return flat


def _mark(classes: str | None, name: str | None) -> str:
    if classes:
        return f"{classes} {name}".lower() if name else classes.lower()
    return name.lower() if name else ""
