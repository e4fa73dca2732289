"""In which encoding a sitemap is written, and where its text begins."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# As the WHATWG encoding standard reads these labels.
_CODECS = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "euc-jp": "euc_jp",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "iso-8859-9": "cp1254",
    "windows-874": "cp874",
} | {f"windows-{page}": f"cp{page}" for page in range(1250, 1259)}
_CODECS |= {f"iso-8859-{part}": f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}

_declared = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})""").match
_charset = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE).search
_BEGINNINGS = (b"<?xml", b"<urlset", b"<sitemapindex", b"<rss", b"<feed")


class Opening(NamedTuple):
    """`start` is the offset of the first byte that counts; `junk` that something else stood before it."""

    encoding: str
    start: int
    is_xml: bool
    junk: bool


def opening(head: bytes, charset: str | None) -> Opening:
    """Judge the first bytes of a file: byte order mark, then its own declaration, then HTTP's, then UTF-8.

    The declaration beats HTTP here, since servers label files by their endings. A declaration of UTF-16 that
    can be read as ASCII is wrong (the mark of a well-known library) and means UTF-8.
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            rest = head[len(bom) :].lstrip(b" \t\r\n\0")
            return Opening(encoding, len(bom), rest.startswith(b"<"), junk=False)
    for zeros, encoding in ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be")):
        if head.startswith((zeros, zeros.replace(b"?", b"u"))):
            return Opening(encoding, 0, is_xml=True, junk=False)
    start = len(head) - len(head.lstrip(b" \t\r\n\0"))
    if head[start : start + 3] == codecs.BOM_UTF8:
        start += 3
    junk = False
    is_xml = head.startswith(b"<", start)
    if not is_xml:
        places = [place for place in map(head.lower().find, _BEGINNINGS) if place >= 0]
        if places:
            start, is_xml, junk = min(places), True, True
    declared = _declared(head[start : start + 300])
    label = declared.group(1).decode().lower() if declared else (charset or "").lower()
    return Opening(_CODECS.get(label, "utf-8"), start, is_xml, junk)


def charset_of(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type."""
    found = _charset(content_type or "")
    return found.group(1) if found else None
