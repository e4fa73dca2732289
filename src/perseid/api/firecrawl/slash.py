"""Addresses that end in a slash are those that don't: a redirect would cost clients the body they sent."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

OURS = ("/v0/", "/v1/", "/v2/")
"""What the paths of this API begin with."""


class Slashes:
    """ASGI middleware for the paths of this API."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            path: str = scope["path"]
            if path.endswith("/") and path.startswith(OURS) and path not in OURS:
                scope = {**scope, "path": path.rstrip("/")}
        await self._app(scope, receive, send)
