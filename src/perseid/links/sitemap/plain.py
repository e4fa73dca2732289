"""Entries as nearly all files write them, read many at once: no attribute, comment, CDATA or rare reference in them.

Between two entries, what is read here is read as expat and `Structure` would; whatever looks otherwise is left to them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.links.sitemap.entry import SitemapEntry
from perseid.links.sitemap.structure import MAX_LASTMOD, MAX_URL

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS = {"url": b"</url>", "sitemap": b"</sitemap>"}
"""The ends of entries that are looked for, by their names."""

# Each part begins with what the one before can't hold, so that nothing is tried twice (and `*+` gives nothing back).
_BLANK = rb"[ \t\r\n]*+"
_ASCII = rb"[!-%'-;=?-~]*+"
_URL = rb"[!-%'-;=?-~\x80-\xff]*+(?:&amp;[!-%'-;=?-~\x80-\xff]*+)*+"


def _field(name: bytes, value: bytes) -> bytes:
    return b"<%b>%b%b%b</%b>%b" % (name, _BLANK, value, _BLANK, name, _BLANK)


def _entry(name: bytes) -> Callable[[bytes, int], re.Match[bytes] | None]:
    lastmod, spare = _field(b"lastmod", b"(" + _ASCII + b")"), (b"changefreq", b"priority")
    further = b"".join(b"(?:%b)?+" % field for field in (lastmod, *(_field(leaf, _ASCII) for leaf in spare)))
    begin = b"%b<%b>%b%b" % (_BLANK, name, _BLANK, _field(b"loc", b"(" + _URL + b")"))
    return re.compile(begin + further + b"</%b>" % name).match


_MATCHES = {name: _entry(name.encode()) for name in ENDS}


def plain(data: bytes, at: int, name: str, most: int) -> tuple[list[SitemapEntry], int]:
    """The whole entries called `name` that follow each other from `at` on, at most `most`, and where they end."""
    match = _MATCHES[name]
    entries: list[SitemapEntry] = []
    while len(entries) < most and (found := match(data, at)) is not None:
        written, lastmod = found.groups()
        url = _decoded(written) if written else ""
        if url is None or len(url) > MAX_URL:
            break
        if url:
            entries.append(SitemapEntry(url, lastmod.decode()[:MAX_LASTMOD] if lastmod else None))
        at = found.end()
    return entries, at


def _decoded(written: bytes) -> str | None:
    """None where expat has a say: bytes that are no UTF-8, and characters that XML forbids."""
    try:
        url = written.decode()
    except UnicodeDecodeError:
        return None
    if not url.isascii():
        url = url.strip()
        if "\ufffe" in url or "\uffff" in url:
            return None
    return url.replace("&amp;", "&")
