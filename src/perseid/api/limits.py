"""What a client may send, and for how long: bodies too large or too slow are refused as they are read."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_UPLOAD_BYTES = 51 * 1024 * 1024
"""A document of 50 MB in its multipart envelope."""
_BODY_TIMEOUT_S = 60.0
_DISCARDED_BYTES = 64 * 1024 * 1024
_DISCARD_S = 5.0
_UPLOADS = ("/v2/parse",)
# The rest of the body is not wanted: neither is the connection it would come on.
_CLOSE = {"Connection": "close"}


class BodyLimits:
    """ASGI middleware; refuses through the application's own error handlers."""

    def __init__(self, app: ASGIApp, *, timeout_s: float = _BODY_TIMEOUT_S) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            receive = self._bounded(scope, receive)
        await self._app(scope, receive, send)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        most = MAX_UPLOAD_BYTES if scope["path"].startswith(_UPLOADS) else MAX_BODY_BYTES
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        size = int(declared) if declared.isdigit() and int(declared) > most else 0
        more = True
        until = asyncio.get_running_loop().time() + self._timeout_s

        async def bounded() -> Message:
            nonlocal size, more
            if not more:
                return await receive()  # waits for the client to go away
            if size <= most:
                try:
                    async with asyncio.timeout_at(until):
                        message = await receive()
                except TimeoutError:
                    raise HTTPException(408, "Request body took too long", _CLOSE) from None
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
                if size <= most:
                    return message
            if more:
                await _discard(receive)
            raise HTTPException(413, "Request body is too large", _CLOSE)

        return bounded


async def _discard(receive: Receive) -> None:
    """Read on for a while: who is cut off while it sends never gets to see the answer."""
    left = _DISCARDED_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
