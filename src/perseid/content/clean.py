"""Which parts of a page are rendered: by the caller's selectors, and without what no reader sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from perseid.dom.tree import Node, Tree

_INERT = "script, style, template, link, meta, noframes"
_UNSEEN = "[hidden], [style*='display:none'], [style*='display: none']"
_ADDRESSES = (("a, area, link", "href"), ("img, source, iframe, video, audio, embed", "src"), ("video", "poster"))


class Chosen(NamedTuple):
    """Nodes in document order, none within another, and selectors that could not be read."""

    nodes: list[Node]
    invalid: list[str]


def exclude(tree: Tree, selectors: Iterable[str]) -> list[str]:
    """Take out what the selectors match; returns those that are no CSS."""
    invalid = []
    kept = {tree.root, tree.body}
    for selector in selectors:
        try:
            found = tree.select(selector)
        except ValueError:
            invalid.append(selector)
            continue
        for node in found:
            if node not in kept:
                tree.remove(node)
    return invalid


def include(tree: Tree, selectors: Iterable[str]) -> Chosen:
    """What the selectors match, each part of the page once."""
    invalid: list[str] = []
    good: list[str] = []
    for selector in selectors:
        try:
            tree.first(selector)
        except ValueError:
            invalid.append(selector)
        else:
            good.append(selector)
    matches = tree.select(", ".join(good)) if good else []
    chosen = set(matches)
    return Chosen([node for node in matches if not _within(tree, node, chosen)], invalid)


def _within(tree: Tree, node: Node, chosen: set[Node]) -> bool:
    up = tree.parent(node)
    while up is not None:
        if up in chosen:
            return True
        up = tree.parent(up)
    return False


def drop_unseen(tree: Tree, node: Node) -> None:
    """Take out hidden elements below `node`, save one that holds most of the text (shown by script later)."""
    hidden = tree.select(_UNSEEN, node)
    if not hidden:
        return
    whole = len(tree.text(node))
    for part in hidden:
        # hidden="until-found" is content behind a fold.
        if tree.attr(part, "hidden") != "until-found" and len(tree.text(part)) * 2 <= whole:
            tree.remove(part)


def cleaned_html(tree: Tree, nodes: Iterable[Node], resolve: Callable[[str], str | None]) -> str:
    """The HTML of `nodes` without scripts and styles, its addresses absolute."""
    out = []
    for node in nodes:
        for part in tree.select(_INERT, node):
            tree.remove(part)
        for css, name in _ADDRESSES:
            for part in tree.select(css, node):
                value = tree.attr(part, name)
                url = resolve(value) if value else None
                if url is not None and url != value:
                    tree.set_attr(part, name, url)
        out.append(tree.outer_html(node))
    return "\n".join(out)
