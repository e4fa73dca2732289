"""Entries as nearly all files write them, read many at once: no attribute, comment, CDATA or rare reference in them.

Between two entries, what is read here is read as expat or the scanner and `Structure` would; whatever looks otherwise
is left to them.
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
_BLANK = r"[ \t\r\n]*+"
_ASCII = r"[!-%'-;=?-~]*+"
_SOUND_URL = r"[!-%'-;=?-~\x80-\xff]*+(?:&amp;[!-%'-;=?-~\x80-\xff]*+)*+"
_ANY = r"[^<> \t\r\n]*+"


def _field(name: str, value: str) -> str:
    return f"<{name}>{_BLANK}{value}{_BLANK}</{name}>{_BLANK}"


def _entry(name: str, url: str, value: str) -> str:
    begin = f"{_BLANK}<{name}>{_BLANK}{_field('loc', f'({url})')}"
    fields = (_field("lastmod", f"({value})"), _field("changefreq", value), _field("priority", value))
    return begin + "".join(f"(?:{field})?+" for field in fields) + f"</{name}>"


_SOUND = {name: re.compile(_entry(name, _SOUND_URL, _ASCII).encode("latin-1")).match for name in ENDS}
_FORGIVING = {name: re.compile(_entry(name, _ANY, _ANY)).match for name in ENDS}


def plain(data: bytes, at: int, name: str, most: int) -> tuple[list[SitemapEntry], int]:
    """The whole entries called `name` that follow each other from `at` on, at most `most`, and where they end."""
    match = _SOUND[name]
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


def forgiving(
    text: str, at: int, name: str, most: int, unescape: Callable[[str], str]
) -> tuple[list[SitemapEntry], int]:
    """The same in text that is no XML, where any character stands for itself and references are tried by `unescape`."""
    match = _FORGIVING.get(name)
    entries: list[SitemapEntry] = []
    while match is not None and len(entries) < most and (found := match(text, at)) is not None:
        url, lastmod = (unescape(value).strip() if value else "" for value in found.groups())
        if len(url) > MAX_URL:
            break
        if url:
            entries.append(SitemapEntry(url, lastmod[:MAX_LASTMOD] or None))
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
