"""Inline frames as parts of the page, for selectors that speak of them.

Frames whose document stands in the page (`srcdoc`, `data:text/html`) become `div[data-original-tag="iframe"]`
with what they hold, others the same with a link to what they show. `iframe` in a selector then means those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from perseid.dom import tree as trees
from perseid.links.discover import MAX_INLINE, inline_html
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.model.options import ScrapeOptions

MARK = "data-original-tag"
_OPENING = later(r"<iframe(?=[\s/>])", re.IGNORECASE)
_REST_OF_TAG = later(r"(?:[^>\"']|\"[^\"]*\"|'[^']*')*+>")
_NEXT = later(r"<iframe(?=[\s/>])|</iframe\s*>?", re.IGNORECASE)
_NAMED = later(r"(?<![\w.#\[\"'=:-])iframe(?![\w-])", re.IGNORECASE)
_MOST = 200
"""Frames of one page that are opened; it is a hostile one that has more."""
_BODY = later(r"<body(?=[\s>])[^>]*>(.*?)(?:</body\s*>|\Z)", re.IGNORECASE | re.DOTALL)


def named(selectors: Iterable[str]) -> bool:
    return any("iframe" in selector.lower() for selector in selectors)


def as_divs(options: ScrapeOptions) -> ScrapeOptions:
    """The options with frames called by what becomes of them."""
    return msgspec.structs.replace(
        options,
        include_tags=tuple(_renamed(selector) for selector in options.include_tags),
        exclude_tags=tuple(_renamed(selector) for selector in options.exclude_tags),
    )


def _renamed(selector: str) -> str:
    return _NAMED.sub(f'div[{MARK}="iframe"]', selector)


def inlined(html: str) -> str:
    """The page with its frames opened, those within them left as they are."""
    out: list[str] = []
    at = 0
    for _ in range(_MOST):
        start = _OPENING.search(html, at)
        if start is None:
            break
        tag = _REST_OF_TAG.match(html, start.end())
        if tag is None:
            break
        out += (html[at : start.start()], _opened(html[start.start() : tag.end()]))
        # What stands between the tags is for browsers without frames.
        after = _NEXT.search(html, tag.end())
        at = after.end() if after is not None and after[0][1] == "/" else tag.end()
    out.append(html[at:])
    return "".join(out)


def _opened(tag: str) -> str:
    from html import escape  # noqa: PLC0415  start-up time, and few pages have frames of this kind

    tree = trees.parse(tag)
    frame = tree.first("iframe")
    if frame is None:
        return tag
    attrs = tree.attrs(frame)
    source = attrs.get("src")
    inner = inline_html(source, attrs.get("srcdoc"))
    if inner is None:
        inner = f'<a href="{escape(source)}">{escape(attrs.get("title") or source)}</a>' if source else ""
    else:
        body = _BODY.search(inner[:MAX_INLINE])
        inner = body[1] if body else inner[:MAX_INLINE]
    kept = "".join(f' {name}="{escape(value)}"' for name, value in attrs.items() if name != "srcdoc")
    return f'<div {MARK}="iframe"{kept}>{inner}</div>'
