"""From bytes to text: byte order mark, then header, then the page's own word, then detection (WHATWG order).

Departs from browsers where a label is evidently wrong, since nobody sees the mojibake of a crawl in time:
then the bytes decide, and the result carries a warning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import turbohtml.detect  # registers the whatwg-* codecs
from turbohtml.detect import Detection, detect

from perseid.content.labels import encoding_of

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_MULTIBYTE = frozenset({"gb18030", "big5", "euc-jp", "shift_jis", "euc-kr", "iso-2022-jp"})
_PRESCAN_BYTES = 256 * 1024
_SAMPLE_BYTES = 256 * 1024

_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))", re.IGNORECASE)
_META = re.compile(rb"<!--.*?(?:-->|\Z)|<script\b.*?(?:</script|\Z)|<meta[\s/]([^>]*)", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(rb"([^\s=/\"'>]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_XML_DECLARATION = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")
_HTML_LANG = re.compile(rb"<html\b[^>]*?\slang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)
_LANG_TLD = (
    {"lt": "lt", "lv": "lv", "et": "ee", "vi": "vn", "ja": "jp", "ko": "kr", "el": "gr", "he": "il"}
    | {code: code for code in ("ru", "bg", "pl", "hu", "ro", "tr", "th", "hr", "sk", "sl", "is")}
    | {"cs": "cz", "uk": "ua", "ar": "sa", "fa": "ir"}
)
_UNSURE = "\ufffd"


class Decoded(NamedTuple):
    """`source` says what named the encoding; `confidence` is 1.0 for a mark or a label that held true."""

    text: str
    encoding: str
    source: str
    confidence: float
    warning: str | None = None


def decode(body: bytes, *, content_type: str | None = None, tld: str | None = None) -> Decoded:
    """Text of an HTML, XML or plain-text body; never fails, drops U+0000, leaves no lone surrogate.

    WHATWG HTML 13.2.3.2 (encoding sniffing), with the meta prescan going beyond 1024 bytes. `tld` is the
    last label of the host, a hint for detection.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return Decoded(_clean(_decoded(body[len(mark) :], encoding)), encoding, "bom", 1.0)
    header = _header_encoding(content_type)
    if header == "utf-8" or header is None:
        try:
            text = body.decode()
        except UnicodeDecodeError:
            pass
        else:
            if header == "utf-8":
                return Decoded(_clean(text), "utf-8", "header", 1.0)
            if body.isascii():
                return _ascii(body, text)
            meta = _declared(body)
            if meta is None or meta == "utf-8":
                return Decoded(_clean(text), "utf-8", "meta" if meta else "detected", 1.0 if meta else 0.99)
    if header is not None:
        return _labelled(body, header, "header", tld)
    meta = _declared(body)
    if meta is not None:
        return _labelled(body, meta, "meta", tld)
    return _detected(body, tld)


def _ascii(body: bytes, text: str) -> Decoded:
    """All bytes are ASCII: any label will do, save for the escapes of ISO-2022-JP and unmarked UTF-16."""
    if b"\x1b" in body or b"\0" in body:
        wide = _wide(body)
        if wide is not None:
            return Decoded(_clean(_decoded(body, wide)), wide, "detected", 0.9)
        if b"\x1b$" in body or b"\x1b(" in body:
            return Decoded(_clean(_decoded(body, "iso-2022-jp")), "iso-2022-jp", "detected", 0.9)
    return Decoded(_clean(text), "utf-8", "ascii", 1.0)


def _labelled(body: bytes, encoding: str, source: str, tld: str | None) -> Decoded:
    """Decode by a label, unless the bytes plainly say that it lies."""
    if encoding == "replacement":
        # Browsers show nothing for these; the bytes may still be something else.
        found = _detected(body, tld)
        return found._replace(warning="the declared encoding is one that browsers refuse")
    if encoding == "utf-8":
        text = _decoded(body, "utf-8")
        bad = text.count(_UNSURE)
        # A cut sequence or a stray byte is a fault in UTF-8; every other character wrong is no UTF-8.
        marks = sum(1 for char in text[:_SAMPLE_BYTES] if char > "\x7f")
        if bad * 4 <= marks:
            share = bad / (marks or 1)
            return Decoded(_clean(text), "utf-8", source, 1.0 - share, f"{bad} byte sequences are no valid utf-8")
        found = _second_opinion(body, source) or _detected(body, tld)
        if _UNSURE in found.text:
            return Decoded(_clean(text), "utf-8", source, 0.3, f"{bad} byte sequences are no valid utf-8")
        return found._replace(warning=f"declared as utf-8 by its {source}, but the bytes are {found.encoding}")
    if not body.isascii():
        utf8 = _evident_utf8(body, encoding, agreed=source == "header" and _declared(body) == "utf-8")
        if utf8 is not None:
            note = f"declared as {encoding} by its {source}, but the bytes are utf-8"
            return Decoded(_clean(utf8), "utf-8", "detected", 0.9, note)
        if encoding == "windows-1252" and source == "header" and (second := _second_opinion(body, source)):
            # Servers put iso-8859-1 on everything; the page and its bytes agree that it is another.
            sample = body[:_SAMPLE_BYTES]
            if (
                second.encoding in _MULTIBYTE
                and encoding_of(detect(_without_labels(sample)).encoding or "") == second.encoding
            ):
                note = f"declared as iso-8859-1 by its header, but the page and its bytes say {second.encoding}"
                return second._replace(warning=note)
    text = _decoded(body, encoding)
    bad = text.count(_UNSURE)
    if bad:
        chars = len(text) - sum(text.count(char) for char in "\n \t")
        if bad * 20 > chars:
            found = _detected(body, tld)
            if found.text.count(_UNSURE) * 4 < bad and found.confidence > 0:
                return found._replace(warning=f"declared as {encoding}, but the bytes are {found.encoding}")
        return Decoded(
            _clean(text),
            encoding,
            source,
            1.0 - min(0.7, bad * 10 / (chars or 1)),
            f"{bad} byte sequences are no valid {encoding}",
        )
    return Decoded(_clean(text), encoding, source, 1.0)


def _second_opinion(body: bytes, source: str) -> Decoded | None:
    """What the page says of itself where its header lied, if the bytes bear it out."""
    meta = _declared(body) if source == "header" else None
    if meta is None or meta in {"utf-8", "replacement"}:
        return None
    text = _decoded(body, meta)
    return None if _UNSURE in text else Decoded(_clean(text), meta, "meta", 0.8)


def _evident_utf8(body: bytes, encoding: str, *, agreed: bool) -> str | None:
    """The body as UTF-8 if it is valid and too rich in multi-byte characters to be so by chance."""
    if encoding.startswith("utf-16"):
        # ASCII markup read as UTF-16 is nonsense, and real UTF-16 is full of zero bytes.
        return None if b"\0" in body[:1024] else _strict(body)
    text = _strict(body)
    if text is None:
        return None
    wide = len(body) - len(text)  # continuation bytes
    if agreed:
        return text
    return text if wide >= (8 if encoding in _MULTIBYTE else 2) and not _plausible(body, encoding) else None


def _plausible(body: bytes, encoding: str) -> bool:
    """Whether multi-byte text that also happens to be valid UTF-8 reads as well under its own label."""
    if encoding not in _MULTIBYTE:
        return False
    text = _decoded(body[:_SAMPLE_BYTES], encoding)
    found = detect(body[:_SAMPLE_BYTES])
    return _UNSURE not in text and encoding_of(found.encoding or "") == encoding


def _detected(body: bytes, tld: str | None) -> Decoded:
    text = _strict(body)
    if text is not None:
        return _ascii(body, text) if body.isascii() else Decoded(_clean(text), "utf-8", "detected", 0.99)
    wide = _wide(body)
    if wide is not None:
        return Decoded(_clean(_decoded(body, wide)), wide, "detected", 0.9)
    sample = _without_labels(body[:_SAMPLE_BYTES])
    hint = _hint(body, tld)
    match = detect(sample, Detection(tld=hint) if hint else None)
    encoding = encoding_of(match.encoding or "") or "windows-1252"
    if encoding == "utf-8":
        # Valid but for its last, cut character, or for a handful of broken ones.
        text = _decoded(body, "utf-8")
        bad = text.count(_UNSURE)
        note = f"{bad} byte sequences are no valid utf-8"
        return Decoded(_clean(text), "utf-8", "detected", 0.8, note)
    warning = None
    if match.confidence < 0.3 and encoding == "windows-1252":
        warning = "the encoding is not declared and was guessed as windows-1252"
    return Decoded(_clean(_decoded(body, encoding)), encoding, "detected", round(match.confidence, 2), warning)


def _hint(body: bytes, tld: str | None) -> str | None:
    """The country to expect: by the page's language, else by the host."""
    lang = _HTML_LANG.search(body[:4096])
    if lang is not None and (known := _LANG_TLD.get(lang[1].decode("ascii").lower())):
        return known
    if tld and len(tld) == 2 and tld.isascii() and tld.isalpha():
        return tld.lower()
    return None


def _without_labels(sample: bytes) -> bytes:
    """The sample without charset declarations, which the detector would believe."""
    return re.sub(rb"(?i)charset\s*=|encoding\s*=", b"x=", sample)


def _strict(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _decoded(body: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return body.decode("utf-8", "replace")
    if encoding.startswith("utf-16"):
        return body.decode(encoding, "replace")
    return body.decode(f"whatwg-{encoding}")


def _clean(text: str) -> str:
    return text.replace("\0", "") if "\0" in text else text


def _wide(body: bytes) -> str | None:
    """UTF-16 without a mark: nearly every second byte of Western text is zero."""
    head = body[:512]
    if len(head) < 8 or b"\0" not in head:
        return None
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > half * 0.6 and even < half * 0.1:
        return "utf-16le"
    if even > half * 0.6 and odd < half * 0.1:
        return "utf-16be"
    return None


def _header_encoding(content_type: str | None) -> str | None:
    if not content_type:
        return None
    for match in _CHARSET.finditer(content_type):
        encoding = encoding_of(match[1] or match[2] or match[3] or "")
        if encoding is not None:
            return encoding
    return None


def _declared(body: bytes) -> str | None:
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
        return _header_encoding(values.get("content"))
    return None


def _read_as(encoding: str) -> str:
    """The declaration itself was read as ASCII, so it can't be UTF-16; x-user-defined means windows-1252."""
    if encoding.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if encoding == "x-user-defined" else encoding


__all__ = ["Decoded", "decode"]
