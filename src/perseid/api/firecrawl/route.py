"""The class of all routes here: whatever goes wrong in one becomes an answer of this API."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from perseid.api.firecrawl.body.issues import PLAIN
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError, wire_error

_DEPRECATED = {"Deprecation": "true", "Warning": '299 - "Deprecated API"'}
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class WireRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                return _of_parameters(error).response()
            except Exception as error:  # noqa: BLE001 - logged under the id that the caller is told
                return wire_error(error, request.url.path).response()

        return handle


class DeprecatedRoute(WireRoute):
    """A route that Firecrawl has given up: every answer of it says so (RFC 9745)."""

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = await handler(request)
            response.headers.update(_DEPRECATED)
            return response

        return handle


def _of_parameters(error: RequestValidationError) -> WireError:
    """Of the query or the path: bodies are read elsewhere."""
    issues = [
        {"code": "invalid_type", "path": [*map(str, detail["loc"])], "message": detail["msg"]}
        for detail in error.errors()
    ]
    return WireError(400, PLAIN, BAD_REQUEST, issues)
