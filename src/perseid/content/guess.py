"""Detects the encoding of bytes that nothing names: strict UTF-8 first, UTF-16 by its zeros, then statistics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from perseid.content.labels import encoding_of
from perseid.pattern import later

if TYPE_CHECKING:
    from turbohtml.detect import EncodingMatch

UNSURE = "\ufffd"
_SAMPLE_BYTES = 256 * 1024

_HTML_LANG = later(rb"<html\b[^>]*?\slang\s*=\s*[\"']?([A-Za-z]{2})", re.IGNORECASE)
_LABELS = later(rb"charset\s*=|encoding\s*=", re.IGNORECASE)
_COUNTRIES = {"lt": "lt", "lv": "lv", "et": "ee", "vi": "vn", "ja": "jp", "ko": "kr", "el": "gr", "he": "il"}
_COUNTRIES |= {"cs": "cz", "uk": "ua", "ar": "sa", "fa": "ir"}
_COUNTRIES |= {code: code for code in ("ru", "bg", "pl", "hu", "ro", "tr", "th", "hr", "sk", "sl", "is")}


class Decoded(NamedTuple):
    """`source` says what named the encoding; `confidence` is 1.0 for a mark or a label that held true."""

    text: str
    encoding: str
    source: str
    confidence: float
    warning: str | None = None


def strict_utf8(body: bytes) -> str | None:
    """The body as UTF-8, None if a single byte of it is not."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def read_as(body: bytes, encoding: str) -> str:
    """The text by the standard's decoder of that encoding, U+FFFD for what it can't be."""
    if encoding.startswith("utf-"):
        return body.decode(encoding, "replace")
    import turbohtml.detect  # noqa: PLC0415, F401  start-up time; registers these codecs

    return body.decode(f"whatwg-{encoding}")


def detected(body: bytes, tld: str | None = None) -> Decoded:
    """The best reading of bytes without a label; `tld` (the host's last label) is a hint."""
    text = strict_utf8(body)
    if text is not None:
        return ascii_text(body, text) if body.isascii() else Decoded(text, "utf-8", "detected", 0.99)
    wide = unmarked_utf16(body)
    if wide is not None:
        return Decoded(read_as(body, wide), wide, "detected", 0.9)
    match = _by_statistics(body, _country(body, tld))
    encoding = encoding_of(match.encoding or "") or "windows-1252"
    text = read_as(body, encoding)
    if encoding == "utf-8":
        # Valid but for its last, cut character, or for a handful of broken ones.
        note = f"{text.count(UNSURE)} byte sequences are no valid utf-8"
        return Decoded(text, encoding, "detected", 0.8, note)
    warning = None
    if match.confidence < 0.3 and encoding == "windows-1252":
        warning = "the encoding is not declared and was guessed as windows-1252"
    return Decoded(text, encoding, "detected", round(match.confidence, 2), warning)


def _by_statistics(body: bytes, country: str | None) -> EncodingMatch:
    from turbohtml.detect import Detection, detect  # noqa: PLC0415  start-up time, and most pages are UTF-8

    return detect(_without_labels(body), Detection(tld=country) if country else None)


def likeliest(body: bytes) -> str | None:
    """The encoding that the statistics alone would choose."""
    return encoding_of(_by_statistics(body, None).encoding or "")


def ascii_text(body: bytes, text: str) -> Decoded:
    """All bytes are ASCII: any label will do, save for the escapes of ISO-2022-JP and unmarked UTF-16."""
    if b"\x1b" in body or b"\0" in body:
        wide = unmarked_utf16(body)
        if wide is not None:
            return Decoded(read_as(body, wide), wide, "detected", 0.9)
        if b"\x1b$" in body or b"\x1b(" in body:
            return Decoded(read_as(body, "iso-2022-jp"), "iso-2022-jp", "detected", 0.9)
    return Decoded(text, "utf-8", "ascii", 1.0)


def unmarked_utf16(body: bytes) -> str | None:
    """UTF-16 without a mark: nearly every second byte of Western text is zero."""
    head = body[:512]
    if len(head) < 8 or b"\0" not in head:
        return None
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > half * 0.6 and even < half * 0.1:
        return "utf-16le"
    return "utf-16be" if even > half * 0.6 and odd < half * 0.1 else None


def _country(body: bytes, tld: str | None) -> str | None:
    """The country to expect: by the page's language, else by the host."""
    lang = _HTML_LANG.search(body[:4096])
    if lang is not None and (known := _COUNTRIES.get(lang[1].decode("ascii").lower())):
        return known
    return tld.lower() if tld and len(tld) == 2 and tld.isascii() and tld.isalpha() else None


def _without_labels(body: bytes) -> bytes:
    """A sample without charset declarations, which the detector would believe."""
    return _LABELS.sub(b"x=", body[:_SAMPLE_BYTES])
