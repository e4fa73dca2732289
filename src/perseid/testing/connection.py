"""One connection of the scriptable site: HTTP/1.1 by hand, low enough to get it wrong on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.testing.answer import Answer, Request

_MAX_HEAD = 256 * 1024


class Server(Protocol):
    """What a connection asks of its site."""

    connections: set[Connection]

    def arrived(self, request: Request, port_host: str) -> Answer: ...

    def ended(self, request: Request) -> None: ...


class Connection(asyncio.Protocol):
    """Reads requests one after the other; honest answers are sent at once, others by a task."""

    def __init__(self, server: Server, host: str, make_request: Callable[..., Request]) -> None:
        self._server = server
        self._host = host
        self._make_request = make_request
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the loop's signature
        self._server.connections.discard(self)
        self._transport = None
        self._lost.set()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._task is None:
            self._next()

    async def drop(self) -> None:
        """Break the connection off, and return once nothing of it runs any more."""
        task = self._task
        if self._transport is not None:
            self._transport.abort()
        await self._lost.wait()
        if task is not None:
            await asyncio.wait([task])

    def _next(self) -> None:
        """Answer what has arrived whole, up to the first answer that takes time."""
        while self._transport is not None and not self._transport.is_closing() and self._task is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAX_HEAD:
                    self._transport.abort()
                return
            method, path, headers = _parse(bytes(self._buffer[:end]))
            length = int(headers.get("content-length", "0")) if method not in {"GET", "HEAD"} else 0
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            request = self._make_request(method, path, headers, body)
            answer = self._server.arrived(request, self._host)
            if answer.plain:
                self._write_whole(request, answer)
                self._server.ended(request)
            else:
                self._task = asyncio.get_running_loop().create_task(self._take_time(request, answer))

    def _write_whole(self, request: Request, answer: Answer) -> None:
        transport = self._transport
        if transport is None:
            return
        if answer.raw is not None:
            transport.write(answer.raw)
            transport.close()
            return
        payload = answer.payload()
        close = answer.close or _wants_close(request) or not _delimited(answer, payload)
        body = b"" if request.method == "HEAD" or answer.status in {204, 304} else payload
        if answer.chunked:
            body = _chunk(body) + (b"0\r\n\r\n" if answer.last_chunk else b"")
        transport.write(answer.head(payload, close=close) + body)
        if close:
            transport.close()

    async def _take_time(self, request: Request, answer: Answer) -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await self._misbehave(request, answer)
        finally:
            self._server.ended(request)
            self._task = None
        self._next()

    async def _misbehave(self, request: Request, answer: Answer) -> None:
        if answer.hang:
            await asyncio.Event().wait()
        if answer.after is not None:
            await answer.after.wait()
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        if answer.reset and answer.cut_after is None:
            self._reset()
            return
        if answer.trickle_s is None and answer.cut_after is None and not answer.endless:
            self._write_whole(request, answer)
            return
        payload = answer.payload()
        close = answer.close or _wants_close(request) or answer.endless or answer.cut_after is not None
        self._write(answer.head(payload, close=close))
        await self._send_body(answer, payload[: answer.cut_after])
        if answer.cut_after is not None and answer.reset:
            await asyncio.sleep(0.05)  # what was written is to arrive before the reset overtakes it
            self._reset()
        elif self._transport is not None and (close or not _delimited(answer, payload)):
            self._transport.close()

    async def _send_body(self, answer: Answer, payload: bytes) -> None:
        size = answer.trickle_bytes if answer.trickle_s is not None else max(1, len(payload))
        while True:
            for at in range(0, len(payload), size):
                piece = payload[at : at + size]
                self._write(_chunk(piece) if answer.chunked else piece)
                await self._writable.wait()
                if answer.trickle_s is not None:
                    await asyncio.sleep(answer.trickle_s)
            if not answer.endless:
                break
            await asyncio.sleep(0)
        if answer.chunked and answer.last_chunk and answer.cut_after is None:
            self._write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        self._transport.write(data)

    def _reset(self) -> None:
        if self._transport is None:
            return
        raw = self._transport.get_extra_info("socket")
        # Lingering for no time makes the kernel send RST instead of FIN.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def _parse(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
    method, _, rest = first.partition(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    path = rest.rpartition(" ")[0]
    if path.startswith("http://"):
        # Asked as a proxy, which the site thereby can play too.
        headers["host"], _, path = path.removeprefix("http://").partition("/")
        path = f"/{path}"
    return method, path, headers


def _wants_close(request: Request) -> bool:
    return request.headers.get("connection", "").lower() == "close"


def _delimited(answer: Answer, payload: bytes) -> bool:
    """Whether the client can tell where the answer ends without the connection being closed."""
    if answer.chunked:
        return answer.last_chunk
    return answer.content_length in {None, len(payload)}


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b""
