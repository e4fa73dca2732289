"""The short way for documentation: tools that name themselves in the page and always mark its content alike."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from perseid.dom.tree import OTHER

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

_SHARE = 0.5
"""The marked element must hold that share of the page's text, or the page is judged like any other."""
_LEAST = 40
"""Characters a marked element must hold."""

_DOCBOOK = (
    "div.book, div.set, div.part, div.reference, div.preface, div.chapter, div.appendix, div.article, div.glossary, "
    "div.bibliography, div.index, div.refentry, div.sect1, div.sect2, div.sect3, div.section, div.toc"
)
_NEVER = frozenset({"script", "style", "nav", "button", "select", "input", "textarea", "footer", "iframe"})
_ALWAYS = ("[role=navigation]", ".navheader", ".navfooter")


class _Tool(NamedTuple):
    content: str
    """Selector; the first match that isn't inside another is the content."""
    clutter: tuple[str, ...] = ()
    """Selectors of what is dropped within it, beside `_NEVER` and `_ALWAYS`."""


_TOOLS = {
    "docbook": _Tool(_DOCBOOK),
    "publican": _Tool(_DOCBOOK),
    "docutils": _Tool("[role=main], div.body, div.document", (".sphinxsidebar", ".related")),
    "sphinx": _Tool("[role=main], div.body, div.document", (".sphinxsidebar", ".related")),
    "javadoc": _Tool("main, [role=main]", (".skip-nav", ".sub-nav")),
    "mediawiki": _Tool(
        "#content, main",
        (
            ".mw-editsection", ".editsection", ".printfooter", "#catlinks", ".catlinks", "#siteSub", "#contentSub",
            "#jump-to-nav", ".mw-jump-link", ".navbox", ".noprint", ".t-navbar", "[class*=-navbar]", ".mw-indicators",
        ),
    ),
    "mkdocs": _Tool("article, [role=main]", (".md-source-file", ".md-content__button")),
    "docusaurus": _Tool("article", (".theme-doc-breadcrumbs", ".theme-doc-toc-mobile", ".pagination-nav")),
    "vitepress": _Tool("main", (".VPDocFooter",)),
    "rustdoc": _Tool("#main-content, main", (".src", ".rightside")),
    "antora": _Tool("article.doc", (".toolbar", ".pagination")),
}  # fmt: skip
_NAMES = re.compile("|".join(_TOOLS), re.IGNORECASE)


class Marked(NamedTuple):
    """A content element without its clutter."""

    node: Node
    text: str | None
    """All text below it as far as it is known: nothing had to be taken out."""


def marked_content(tree: Tree) -> Marked | None:
    """The content element of a page made by a known documentation tool, clutter taken out; else None."""
    generator = tree.first("meta[name=generator]")
    if generator is None:
        return None
    named = _NAMES.search(tree.attr(generator, "content") or "")
    if named is None:
        return None
    tool = _TOOLS[named[0].lower()]
    body = tree.body
    node = tree.first(tool.content)  # faster than below the body: the page keeps its elements by tag
    if node is None:
        return None
    text = tree.text(node)
    if len(text) < _LEAST or not _holds_enough(tree, body, node, len(text)):
        return None
    # One selector after another: a list of them takes longer than all its members.
    clutter = [
        *chain.from_iterable(tree.by_tag(_NEVER, node).values()),
        *chain.from_iterable([tree.select(css, node) for css in (*_ALWAYS, *tool.clutter)]),
    ]
    for part in clutter:
        tree.remove(part)
    return Marked(node, None if clutter else text)


def _holds_enough(tree: Tree, body: Node, node: Node, size: int) -> bool:
    """Short pages hold more navigation than text: what calls itself that doesn't count."""
    whole = size + _text_beside(tree, body, node)
    if size >= _SHARE * whole:
        return True
    return size >= _SHARE * (whole - sum(len(tree.text(part)) for part in tree.select(", ".join(_ALWAYS), body)))


def _text_beside(tree: Tree, body: Node, node: Node) -> int:
    """Characters of the text of `body` that are not below `node`, of which there are few as a rule."""
    size = 0
    while node != body and (up := tree.parent(node)) is not None:
        size += sum([len(tree.text(part)) for part in tree.children(up) if part != node and tree.tag(part) != OTHER])
        node = up
    return size
