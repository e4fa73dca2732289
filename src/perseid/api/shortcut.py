"""A short way for requests that are made very often: around the framework's layers, to the same answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from perseid.api.limits import BodyLimits
from perseid.api.metrics import Counting

VARY = (b"vary", b"Origin")
"""Stands in every answer to a request that names no origin; others take the long way."""


class Application(FastAPI):
    """The way is taken for exactly these methods and paths; the route it leads around describes it."""

    def __init__(self, **told: Any) -> None:
        super().__init__(**told)
        self._short: dict[tuple[str, str], ASGIApp] = {}

    def shorten(self, method: str, path: str, app: ASGIApp) -> None:
        self._short[method, path] = Counting(BodyLimits(app), route=path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        short = self._short.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if short is None or _names_origin(scope["headers"]):
            await super().__call__(scope, receive, send)
        else:
            scope["app"] = self
            await short(scope, receive, send)


def _names_origin(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"origin" for name, _value in headers)
