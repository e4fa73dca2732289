"""From bytes to text: byte order mark, then header, then the page's own word, then detection (WHATWG order).

Departs from browsers where a label is evidently wrong, since nobody sees the mojibake of a crawl in time:
then the bytes decide, and the result carries a warning.
"""

from __future__ import annotations

from perseid.content.declared import declared_encoding, header_encoding
from perseid.content.guess import UNSURE, Decoded, ascii_text, detected, likeliest, read_as, strict_utf8

__all__ = ["Decoded", "decode"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_MULTIBYTE = frozenset({"gb18030", "big5", "euc-jp", "shift_jis", "euc-kr", "iso-2022-jp"})
_SAMPLE = 256 * 1024


def decode(body: bytes, *, content_type: str | None = None, tld: str | None = None) -> Decoded:
    """Text of an HTML, XML or plain-text body; never fails, drops U+0000, leaves no lone surrogate.

    WHATWG HTML 13.2.3.2 (encoding sniffing), with the meta prescan going beyond 1024 bytes. `tld` is the
    last label of the host, a hint for detection.
    """
    found = _decoded(body, content_type, tld)
    # Bytes are searched faster than text; no encoding makes U+0000 of anything but zeros.
    return found._replace(text=found.text.replace("\0", "")) if b"\0" in body and "\0" in found.text else found


def _decoded(body: bytes, content_type: str | None, tld: str | None) -> Decoded:
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return Decoded(read_as(body[len(mark) :], encoding), encoding, "bom", 1.0)
    header = header_encoding(content_type)
    if header is not None:
        return _labelled(body, header, "header", tld)
    meta = declared_encoding(body)
    if meta is not None:
        return _labelled(body, meta, "meta", tld)
    return detected(body, tld)


def _labelled(body: bytes, encoding: str, source: str, tld: str | None) -> Decoded:
    """Decode by a label, unless the bytes plainly say that it lies."""
    if encoding == "replacement":
        # Browsers show nothing for these; the bytes may still be something else.
        return detected(body, tld)._replace(warning="the declared encoding is one that browsers refuse")
    if encoding == "utf-8":
        text = strict_utf8(body)
        return _broken_utf8(body, source, tld) if text is None else Decoded(text, "utf-8", source, 1.0)
    if body.isascii() and not encoding.startswith(("utf-16", "iso-2022")):
        return Decoded(ascii_text(body, body.decode()).text, encoding, source, 1.0)
    return _contradicted(body, encoding, source) or _legacy(body, encoding, source, tld)


def _broken_utf8(body: bytes, source: str, tld: str | None) -> Decoded:
    """Labelled UTF-8, but not valid: a few stray bytes are a fault in UTF-8, many are no UTF-8."""
    text = read_as(body, "utf-8")
    bad = text.count(UNSURE)
    wide = sum(1 for char in text[:_SAMPLE] if char > "\x7f")
    fault = f"{bad} byte sequences are no valid utf-8"
    if bad * 4 <= wide:
        return Decoded(text, "utf-8", source, 1.0 - bad / wide, fault)
    found = _own_word(body, source) or detected(body, tld)
    if UNSURE in found.text:
        return Decoded(text, "utf-8", source, 0.3, fault)
    return found._replace(warning=f"declared as utf-8 by its {source}, but the bytes are {found.encoding}")


def _contradicted(body: bytes, encoding: str, source: str) -> Decoded | None:
    """Another reading that the bytes plainly favour over a legacy label."""
    text = _evident_utf8(body, encoding, agreed=source == "header" and declared_encoding(body) == "utf-8")
    if text is not None:
        note = f"declared as {encoding} by its {source}, but the bytes are utf-8"
        return Decoded(text, "utf-8", "detected", 0.9, note)
    if encoding == "windows-1252" and source == "header":
        # Servers put iso-8859-1 on everything; here the page and its bytes agree that it is another.
        second = _own_word(body, source)
        if second is not None and second.encoding in _MULTIBYTE and likeliest(body) == second.encoding:
            note = f"declared as iso-8859-1 by its header, but the page and its bytes say {second.encoding}"
            return second._replace(warning=note)
    return None


def _legacy(body: bytes, encoding: str, source: str, tld: str | None) -> Decoded:
    text = read_as(body, encoding)
    bad = text.count(UNSURE)
    if not bad:
        return Decoded(text, encoding, source, 1.0)
    chars = len(text) - sum(text.count(char) for char in "\n \t") or 1
    if bad * 20 > chars:
        found = detected(body, tld)
        if found.text.count(UNSURE) * 4 < bad and found.confidence > 0:
            return found._replace(warning=f"declared as {encoding}, but the bytes are {found.encoding}")
    fault = f"{bad} byte sequences are no valid {encoding}"
    return Decoded(text, encoding, source, 1.0 - min(0.7, bad * 10 / chars), fault)


def _own_word(body: bytes, source: str) -> Decoded | None:
    """What the page says of itself where its header lied, if the bytes bear it out."""
    meta = declared_encoding(body) if source == "header" else None
    if meta is None or meta in {"utf-8", "replacement"}:
        return None
    text = read_as(body, meta)
    return None if UNSURE in text else Decoded(text, meta, "meta", 0.8)


def _evident_utf8(body: bytes, encoding: str, *, agreed: bool) -> str | None:
    """The body as UTF-8 if it is valid and too rich in multi-byte characters to be so by chance."""
    if encoding.startswith("utf-16"):
        # ASCII markup read as UTF-16 is nonsense, and real UTF-16 is full of zero bytes.
        return None if b"\0" in body[:1024] else strict_utf8(body)
    text = strict_utf8(body)
    if text is None or agreed:
        return text
    continuations = len(body) - len(text)
    if encoding not in _MULTIBYTE:
        return text if continuations >= 2 else None
    # A few characters of a multi-byte encoding can be valid UTF-8 too.
    own = read_as(body[:_SAMPLE], encoding)
    plausible = UNSURE not in own and likeliest(body) == encoding
    return text if continuations >= 8 and not plausible else None
