"""The head of an answer: mended where it needs it, read within bounds, and what it says of the body's framing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from perseid.fetch.broken import MalformedHead
from perseid.fetch.headers import read_headers
from perseid.fetch.mend import is_sound, mend_head

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_HEAD_BYTES = 256 * 1024
HEAD_END = re.compile(rb"\n\r?\n")

# Long policies and many cookies are common; the whole head is bounded by the product.
_MAX_STATUS_LINE = 16 * 1024
_MAX_FIELD = MAX_HEAD_BYTES // 4
_MAX_FIELDS = 256
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3})(?!\d)[ \t]*([^\r\n]*)")
_BODILESS = frozenset({204, 304})


class Head(NamedTuple):
    """Status and headers, names in lower case; `known` holds the first value of each name."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    known: dict[str, str]
    length: int | None
    """Bytes of the body, where they are announced; 0 where there can be none."""
    chunked: bool
    keep: bool
    """The connection may serve another request."""


def read_head(data: bytes) -> Head:
    """Read one whole head, its blank line included. Raises `MalformedHead`."""
    sound = is_sound(data)
    if not sound:
        data = mend_head(data)
    match = _STATUS_LINE.match(data)
    if match is None or match.end() > _MAX_STATUS_LINE:
        raise MalformedHead(f"{data[:40]!r} is no status line")
    headers = _headers(data[match.end() :])
    known = dict(reversed(headers))
    status = int(match[2])
    chunked, length = _framing(headers, known)
    if status in _BODILESS:
        # After a 204 that announces a body all the same, one may come: as if it were the next answer.
        sound = sound and (status == 304 or not (chunked or length))
        chunked, length = False, 0
    # A server whose head needed mending may miscount on the next answer too.
    keep = sound and (chunked or length is not None) and _keeps(known, http_1_0=match[1] == b"0")
    return Head(status, match[3].decode("latin-1"), headers, known, length, chunked, keep)


def _headers(data: bytes) -> tuple[tuple[str, str], ...]:
    """All at once where it is text and short, as nearly always."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or len(data) > _MAX_FIELD or text.count("\r") != text.count("\r\n"):
        return read_headers(_fields(data))
    lines = text.replace("\r\n", "\n").split("\n")[1:-2]
    if len(lines) > _MAX_FIELDS:
        raise MalformedHead(f"more than {_MAX_FIELDS} headers")
    return tuple([(name.lower(), value.strip(" \t")) for name, _, value in [line.partition(":") for line in lines]])


def _fields(data: bytes) -> Sequence[tuple[bytes, bytes]]:
    lines = data.split(b"\n")[1:-2]
    if len(lines) > _MAX_FIELDS:
        raise MalformedHead(f"more than {_MAX_FIELDS} headers")
    if len(data) > _MAX_FIELD and max(map(len, lines)) > _MAX_FIELD:
        raise MalformedHead(f"a header of more than {_MAX_FIELD:,} bytes")
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise MalformedHead(f"{line[:40]!r} is no header")
        value = value.strip(b" \t\r")
        fields.append((name, value if b"\r" not in value else value.replace(b"\r", b" ")))
    return fields


def _framing(headers: tuple[tuple[str, str], ...], known: dict[str, str]) -> tuple[bool, int | None]:
    """(chunked, length); neither where the end of the connection ends the body (RFC 9112, 6.3)."""
    coding = known.get("transfer-encoding")
    if coding is not None:
        return coding.lower().rpartition(",")[2].strip() == "chunked", None
    length = known.get("content-length")
    if length is None:
        return False, None
    if not (length.isascii() and length.isdecimal()) or len(length) > 18:
        raise MalformedHead(f"Content-Length {length[:40]!r} is no length")
    if any(name == "content-length" and value != length for name, value in headers):
        raise MalformedHead("two different Content-Lengths")
    return False, int(length)


def _keeps(known: dict[str, str], *, http_1_0: bool) -> bool:
    wish = known.get("connection")
    if wish is None:
        return not http_1_0
    options = {option.strip() for option in wish.lower().split(",")}
    return "keep-alive" in options if http_1_0 else "close" not in options
