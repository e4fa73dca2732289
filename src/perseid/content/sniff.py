"""What a body really is: by its magic bytes first, by its label only among kinds of text."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from perseid.content.inked import holds


class Kind(StrEnum):
    """What the pipeline tells apart; kinds from PDF on are no text."""

    EMPTY = "empty"
    HTML = "html"
    XML = "xml"
    JSON = "json"
    MARKDOWN = "markdown"
    TEXT = "text"
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    ODF = "odf"
    EPUB = "epub"
    RTF = "rtf"
    OLE = "ole"
    """Word, Excel or PowerPoint of before 2007."""
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FONT = "font"
    ARCHIVE = "archive"
    BINARY = "binary"


TEXTUAL = frozenset({Kind.HTML, Kind.XML, Kind.JSON, Kind.MARKDOWN, Kind.TEXT})

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x89PNG\r\n\x1a\n", Kind.IMAGE),
    (b"\xff\xd8\xff", Kind.IMAGE),
    (b"GIF87a", Kind.IMAGE),
    (b"GIF89a", Kind.IMAGE),
    (b"II*\x00", Kind.IMAGE),
    (b"MM\x00*", Kind.IMAGE),
    (b"\x00\x00\x01\x00", Kind.IMAGE),
    (b"\x00\x00\x02\x00", Kind.IMAGE),
    (b"\x00\x00\x00\x0cjP  ", Kind.IMAGE),
    (b"\x00\x00\x00\x0cJXL ", Kind.IMAGE),
    (b"\xff\x0a", Kind.IMAGE),
    (b"8BPS", Kind.IMAGE),
    (b"{\\rtf", Kind.RTF),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OLE),
    (b"\x1f\x8b", Kind.ARCHIVE),
    (b"\x1f\x9d", Kind.ARCHIVE),
    (b"BZh", Kind.ARCHIVE),
    (b"\xfd7zXZ\x00", Kind.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", Kind.ARCHIVE),
    (b"Rar!\x1a\x07", Kind.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Kind.ARCHIVE),
    (b"MSCF\x00", Kind.ARCHIVE),
    (b"!<arch>\n", Kind.ARCHIVE),
    (b"ID3", Kind.AUDIO),
    (b"OggS", Kind.AUDIO),
    (b"fLaC", Kind.AUDIO),
    (b"MThd", Kind.AUDIO),
    (b"\xff\xfb", Kind.AUDIO),
    (b"\xff\xf1", Kind.AUDIO),
    (b"\x1aE\xdf\xa3", Kind.VIDEO),
    (b"FLV\x01", Kind.VIDEO),
    (b"\x00\x00\x01\xba", Kind.VIDEO),
    (b"\x00\x00\x01\xb3", Kind.VIDEO),
    (b"wOFF", Kind.FONT),
    (b"wOF2", Kind.FONT),
    (b"\x00\x01\x00\x00\x00", Kind.FONT),
    (b"OTTO\x00", Kind.FONT),
    (b"ttcf", Kind.FONT),
    (b"\x7fELF", Kind.BINARY),
    (b"\x00asm", Kind.BINARY),
    (b"\xca\xfe\xba\xbe", Kind.BINARY),
    (b"SQLite format 3\x00", Kind.BINARY),
    (b"wARC", Kind.BINARY),
)
_MAGIC_BYTES = tuple([magic for magic, _ in _MAGIC])
_RIFF = {b"WEBP": Kind.IMAGE, b"WAVE": Kind.AUDIO, b"AVI ": Kind.VIDEO}
_STILL_BRANDS = frozenset({b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1"})
# Names of parts near the start or in the directory at the end tell office files from plain archives.
_ZIP_PARTS = ((b"word/", Kind.DOCX), (b"xl/", Kind.XLSX), (b"ppt/", Kind.PPTX))

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml.*?\?>)*"
    rb"<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|table|div|h1|p|a|b|br|iframe|font)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[\s?]")
_FEED_ROOT = re.compile(rb"<(?:\w+:)?(?:rss|feed|urlset|sitemapindex|RDF)[\s>]")
_HTML_ROOT = re.compile(rb"<html[\s>]", re.IGNORECASE)
_CONTROLS = bytes(range(9)) + b"\x0b" + bytes(range(0x0E, 0x1B)) + b"\x1c\x1d\x1e\x1f"
_MOST_STRAY = 2
_BLANK = b" \t\r\n\x00"
_MARKDOWN_SUFFIX = re.compile(r"\.(?:md|markdown|mdown|mkd|mdx)$", re.IGNORECASE)


def sniff(body: bytes, *, content_type: str | None = None, path: str = "") -> Kind:
    """The kind of a body (WHATWG MIME Sniffing, section 6 and 7, with markup never taken for binary).

    `path` is the path of the URL: its suffix tells Markdown from other plain text.
    """
    mime = _mime(content_type or "")
    if not body[:64].strip(_BLANK) and not body.strip(_BLANK):
        return _by_label(mime) or Kind.EMPTY
    head = body[:1024]
    if not body[:64].lstrip(b" \t\r\n").startswith(b"<") or holds(head, b"%PDF-"):  # nothing binary begins so
        magic = _by_magic(body, head)
        if magic is not None:
            return magic
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or _looks_wide(head)
    if not wide and _looks_binary(body):
        return Kind.BINARY
    if wide:
        # The patterns below want ASCII; without the zero bytes Western UTF-16 is that.
        head = head.replace(b"\0", b"").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    return _textual(body, head, mime, path)


@lru_cache(maxsize=256)
def _mime(content_type: str) -> str:
    return content_type.split(";", 1)[0].strip().lower()


def _by_magic(body: bytes, head: bytes) -> Kind | None:
    if b"%PDF-" in head and not _HTML_START.match(head):
        return Kind.PDF
    if head.startswith(_MAGIC_BYTES):
        return next(kind for magic, kind in _MAGIC if head.startswith(magic))
    return _by_container(body, head)


def _by_container(body: bytes, head: bytes) -> Kind | None:
    """Formats whose magic needs a second look: what is in the box, or that there is a box at all."""
    found: Kind | None = None
    if head.startswith(b"RIFF"):
        found = _RIFF.get(head[8:12], Kind.BINARY)
    elif head[4:8] == b"ftyp":
        found = Kind.IMAGE if head[8:12] in _STILL_BRANDS else Kind.VIDEO
    elif head.startswith((b"BM", b"MZ")) and b"\0" in head[2:16]:
        found = Kind.IMAGE if head.startswith(b"B") else Kind.BINARY
    elif head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        found = _zip(body)
    elif body[257:262] == b"ustar":
        found = Kind.ARCHIVE
    return found


def _zip(body: bytes) -> Kind:
    head = body[:4096]
    if b"mimetypeapplication/epub+zip" in head:
        return Kind.EPUB
    if b"mimetypeapplication/vnd.oasis.opendocument" in head:
        return Kind.ODF
    around = head + body[-65536:]
    if b"[Content_Types].xml" in around or b"_rels/" in around:
        for part, kind in _ZIP_PARTS:
            if part in around:
                return kind
    return Kind.ARCHIVE


def _looks_wide(head: bytes) -> bool:
    """UTF-16 without a mark: every second byte of Western text is zero."""
    if b"\0" not in head or len(head) < 8:
        return False
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    return (even > half * 0.6 and odd < half * 0.1) or (odd > half * 0.6 and even < half * 0.1)


def _looks_binary(body: bytes) -> bool:
    """More control characters than a stray one here and there in a page, or one or two in a short one."""
    sample = body[:4096]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls * 50 > len(sample) and (controls > _MOST_STRAY or controls * 8 > len(sample))


def _textual(body: bytes, head: bytes, mime: str, path: str) -> Kind:
    kind = _MIMES.get(mime)
    if kind is None:
        if mime.endswith("+json"):
            kind = Kind.JSON
        elif mime.endswith("+xml"):
            kind = Kind.XML
        elif mime.startswith("text/"):
            kind = Kind.TEXT
        else:
            return _unlabelled(body, head, mime, path)
    if kind is Kind.XML:
        return Kind.HTML if _HTML_ROOT.search(head) and not _FEED_ROOT.search(head) else Kind.XML
    if mime == "text/html":
        if _XML_START.match(head) and _FEED_ROOT.search(head):
            return Kind.XML
        return Kind.JSON if _is_json(body, head) else Kind.HTML
    if mime == "text/plain" and _MARKDOWN_SUFFIX.search(path):
        return Kind.MARKDOWN
    return kind


_MIMES = {
    "image/svg+xml": Kind.IMAGE,
    "text/markdown": Kind.MARKDOWN,
    "text/x-markdown": Kind.MARKDOWN,
    "application/json": Kind.JSON,
    "text/json": Kind.JSON,
    "application/xhtml+xml": Kind.HTML,
    "text/html": Kind.HTML,
    "application/xml": Kind.XML,
    "text/xml": Kind.XML,
    "application/javascript": Kind.TEXT,
    "application/x-javascript": Kind.TEXT,
    "application/yaml": Kind.TEXT,
    "application/x-yaml": Kind.TEXT,
    "application/toml": Kind.TEXT,
    "application/x-sh": Kind.TEXT,
    "application/sql": Kind.TEXT,
    "application/x-ndjson": Kind.TEXT,
}


_MEDIA = {"image": Kind.IMAGE, "audio": Kind.AUDIO, "video": Kind.VIDEO, "font": Kind.FONT}
_PACKED = frozenset(
    {"application/zip", "application/gzip", "application/x-gzip", "application/x-tar", "application/x-7z-compressed"}
)


def _by_label(mime: str) -> Kind | None:
    """What a label says that is no kind of text."""
    return Kind.ARCHIVE if mime in _PACKED else _MEDIA.get(mime.partition("/")[0])


def _unlabelled(body: bytes, head: bytes, mime: str, path: str) -> Kind:
    """No label, or one that can't be for a page (octet-stream, an image that is markup)."""
    if _XML_START.match(head):
        return Kind.HTML if _HTML_ROOT.search(head) and not _FEED_ROOT.search(head) else Kind.XML
    if _HTML_START.match(head) or _HTML_ROOT.search(head):
        return Kind.HTML
    if _FEED_ROOT.search(head) and head.lstrip().startswith(b"<"):
        return Kind.XML
    if (named := _by_label(mime)) is not None:
        return named
    if _is_json(body, head):
        return Kind.JSON
    return Kind.MARKDOWN if _MARKDOWN_SUFFIX.search(path) else Kind.TEXT


def _is_json(body: bytes, head: bytes) -> bool:
    """Starts and ends like JSON and holds no markup before its first value."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    end = body[-64:].rstrip()
    if start[:1] == b"{" and end[-1:] == b"}":
        return start[1:].lstrip()[:1] in {b'"', b"}"}
    if start[:1] == b"[" and end[-1:] == b"]":
        return start[1:].lstrip()[:1] in {b"{", b"[", b'"', b"]", b"t", b"f", b"n", b"-"} | _DIGITS
    return False


_DIGITS = frozenset(bytes([digit]) for digit in b"0123456789")
