"""What a page says of its own encoding: in the header it comes with, in an XML declaration, in meta tags."""

from __future__ import annotations

import re
from functools import lru_cache

from perseid.content.labels import encoding_of
from perseid.pattern import later

_PRESCAN_BYTES = 256 * 1024
"""The standard stops at 1024 bytes; pages with long comments before their head are read right too."""

_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))", re.IGNORECASE)
_META = later(rb"<!--.*?(?:-->|\Z)|<script\b.*?(?:</script|\Z)|<meta[\s/]([^>]*)", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = later(rb"([^\s=/\"'>]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_XML_DECLARATION = later(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")


@lru_cache(maxsize=256)
def header_encoding(content_type: str | None) -> str | None:
    if not content_type:
        return None
    for match in _CHARSET.finditer(content_type):
        encoding = encoding_of(match[1] or match[2] or match[3] or "")
        if encoding is not None:
            return encoding
    return None


def declared_encoding(body: bytes) -> str | None:
    """What the body says of itself: XML declaration or meta (WHATWG HTML 13.2.3.2, prescan)."""
    head = body[:_PRESCAN_BYTES]
    declaration = _XML_DECLARATION.match(head)
    if declaration is not None and (named := encoding_of(declaration[1].decode("ascii"))):
        return _read_as(named)
    if b"harset" not in head and b"HARSET" not in head:
        return None
    for match in _META.finditer(head):
        if match[1] is not None and (encoding := _meta_encoding(match[1])):
            return _read_as(encoding)
    return None


def _meta_encoding(attributes: bytes) -> str | None:
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(attributes):
        value = next((group for group in match.groups()[1:] if group is not None), b"")
        values.setdefault(match[1].decode("latin-1").lower(), value.decode("latin-1"))
    if "charset" in values:
        return encoding_of(values["charset"])
    if values.get("http-equiv", "").strip().lower() == "content-type":
        return header_encoding(values.get("content"))
    return None


def _read_as(encoding: str) -> str:
    """The declaration itself was read as ASCII, so it can't be UTF-16; x-user-defined means windows-1252."""
    if encoding.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if encoding == "x-user-defined" else encoding
