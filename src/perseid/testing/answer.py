"""What the scriptable site received, and what it is to send: answers both honest and broken."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

Coding = Literal["gzip", "deflate", "br", "zstd"]


@dataclass(slots=True)
class Request:
    """One request as it arrived."""

    at_s: float
    """`time.monotonic()` at arrival; `ended_s` when its answer was handed to the socket."""
    method: str
    host: str
    """The name the site knows the host by: its Host header where that is known, else that of the port."""
    path: str
    """Path with query, as sent."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes = b""
    concurrent: int = 1
    """Requests being answered at arrival, this one included."""
    concurrent_host: int = 1
    """The same for its host alone."""
    ended_s: float | None = None

    @property
    def bare_path(self) -> str:
        return self.path.partition("?")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. Without the fields below `headers` it is an honest one."""

    status: int = 200
    body: bytes | str = b""
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = field(default_factory=dict)
    """Content-Type, Content-Length and Connection are added where they are missing."""
    coding: Coding | None = None
    """Compress the body and say so."""
    delay_s: float = 0.0
    """Before the first byte."""
    after: asyncio.Event | None = None
    """No byte before this is set, in the loop that the site runs in."""
    trickle_s: float | None = None
    """Between pieces of `trickle_bytes` of the body."""
    trickle_bytes: int = 1
    content_length: int | None = None
    """Told instead of the truth."""
    chunked: bool = False
    last_chunk: bool = True
    cut_after: int | None = None
    """Close the connection after so many bytes of the body."""
    reset: bool = False
    """End with a TCP reset: before the head, or where `cut_after` says."""
    hang: bool = False
    """Never send a byte."""
    endless: bool = False
    """Send the body over and over, until the client goes."""
    close: bool = False
    """Close the connection after the answer."""
    raw: bytes | None = None
    """These very bytes instead of a head and a body; then the connection is closed."""

    @property
    def plain(self) -> bool:
        """Nothing slow or broken about it: it can be sent in one go."""
        return not (
            self.delay_s
            or self.after is not None
            or self.trickle_s is not None
            or self.cut_after is not None
            or self.reset
            or self.hang
            or self.endless
        )

    def payload(self) -> bytes:
        """The body as sent, compressed where that is asked."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        return body if self.coding is None else compress(body, self.coding)

    def head(self, payload: bytes, *, close: bool) -> bytes:
        """Status line and headers, with the empty line."""
        pairs = self.headers if isinstance(self.headers, tuple) else tuple(self.headers.items())
        names = {name.lower() for name, _ in pairs}
        try:
            reason = HTTPStatus(self.status).phrase
        except ValueError:
            reason = "Unknown"
        lines = [f"HTTP/1.1 {self.status} {reason}", *(f"{name}: {value}" for name, value in pairs)]
        if "content-type" not in names:
            lines.append("Content-Type: text/html; charset=utf-8")
        if self.coding is not None:
            lines.append(f"Content-Encoding: {self.coding}")
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif "content-length" not in names and not self.endless and self.status not in {204, 304}:
            length = len(payload) if self.content_length is None else self.content_length
            lines.append(f"Content-Length: {length}")
        if close and "connection" not in names:
            lines.append("Connection: close")
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"


def compress(body: bytes, coding: Coding) -> bytes:
    """`body` in a content coding; br and zstd need their packages, which Perseid brings along."""
    match coding:
        case "gzip":
            return gzip.compress(body, mtime=0)
        case "deflate":
            return zlib.compress(body)
        case "br":
            return bytes(import_module("brotli").compress(body))
        case "zstd":
            try:
                module = import_module("compression.zstd")
            except ModuleNotFoundError:  # before Python 3.14
                module = import_module("backports.zstd")
            return bytes(module.compress(body))


def zip_bomb(inflated_bytes: int, *, start: bytes = b"") -> bytes:
    """A gzip body that inflates to `start` and then blanks, about a thousandth of their size."""
    block = b" " * 1_048_576
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(start)]
    left = inflated_bytes - len(start)
    while left > 0:
        parts.append(packer.compress(block[:left]))
        left -= len(block)
    return b"".join(parts) + packer.flush()
