"""One file per noun; each makes a router for the version it is given. `install` hangs them all into an application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from perseid.api.firecrawl.dialect import V1, V2, Dialect
from perseid.api.firecrawl.errors import wire_error
from perseid.api.firecrawl.routes import (
    absent,
    account,
    batch,
    crawl,
    extract,
    health,
    mapping,
    parse,
    preview,
    scrape,
    search,
    status,
    ws,
)

Handler = Callable[[Request, Exception], Response | Awaitable[Response]]

# Before those with an id in the path come those that would be taken for one.
_NOUNS = (scrape, batch, crawl, preview, mapping, search, extract, parse, account, status, ws)
_OURS = (V1.prefix + "/", V2.prefix + "/")


def install(app: FastAPI) -> None:
    """Both versions, and answers in their form to whatever nobody routes below their paths."""
    app.include_router(health.routes)
    for dialect in (V1, V2):
        _include(app, dialect)
    app.include_router(absent.routes)
    app.add_exception_handler(HTTPException, _unrouted(app))


def _include(app: FastAPI, dialect: Dialect) -> None:
    for noun in _NOUNS:
        app.include_router(noun.router(dialect))


def _unrouted(app: FastAPI) -> Handler:
    """The handler of the application for other paths; for ours one that speaks as the rest of this API does."""
    other = app.exception_handlers.get(HTTPException)

    async def handle(request: Request, error: Exception) -> Response:
        if request.url.path.startswith(_OURS) or other is None:
            return wire_error(error, request.url.path).response()
        answered = other(request, error)
        return await answered if isinstance(answered, Awaitable) else answered

    return handle
