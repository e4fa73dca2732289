"""The head of a markdown file: YAML that every parser reads back as it was meant (YAML 1.1 and 1.2)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from perseid.model.document import Document

# Text that needs no quotes: begins with a letter, holds nothing that YAML reads as punctuation, ends in a word.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./()+-]|[ :](?=[A-Za-z0-9/(+]))*(?<![:])", re.ASCII)
_COLON_SPACE = re.compile(r": ")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# What YAML doesn't print, reads as a line break, or can't hold.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FROM_METADATA = ("description", "language", "author", "publishedTime", "modifiedTime")


def front_matter(document: Document) -> str:
    """`---` … `---` with URL, title, status and what the page says about itself; ends in a line break."""
    lines = ["---", f"url: {scalar(document.url)}"]
    if document.source_url != document.url:
        lines.append(f"source_url: {scalar(document.source_url)}")
    if document.title:
        lines.append(f"title: {scalar(document.title)}")
    lines.append(f"status: {document.status:d}")
    if document.content_type:
        lines.append(f"content_type: {scalar(document.content_type)}")
    if document.fetched_at:
        lines.append(f"fetched_at: {_instant(document.fetched_at)}")
    metadata = document.metadata
    for name in _FROM_METADATA:
        value = metadata.get(name)
        if isinstance(value, str) and value:
            lines.append(f"{name}: {scalar(value)}")
        elif isinstance(value, list):
            lines.append(f"{name}: [{', '.join(quoted(str(part)) for part in value)}]")
    lines.append("---\n")
    return "\n".join(lines)


def scalar(text: str) -> str:
    """A text as YAML: bare where that can't be misread, else in double quotes."""
    if _PLAIN.fullmatch(text) and len(text) < 1000 and text.lower() not in _WORDS and not _COLON_SPACE.search(text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """In double quotes. JSON's escapes are YAML's; some characters need one only in YAML."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _lonely(text) else text
    encoded = orjson.dumps(text).decode()
    if _UNPRINTABLE.search(encoded):
        encoded = _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", encoded)
    return encoded


def _lonely(text: str) -> bool:
    """A lone surrogate would not encode; it becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _instant(micros: int) -> str:
    return _second(micros // 1_000_000) or str(micros)


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """One for all pages of a second; "" for what no calendar holds."""
    try:
        at = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return ""
    return f'"{at.strftime("%Y-%m-%dT%H:%M:%SZ")}"'
