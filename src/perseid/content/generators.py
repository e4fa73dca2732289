"""The short way for documentation: tools that name themselves in the page and always mark its content alike."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

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
_ALWAYS = "[role=navigation], .navheader, .navfooter"


class _Tool(NamedTuple):
    content: str
    """Selector; the first match that isn't inside another is the content."""
    clutter: str
    """Selector of what is dropped within it, beside `_NEVER` and `_ALWAYS`."""


_TOOLS = {
    "docbook": _Tool(_DOCBOOK, ""),
    "publican": _Tool(_DOCBOOK, ""),
    "docutils": _Tool("[role=main], div.body, div.document", ", .sphinxsidebar, .related"),
    "sphinx": _Tool("[role=main], div.body, div.document", ", .sphinxsidebar, .related"),
    "javadoc": _Tool("main, [role=main]", ", .skip-nav, .sub-nav"),
    "mediawiki": _Tool(
        "#content, main",
        ", .mw-editsection, .editsection, .printfooter, #catlinks, .catlinks, #siteSub, #contentSub, #jump-to-nav, "
        ".mw-jump-link, .navbox, .noprint, .t-navbar, [class*=-navbar], .mw-indicators",
    ),
    "mkdocs": _Tool("article, [role=main]", ", .md-source-file, .md-content__button"),
    "docusaurus": _Tool("article", ", .theme-doc-breadcrumbs, .theme-doc-toc-mobile, .pagination-nav"),
    "vitepress": _Tool("main", ", .VPDocFooter"),
    "rustdoc": _Tool("#main-content, main", ", .src, .rightside"),
    "antora": _Tool("article.doc", ", .toolbar, .pagination"),
}
_NAMES = re.compile("|".join(_TOOLS), re.IGNORECASE)


def marked_content(tree: Tree) -> Node | None:
    """The content element of a page made by a known documentation tool, clutter taken out; else None."""
    generator = tree.first("meta[name=generator]")
    if generator is None:
        return None
    named = _NAMES.search(tree.attr(generator, "content") or "")
    if named is None:
        return None
    tool = _TOOLS[named[0].lower()]
    body = tree.body
    node = tree.first(tool.content, body)
    if node is None:
        return None
    text = tree.text(node)
    if len(text) < _LEAST or not _holds_enough(tree, body, len(text)):
        return None
    for part in (*chain.from_iterable(tree.by_tag(_NEVER, node).values()), *tree.select(_ALWAYS + tool.clutter, node)):
        tree.remove(part)
    return node


def _holds_enough(tree: Tree, body: Node, size: int) -> bool:
    """Short pages hold more navigation than text: what calls itself that doesn't count."""
    whole = len(tree.text(body))
    if size >= _SHARE * whole:
        return True
    return size >= _SHARE * (whole - sum(len(tree.text(part)) for part in tree.select(_ALWAYS, body)))
