"""Mend the heads that real servers send: what browsers pass over in silence becomes valid HTTP/1.1."""

from __future__ import annotations

import re

from perseid.pattern import later

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SOUND = re.compile(
    rb"\s*HTTP/1\.[01] \d{3}[^\0\n]*\n(?:(?!content-length|transfer-encoding)" + _TOKEN + rb":[^\0\n]*\n"
    rb"|content-length:[ \t]*\d+[ \t]*\r?\n|transfer-encoding:[ \t]*chunked\r?\n)*\r?\n",
    re.IGNORECASE,
)
_FIELD = later(rb"(" + _TOKEN + rb")[ \t]*:(.*)", re.DOTALL)
_STATUS_LINE = later(rb"HTTP/(?:(1\.[01])|[0-9.]+)[ \t]+(\d{3})(.*)", re.IGNORECASE | re.DOTALL)


def is_sound(head: bytes) -> bool:
    """Nothing needs mending: every line is a field, and one field at most frames the body."""
    if _SOUND.fullmatch(head) is None:
        return False
    lowered = head.lower()
    return lowered.count(b"\ncontent-length") + lowered.count(b"\ntransfer-encoding") <= 1


def mend_head(head: bytes) -> bytes:
    """A head that says the same in valid HTTP/1.1; what is ambiguous is left for the parser to refuse.

    Lines that are no fields are dropped, NUL becomes a space, Content-Length repeated with one value counts
    once, and Transfer-Encoding wins over Content-Length (RFC 9112, 6.3).
    """
    status_line, *lines = head.replace(b"\0", b" ").lstrip(b"\r\n").split(b"\n")
    match = _STATUS_LINE.match(status_line)
    if match is None:
        return head
    version = match[1] or b"1.1"
    start = b"HTTP/" + version + b" " + match[2] + match[3].rstrip(b"\r")
    fields = _framed_once(_fields(lines))
    return b"\r\n".join([start, *(name + b": " + value for name, value in fields), b"", b""])


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Names and values, folded lines joined to the one they continue (RFC 9112, 5.2)."""
    fields: list[tuple[bytes, list[bytes]]] = []
    dropped: list[bytes] = []
    value = dropped
    for line in lines:
        text = line.rstrip(b"\r")
        if text[:1] in (b" ", b"\t"):
            value.append(text.strip())
            continue
        field = _FIELD.fullmatch(text)
        value = dropped
        if field is not None:
            value = [field[2].strip()]
            fields.append((field[1], value))
    return [(name, b" ".join(parts)) for name, parts in fields]


def _framed_once(fields: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    lengths = [value for name, value in fields if name.lower() == b"content-length" and value]
    codings = [value for name, value in fields if name.lower() == b"transfer-encoding"]
    rest = [(name, value) for name, value in fields if name.lower() not in (b"content-length", b"transfer-encoding")]
    coding = b", ".join(codings)
    if coding and coding.lower() != b"identity":
        return [*rest, (b"Transfer-Encoding", coding)]
    distinct = {part.strip() for value in lengths for part in value.split(b",")}
    return [*rest, *((b"Content-Length", value) for value in sorted(distinct))]
