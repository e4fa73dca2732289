"""Probes of a process that serves nothing else: /live, /ready and /metrics over a small HTTP listener.

For whoever restarts us and whoever counts. It reads one request line, answers, and closes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from perseid.errors import StoreUnavailable

_PATIENCE_S = 5.0
_HEAD_BYTES = 8 * 1024
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error", 503: "Unavailable"}


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "application/json"


Probe = Callable[[], Awaitable[Answer]]


def told(*, ok: bool, **fields: object) -> Answer:
    """200 or 503, with what was found."""
    body = msgspec.json.encode({"status": "ok" if ok else "unavailable", **fields})
    return Answer(200 if ok else 503, body)


@asynccontextmanager
async def probes(host: str, port: int, routes: dict[str, Probe]) -> AsyncIterator[int]:
    """Answer while the body runs; the port. Raises `StoreUnavailable` where it is taken."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_wire(head, await _answer(head, routes)))
                    await writer.drain()
            finally:
                writer.close()

    try:
        server = await asyncio.start_server(answer, host, port, limit=_HEAD_BYTES)
    except OSError as error:
        raise StoreUnavailable(
            f"can't answer probes on {host}:{port} ({error.strerror}); is the port taken? --probe-port names another"
        ) from error
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def _answer(head: bytes, routes: dict[str, Probe]) -> Answer:
    method, target, *_ = [*head.split(b"\r\n", 1)[0].split(b" "), b"", b""]
    probe = routes.get(target.partition(b"?")[0].decode("ascii", "replace"))
    if probe is None:
        return Answer(404, b'{"error":"there are /live, /ready and /metrics"}')
    if method not in (b"GET", b"HEAD"):
        return Answer(405, b'{"error":"only GET"}')
    try:
        return await probe()
    except Exception as error:  # noqa: BLE001 - whoever asks is to know; what is probed goes on
        return Answer(500, msgspec.json.encode({"error": repr(error)[:200]}))


def _wire(head: bytes, answer: Answer) -> bytes:
    lines = (
        f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    text = "\r\n".join(lines).encode("ascii") + b"\r\n\r\n"
    return text if head.startswith(b"HEAD ") else text + answer.body
