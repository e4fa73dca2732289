"""Which parts of a page are rendered: by the caller's selectors, and without what no reader sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perseid.dom.tree import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from perseid.dom.tree import Node, Tree

_INERT = "script, style, template, link, meta, noframes"
_UNSEEN = ("display:none", "display: none")
_LINES = "[class$=lines] > span"
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


def settle(tree: Tree, node: Node) -> bool:
    """Make the tree below `node` say what style sheets say: what is hidden, and where lines end.

    True where something may have changed.
    """
    hidden = _hidden(tree, node)
    # The whole page is searched faster than a part of it: it keeps its elements by tag.
    lines = tree.select(_LINES, node) if tree.first(_LINES) is not None else []
    if lines and hidden:
        unseen = set(hidden)
        lines = [part for part in lines if part not in unseen]
    if lines:
        _break_lines(tree, lines)
    if hidden:
        _drop_unseen(tree, node, hidden)
    return bool(lines or hidden)


def _hidden(tree: Tree, node: Node) -> list[Node]:
    """What says of itself that it isn't shown, in document order."""
    # One selector after another: a list of them takes longer than all its members.
    marked = tree.select("[hidden]", node)
    styled = tree.select("[style*=display]", node)
    if not styled:
        return marked
    if marked:
        styled = tree.select("[hidden], [style*=display]", node)
    known = set(marked)
    return [
        part for part in styled if part in known or any(sign in (tree.attr(part, "style") or "") for sign in _UNSEEN)
    ]


def _drop_unseen(tree: Tree, node: Node, hidden: list[Node]) -> None:
    """Take out hidden elements, save one that holds most of the text (shown by script later)."""
    whole = len(tree.text(node))
    for part in hidden:
        # hidden="until-found" is content behind a fold.
        if tree.attr(part, "hidden") != "until-found" and len(tree.text(part)) * 2 <= whole:
            tree.remove(part)


def _break_lines(tree: Tree, lines: list[Node]) -> None:
    """Each of these elements is a line to a reader: a break where one follows on another without white space."""
    holder: Node | None = None
    before: Node | None = None
    for line in lines:
        up = tree.parent(line)
        if up is None or up != holder:
            holder, before = up, None
        if not tree.text(line).strip():
            continue
        if before is not None and _touch(tree, up, before, line):
            tree.break_before(line)
        before = line


def _touch(tree: Tree, up: Node, before: Node, line: Node) -> bool:
    """Whether nothing that parts words stands between two children of `up`."""
    if tree.text(before)[-1:].isspace() or tree.text(line)[:1].isspace():
        return False
    children = tree.children(up)
    between = children[children.index(before) + 1 : children.index(line)]
    return all(tree.tag(node) != TEXT and tree.tag(node) != "br" for node in between)


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
