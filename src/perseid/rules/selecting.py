"""Evaluates one source on a page, or within a part of it: raw values in the page's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from perseid.rules import jsonpath, regexes, structured, xpath
from perseid.rules.page import Page, read_json
from perseid.rules.regexes import Overrun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from perseid.dom.tree import Node
    from perseid.model.rule import Source

MAX_VALUES = 10_000
"""Of one source on one page."""
MAX_WORK = 5_000_000
"""Characters of all values of one source on one page, and elements that are looked into for them."""


class Element(NamedTuple):
    """An element that a source chose."""

    node: Node


class Scope(NamedTuple):
    """Where a source looks: all of the page, an element of it, or a JSON value found on it."""

    page: Page
    part: Any = None
    """None, an `Element`, or a JSON value."""
    is_value: bool = False


class SourceFault(Exception):
    """A source that can't be evaluated on this page; its text says why."""


class _Work:
    """What one source may still cost: a page of nested elements holds the same text thousands of times."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_WORK

    def spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise SourceFault("what it chooses is too much to read; choose less, nearer to the value")


def scopes(source: Source, page: Page, within: Scope | None = None) -> list[Scope]:
    """The parts of the page that the source chooses, to look in further. Raises SourceFault."""
    found = _guarded(source, within or Scope(page))
    return [Scope(page, each, is_value=not isinstance(each, Element)) for each in found]


def values(source: Source, scope: Scope) -> Iterator[Any]:
    """What the source yields, one after the other: texts, or JSON values from JSON; blank texts are left out.

    Raises SourceFault, also on the way.
    """
    work = _Work()
    for each in _guarded(source, scope):
        value = _read(source, each, scope.page, work) if isinstance(each, Element) else each
        if isinstance(value, str):
            work.spend(len(value))
            if not value.strip():
                continue
        if value is not None:
            yield value


def _guarded(source: Source, scope: Scope) -> list[Any]:
    try:
        return _refined(source, scope)[:MAX_VALUES]
    except (Overrun, ValueError) as error:
        raise SourceFault(str(error)) from None


def _refined(source: Source, scope: Scope) -> list[Any]:
    chosen = _chosen(source, scope)
    if chosen is None:
        if source.jsonpath is not None and _holds_json(scope):
            chosen = jsonpath.evaluate(source.jsonpath, scope.part if scope.is_value else scope.page.json)
            return _matched(source, chosen, scope.page) if source.regex is not None else chosen
        chosen = [_whole(scope)]
    if source.regex is not None:
        chosen = _matched(source, chosen, scope.page)
    if source.jsonpath is not None:
        chosen = [found for text in _texts(source, chosen, scope.page) for found in _in_json(source.jsonpath, text)]
    return chosen


def _chosen(source: Source, scope: Scope) -> list[Any] | None:  # noqa: PLR0911  one way out a kind of source
    """Elements and values by the source's chooser; None where `jsonpath` or `regex` stands alone."""
    page = scope.page
    if source.css is not None:
        return _elements(source.css, scope)
    if source.xpath is not None:
        return _by_xpath(source.xpath, scope)
    if source.jsonld is not None:
        return _described(source.jsonld, source.kind, [] if page.is_json else page.jsonld)
    if source.microdata is not None:
        return _described(source.microdata, source.kind, [] if page.is_json else page.microdata)
    if source.opengraph is not None:
        name = source.opengraph.lower()
        return list(_meta(page, name if ":" in name else f"og:{name}"))
    if source.meta is not None:
        return list(_meta(page, source.meta.lower()))
    if source.header is not None:
        value = page.headers.get(source.header.lower())
        return [] if value is None else [value]
    if source.url:
        return [page.url]
    return None if source.const is None else [source.const]


def _elements(css: str, scope: Scope) -> list[Any]:
    if scope.is_value:
        raise ValueError("CSS can't look into a JSON value; use jsonpath")
    if scope.page.is_json:
        raise ValueError("the page is JSON, so CSS finds nothing there; use jsonpath")
    within = scope.part.node if isinstance(scope.part, Element) else None
    if css.strip() == ":scope":
        return [scope.part if within is not None else Element(scope.page.tree.root)]
    return [Element(node) for node in scope.page.tree.select(css, within)]


def _by_xpath(expression: str, scope: Scope) -> list[Any]:
    if scope.is_value:
        raise ValueError("XPath can't look into a JSON value; use jsonpath")
    if scope.page.is_json:
        raise ValueError("the page is JSON, so XPath finds nothing there; use jsonpath")
    within = scope.part.node if isinstance(scope.part, Element) else None
    if within is None or not xpath.is_absolute(expression):
        return _evaluated(expression, scope.page, within)
    known = scope.page.from_root
    if expression not in known:
        known[expression] = _evaluated(expression, scope.page, within)
    return known[expression]


def _evaluated(expression: str, page: Page, within: Node | None) -> list[Any]:
    out: list[Any] = []
    for found in xpath.evaluate(page.tree, expression, within):
        if isinstance(found, bool | str):
            out.append(found)
        elif isinstance(found, float):
            out.append(int(found) if found.is_integer() else found)
        else:
            out.append(Element(found))
    return out


def _described(path: str, kind: str | None, objects: list[dict[str, Any]]) -> list[Any]:
    steps = [step for step in path.split(".") if step]
    if kind is not None:
        objects = list(structured.of_kind(objects, kind))
    return [found for each in objects for found in structured.follow_path(each, steps)]


def _meta(page: Page, name: str) -> Iterable[str]:
    return () if page.is_json else page.metas.get(name, ())


def _holds_json(scope: Scope) -> bool:
    return scope.is_value or (scope.part is None and scope.page.is_json)


def _whole(scope: Scope) -> Any:
    """All of the scope as text, for `regex` and `jsonpath` alone."""
    if scope.part is None and not scope.is_value:
        return scope.page.text
    return scope.page.tree.outer_html(scope.part.node) if isinstance(scope.part, Element) else scope.part


def _texts(source: Source, chosen: list[Any], page: Page) -> list[Any]:
    work = _Work()
    return [_read(source, each, page, work) if isinstance(each, Element) else each for each in chosen]


def _matched(source: Source, chosen: list[Any], page: Page) -> list[Any]:
    pattern = source.regex or ""
    group = source.group if source.group is not None else min(1, regexes.compiled(pattern).groups)
    out: list[Any] = []
    for text in _texts(source, chosen, page):
        if not isinstance(text, str | int | float):
            continue
        for match in regexes.find_all(pattern, str(text)):
            found = match.group(group)
            if found is not None:
                out.append(found)
            if len(out) >= MAX_VALUES:
                return out
    return out


def _in_json(path: str, text: Any) -> list[Any]:
    value = read_json(text) if isinstance(text, str) else text
    return jsonpath.evaluate(path, value)


def _read(source: Source, element: Element, page: Page, work: _Work) -> str | None:
    tree, node = page.tree, element.node
    if source.attr is not None:
        return tree.attr(node, source.attr.lower()) if page.kind != "xml" else tree.attr(node, source.attr)
    if tree.tag(node) == "#text":
        return tree.data(node)
    match source.take:
        case "html":
            return tree.outer_html(node)
        case "inner_html":
            return tree.inner_html(node)
        case "own_text":
            return "".join(tree.data(child) for child in tree.children(node))
        case "text":
            return _text(page, node, work)


_BLOCKS = (
    "address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li "
    "main nav ol p pre section table tbody td tfoot th thead tr ul"
)
_APART = frozenset(_BLOCKS.split())
_DEEPEST = 200
"""Levels that are read with care for blocks; what lies deeper is read as it stands."""
_DEEP_COST = 5_000
_SILENT = frozenset({"script", "style", "noscript", "template"})


def _text(page: Page, node: Node, work: _Work) -> str:
    """The text as people read it: blocks and line breaks part words, scripts say nothing."""
    tree = page.tree
    if page.kind == "xml" or tree.tag(node) in _SILENT:
        return tree.text(node)
    children = tree.elements(node)
    if not children:
        return tree.text(node)
    out: list[str] = []
    _gather(page, node, out, work, 0)
    return "".join(out)


def _gather(page: Page, node: Node, out: list[str], work: _Work, depth: int) -> None:
    tree = page.tree
    if depth > _DEEPEST:
        work.spend(_DEEP_COST)
        out.append(tree.text(node))
        return
    for child in tree.children(node):
        work.spend(1)
        tag = tree.tag(child)
        if tag == "#text":
            out.append(tree.data(child))
        elif tag not in _SILENT and tag != "#other":
            if tag in _APART:
                out.append("\n")
            _gather(page, child, out, work, depth + 1)
            if tag in _APART:
                out.append("\n")
