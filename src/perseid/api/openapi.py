"""The description of the interface, and a page that shows it without asking any other server."""

from __future__ import annotations

from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse

_PROBLEM = {
    "type": "object",
    "description": "RFC 9457",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "Stable code"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "For people"},
    },
}
_FIRECRAWL = ("/v1/", "/v2/")
_OURS = ("/api/", "/dispatch", "/metrics")
_ANYWHERE = {
    "401": "No key, or none that is known",
    "429": "Too many requests",
    "500": "A fault of the server; its log has it under the id that is told",
    "503": "The store is away; ask again",
}
_OF_BODIES = {
    "400": "The body can't be read",
    "408": "The body took too long",
    "413": "The body is too large",
}
_METHODS = ("get", "post", "put", "patch", "delete")


def install(app: FastAPI, *, docs: bool) -> None:
    """Let the application describe itself, and serve the description as a page under /docs."""
    described: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not described:
            described.update(_describe(app))
        return described

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents
    if docs:
        page = resources.files("perseid.api").joinpath("docs.html").read_text("utf-8")

        @app.get("/docs", include_in_schema=False)
        async def show() -> HTMLResponse:
            return HTMLResponse(page)


def _describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="Perseid",
        version=app.version,
        openapi_version="3.1.0",
        description="Firecrawl's API v1 and v2, and Perseid's own resources under /api.",
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = _PROBLEM
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}, {}]
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                _settle_errors(path, item[method])
    return document


def _settle_errors(path: str, operation: dict[str, Any]) -> None:
    """What FastAPI supposes of invalid input is not what is answered here; what may go wrong anywhere is added."""
    responses: dict[str, Any] = operation["responses"]
    invalid = responses.pop("422", None)
    if path.startswith(_FIRECRAWL):
        return
    reference = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    if invalid is not None:
        responses["422"] = {"description": "The request doesn't fit the description", "content": reference}
    if path.startswith(_OURS):
        further = _ANYWHERE | (_OF_BODIES if "requestBody" in operation else {})
        responses.update({status: {"description": told} for status, told in further.items() if status not in responses})
        for status, response in responses.items():
            if status >= "400":
                response["content"] = reference
