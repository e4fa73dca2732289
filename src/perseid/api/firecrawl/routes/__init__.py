"""One file per noun; each makes a router for the version it is given. `install` hangs them all into an application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route

from perseid.api.firecrawl.dialect import V1, V2
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
from perseid.api.firecrawl.slash import OURS, Slashes
from perseid.api.shortcut import Application

Handler = Callable[[Request, Exception], Response | Awaitable[Response]]

# Before those with an id in the path come those that would be taken for one.
_NOUNS = (scrape, batch, crawl, preview, mapping, search, extract, parse, account, status, ws)


def install(app: Application) -> None:
    """Both versions, and answers in their form to whatever nobody routes below their paths."""
    app.add_middleware(Slashes)
    routers = [health.routes, *(noun.router(dialect) for dialect in (V2, V1) for noun in _NOUNS), absent.routes]
    for router in routers:
        app.include_router(router)
    for dialect in (V2, V1):
        app.shorten("POST", f"{dialect.prefix}/scrape", scrape.direct(dialect))
    routes = [route for router in routers for route in router.routes if isinstance(route, Route)]
    app.add_exception_handler(HTTPException, _unrouted(app.exception_handlers.get(HTTPException), routes))


def _unrouted(other: Handler | None, routes: Sequence[Route]) -> Handler:
    """The handler of the application for other paths; for ours one that speaks as the rest of this API does."""

    async def handle(request: Request, error: Exception) -> Response:
        if request.url.path.startswith(OURS) or other is None:
            answer = wire_error(error, request.url.path).response()
            if answer.status_code == 405:
                answer.headers["Allow"] = ", ".join(_methods(routes, request))
            return answer
        answered = other(request, error)
        return await answered if isinstance(answered, Awaitable) else answered

    return handle


def _methods(routes: Sequence[Route], request: Request) -> list[str]:
    """What a path takes: the methods of one address are several routes, of which the router names the first."""
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in matching for method in route.methods or ()})
