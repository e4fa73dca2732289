"""Which part of a page is shown, and in which formats: all of it is read off one tree, which it uses up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perseid.content import clean, selfcheck
from perseid.content.datauri import DataImages
from perseid.content.images import images_of
from perseid.content.main import main_content
from perseid.content.markdown import to_text, written
from perseid.dom import tree as trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.content.inked import Inked
    from perseid.content.resolver import Resolver
    from perseid.dom.tree import Node, Tree
    from perseid.model.options import ScrapeOptions

_HEAVY_CHARACTERS = 12_000_000
"""HTML beyond that is rendered whole: choosing its main content would cost more than it is worth."""


class Shown(NamedTuple):
    """What was read off the tree of a page."""

    markdown: str | None = None
    text: str | None = None
    html: str | None = None
    images: list[str] | None = None
    links: list[str] | None = None
    """Of the part that is shown, where those were asked for."""
    page_type: str | None = None


def render(url: str, options: ScrapeOptions, tree: Tree, source: str, resolve: Resolver, warnings: list[str]) -> Shown:
    """All formats that are read off the tree of the page at `url`; `source` is what it was parsed from."""
    formats = options.formats
    images = images_of(tree, resolve) if "images" in formats else None
    wanted = [name for name in formats if name in {"markdown", "html", "text"}]
    linked = options.links_of_content and "links" in formats
    if not (wanted or linked):
        return Shown(images=images)
    nodes, page_type, known = _chosen(url, options, tree, source, warnings)
    links = _links(tree, nodes, resolve) if linked else None
    hidden = None if options.remove_base64_images is None else DataImages(keep=not options.remove_base64_images)
    ink, text, html, held = _formats(tree, nodes, wanted, resolve, hidden, known)
    found = (ink and ink.text) or text or html or (not wanted and (links or to_text(tree, nodes)))
    if options.only_main_content and page_type and not found:
        # Nothing was left: the whole page is better than an empty one.
        tree = trees.parse(source)
        links = _links(tree, [tree.body], resolve) if linked else None
        ink, text, html, held = _formats(tree, [tree.body], wanted, resolve, hidden)
        warnings.append("main: no main content was found; the whole page was kept")
    markdown = None
    if ink is not None:
        warnings += selfcheck.check(ink, held)
        markdown = ink.text if hidden is None else hidden.put_back(ink.text)
    return Shown(markdown, text, html, images, links, page_type)


class _Chosen(NamedTuple):
    """What is to be shown."""

    nodes: list[Node]
    page_type: str | None
    text: str | None
    """All text below it, where that is at hand."""


def _chosen(url: str, options: ScrapeOptions, tree: Tree, source: str, warnings: list[str]) -> _Chosen:
    invalid = clean.exclude(tree, options.exclude_tags) if options.exclude_tags else []
    nodes: list[Node]
    page_type: str | None = None
    text: str | None = None
    if options.include_tags:
        nodes, bad = clean.include(tree, options.include_tags)
        invalid += bad
    elif options.only_main_content and len(source) <= _HEAVY_CHARACTERS:
        main = main_content(tree, url=url)
        nodes, page_type, text = [main.node], main.page_type, main.text
    else:
        nodes = [tree.body]
    warnings += [f"selector: {selector!r} is no CSS selector and was ignored" for selector in invalid]
    for node in nodes:
        if clean.settle(tree, node):
            text = None
    return _Chosen(nodes, page_type, text)


def _formats(
    tree: Tree,
    nodes: list[Node],
    wanted: Sequence[str],
    resolve: Resolver,
    hidden: DataImages | None,
    known: str | None = None,
) -> tuple[Inked | None, str | None, str | None, selfcheck.Source | None]:
    """Markdown, text and HTML as far as they are wanted, and what the nodes held before; `known` is all their text."""
    # Markdown changes the tree, so it comes last.
    if "html" in wanted:
        html, known = clean.cleaned_html(tree, nodes, resolve), None
    else:
        html = None
    text = to_text(tree, nodes) if "text" in wanted else None
    if "markdown" not in wanted:
        return None, text, html, None
    held = selfcheck.source_of(tree, nodes, known)
    if hidden is not None:
        hidden.hide(tree, nodes)
    return written(tree, nodes, resolve), text, html, held


def _links(tree: Tree, nodes: list[Node], resolve: Resolver) -> list[str]:
    found: list[str] = []
    for node in nodes:
        for part in (node, *tree.select("a[href], area[href]", node)):
            href = tree.attr(part, "href") if tree.tag(part) in {"a", "area"} else None
            if href is not None:
                found.append(href)
    return resolve.listed(list(dict.fromkeys(found)))
