"""From a parsed page to the links on it, as written; resolving and judging them is `perseid.links.scope`'s.

What counts as a link, in this order: `link` elements of the head that name other pages (`next`, `prev`,
`canonical`, `alternate` in HTML …; feeds, styles and icons don't), a meta refresh, and in document order
`a`, `area`, `iframe`, `frame`, `embed`, `object` and clickable elements with `data-href` or `data-url`. Inline frames
(`srcdoc`, `data:text/html`) are read for their links too.

`rel=nofollow` and a robots meta tag say how a search engine should rank, not what may be fetched: such links
are followed. What may be fetched is robots.txt's to say.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from perseid.dom import tree as trees
from perseid.dom import url as urls
from perseid.links.textlinks import discover_text
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perseid.dom.tree import Node, Tree

    Elements = Mapping[str, Sequence[Node]]

__all__ = ["TAGS", "Discovered", "Refresh", "discover", "discover_text"]

MAX_INLINE = 2 * 1024 * 1024
"""Characters of an inline frame that are parsed."""
MAX_NESTING = 3
"""How deep inline frames are read within inline frames."""

_RELATIONS = frozenset(
    {"next", "prev", "previous", "canonical", "alternate", "up", "first", "last", "start", "contents", "index"}
)
_HTML_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_LAZY_TAGS = ("a", "tr", "li", "div", "button", "span", "article")
_LAZY = tuple(f"{tag}[{name}]" for tag in _LAZY_TAGS for name in ("data-href", "data-url"))
_LONGEST_REL = 1_000
"""Characters of a `rel` attribute that are read: its words are remembered."""
_WITH_DATA = ("[data-href]", "[data-url]")
"""Asked for one by one: a list of selectors takes longer than all its members."""
_OTHERS = frozenset({"area", "iframe", "frame", "embed", "object"})
_ALL = ",".join(("a[href]", "area[href]", "iframe", "frame[src]", "embed[src]", "object[data]", *_LAZY))
TAGS = _OTHERS | {"a", "link", "meta", "base"}
"""The elements that links are read from, save clickable ones that are no links."""

_REFRESH = later(
    r"\s*(\d+)(?:\.[\d.]*)?\s*[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(.*))",
    re.IGNORECASE | re.DOTALL,
)
_DATA_HTML = later(r"\s*data:\s*(?:text/html|application/xhtml\+xml)([^,]{0,200}),", re.IGNORECASE)


class Refresh(NamedTuple):
    """A `<meta http-equiv=refresh>`: after how many seconds, and where to (absolute)."""

    delay_s: int
    url: str


class Discovered(NamedTuple):
    """`hrefs` are as written, each once; all are to be resolved against `base`."""

    base: str
    hrefs: list[str]
    canonical: str | None = None
    """The absolute URL of `<link rel=canonical>`, where it is one."""
    refresh: Refresh | None = None


def discover(tree: Tree, page_url: str, elements: Elements | None = None) -> Discovered:
    """The links of a page whose final URL, after redirects, is `page_url`.

    `elements` are those of `tree.by_tag` for at least `TAGS`, where the caller has them.
    """
    return _discover(tree, page_url, MAX_NESTING, elements)


def _discover(tree: Tree, page_url: str, nesting: int, elements: Elements | None = None) -> Discovered:
    if elements is None:
        elements = tree.by_tag(TAGS)
    base = _base(tree, elements.get("base", ()), page_url)
    hrefs: dict[str, None] = {}
    canonical = _head_links(tree, elements.get("link", ()), base, hrefs)
    refresh = _refresh(tree, elements.get("meta", ()), base, hrefs)
    if not _OTHERS.isdisjoint(elements) or any(tree.first(css) is not None for css in _WITH_DATA):
        for node in tree.select(_ALL):
            _add(tree, node, base, hrefs, nesting)
    else:
        found: dict[str | None, None] = dict.fromkeys(tree.values(elements.get("a", ()), "href"))
        found.pop(None, None)
        hrefs |= found  # type: ignore[arg-type]  # None is gone
    return Discovered(base, list(hrefs), canonical, refresh)


def _base(tree: Tree, nodes: Sequence[Node], page_url: str) -> str:
    """The document base URL: the first base element with href counts, wherever it stands (HTML, 4.2.3)."""
    for node in nodes:
        href = tree.attr(node, "href")
        if href is None:
            continue
        found = urls.join(href, page_url)
        if found is not None and not found.startswith(("data:", "javascript:")):
            return found
        break
    return page_url


def _head_links(tree: Tree, nodes: Sequence[Node], base: str, hrefs: dict[str, None]) -> str | None:
    canonical = None
    for node in nodes:
        relations = _relations((tree.attr(node, "rel") or "")[:_LONGEST_REL])
        if not relations or not (href := tree.attr(node, "href")):
            continue
        kind = (tree.attr(node, "type") or "").partition(";")[0].strip().lower()
        if "stylesheet" in relations or ("alternate" in relations and kind not in _HTML_TYPES):
            continue
        hrefs[href] = None
        if canonical is None and "canonical" in relations:
            canonical = urls.join(href, base)
    return canonical


@lru_cache(maxsize=256)
def _relations(rel: str) -> frozenset[str]:
    """The words of a `rel` attribute if one of them names another page."""
    words = frozenset(rel.lower().split())
    return frozenset() if words.isdisjoint(_RELATIONS) else words


def _refresh(tree: Tree, nodes: Sequence[Node], base: str, hrefs: dict[str, None]) -> Refresh | None:
    for node in nodes:
        if (tree.attr(node, "http-equiv") or "").strip().lower() != "refresh":
            continue
        content = (tree.attr(node, "content") or "")[:4096]
        found = _REFRESH.match(content)
        if found is None:
            continue
        href = (found[2] or found[3] or found[4] or "").strip()
        target = urls.join(href, base)
        if not href or target is None:
            continue
        hrefs[href] = None
        return Refresh(min(int(found[1][:9]), 10**9), target)
    return None


def _add(tree: Tree, node: Node, base: str, hrefs: dict[str, None], nesting: int) -> None:
    attr = tree.attr
    tag = tree.tag(node)
    if tag in ("iframe", "frame"):
        _add_frame(attr(node, "src"), attr(node, "srcdoc"), base, hrefs, nesting)
        return
    if tag in ("embed", "object"):
        hrefs[attr(node, "src" if tag == "embed" else "data") or ""] = None
        return
    for name in ("href", "data-href", "data-url"):
        # On other elements than links an href attribute means nothing.
        if (name != "href" or tag in ("a", "area")) and (value := attr(node, name)) is not None:
            hrefs[value] = None


def _add_frame(src: str | None, srcdoc: str | None, base: str, hrefs: dict[str, None], nesting: int) -> None:
    html = inline_html(src, srcdoc)
    if html is None and src is not None:
        hrefs[src] = None
    if not html or nesting == 0:
        return
    inner = _discover(trees.parse(html[:MAX_INLINE]), base, nesting - 1)
    for href in inner.hrefs:
        # Only a base element of its own makes links of an inline frame differ from those of the page.
        found = href if inner.base == base else urls.join(href, inner.base)
        if found is not None:
            hrefs[found] = None


def inline_html(src: str | None, srcdoc: str | None) -> str | None:
    """The document of a frame that stands in the page itself; None where it would have to be fetched."""
    if srcdoc is not None or src is None:
        return srcdoc
    head = _DATA_HTML.match(src)
    return None if head is None else _data_html(src[head.end() :], head[1])


def _data_html(body: str, parameters: str) -> str:
    """The HTML inside a data: URL (RFC 2397), percent- or base64-encoded; empty where it is broken."""
    raw = unquote_to_bytes(body[: MAX_INLINE * 3])
    if ";base64" in parameters.replace(" ", "").lower():
        raw = b"".join(raw.split())
        try:
            raw = base64.b64decode(raw + b"=" * (-len(raw) % 4))
        except binascii.Error:
            return ""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("windows-1252", "replace")
