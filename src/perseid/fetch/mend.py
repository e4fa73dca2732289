"""Read the heads that real servers send: what browsers pass over in silence is mended before it is parsed.

The parser behind us refuses a whole answer for one line without a colon or a Content-Length sent twice.
Heads are collected up to a bound, mended where they need it, and handed on; bodies pass untouched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    import asyncio

MAX_HEAD_BYTES = 256 * 1024

_HEAD_END = re.compile(rb"\n\r?\n")
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SOUND = re.compile(
    rb"\s*HTTP/1\.[01] \d{3}[^\0\n]*\n(?:(?!content-length|transfer-encoding)" + _TOKEN + rb":[^\0\n]*\n"
    rb"|content-length:[ \t]*\d+[ \t]*\r?\n|transfer-encoding:[ \t]*chunked\r?\n)*\r?\n",
    re.IGNORECASE,
)
_FIELD = re.compile(rb"(" + _TOKEN + rb")[ \t]*:(.*)", re.DOTALL)
_STATUS_LINE = re.compile(rb"HTTP/(?:(1\.[01])|[0-9.]+)[ \t]+(\d{3})(.*)", re.IGNORECASE | re.DOTALL)


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


class MalformedBody(ClientPayloadError):
    """The framing of the body makes no sense, as opposed to a body that just ends early."""


class LenientHandler(ResponseHandler):
    """The library's protocol, with each head passing through `mend_head` first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._in_head = False
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._seam = b""

    def set_response_params(self, **parameters: Any) -> None:
        self._in_head = True
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        if self._in_head and data:
            data = self._whole_heads(data)
            if not data:
                return
        self._parse(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._waiting:
            # Half a head: the parser knows best what is wrong with it.
            self._in_head = False
            self._parse(self._take_waiting())
        super().connection_lost(exc)

    def _whole_heads(self, data: bytes) -> bytes:
        """What may be parsed by now; half a head waits for the rest of it, up to the bound."""
        seam = self._seam + data
        self._seam = seam[-3:]  # a blank line may be torn
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        start = self._waiting[0][:9].lstrip(b"\r\n")[:5].upper()
        if self._waiting_bytes > MAX_HEAD_BYTES or not b"HTTP/".startswith(start):
            # Past hope, or whole already and with much body behind it.
            return self._mended(self._take_waiting())
        if _HEAD_END.search(seam) is None:
            return b""
        return self._mended(self._take_waiting())

    def _take_waiting(self) -> bytes:
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        self._seam = b""
        return data

    def _mended(self, data: bytes) -> bytes:
        """`data` with its heads mended; without a whole head it goes to the parser, to be refused."""
        done: list[bytes] = []
        while self._in_head and data:
            end = _HEAD_END.search(data)
            if end is None:
                if done:  # an interim answer is whole, the next head is not
                    self._waiting.append(data)
                    self._waiting_bytes = len(data)
                    self._seam = data[-3:]
                    return b"".join(done)
                self._in_head = False
                break
            head, data = data[: end.end()], data[end.end() :]
            status = head.lstrip(b"\r\n")[9:12]
            self._in_head = status.startswith(b"1") and status != b"101"
            if not is_sound(head):
                self.force_close()  # such a server may miscount on the next answer too
                head = mend_head(head)
            done.append(head)
        return b"".join([*done, data])

    def _parse(self, data: bytes) -> None:
        payload = self._payload
        super().data_received(data)
        # The library tells the waiting request of an error in the head, but forgets a body being read.
        if (error := self.exception()) is not None:
            payload = payload or self._payload
            if payload is not None and not payload.is_eof() and payload.exception() is None:
                payload.set_exception(MalformedBody(str(error.__cause__ or error)))
