"""How routes are described (OpenAPI): bodies that are read by hand, and the answers each may give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from perseid.api.firecrawl.wire.answers import BareFailure, Failure

Responses = dict[int | str, dict[str, Any]]

_MEANING = {
    400: "The request is not what the interface asks for",
    401: "No key, or none that is known",
    402: "The quota of this period is used up",
    403: "The site is not to be read",
    404: "There is no such thing",
    408: "It took too long",
    409: "It was asked for before, or is over",
    413: "The body is too large",
    415: "Not a kind of body that is taken",
    429: "Too many requests at once",
    500: "The page could not be read, or a fault of the server",
    501: "This server has no back end for it",
    503: "The store or a back end is not available at the moment",
}
_ALWAYS = (401, 429, 500, 503)
_OF_BODIES = 413


def answers(model: type[BaseModel], *others: int, bare: bool = False) -> Responses:
    """The answers of a route: `model` on success, and `others` besides those that any route may give."""
    failure = BareFailure if bare else Failure
    told: Responses = {200: {"model": model, "description": "Success"}}
    if _OF_BODIES in others:
        others = (*others, 408)  # a body may be too slow as well as too large
    for status in sorted({*others, *_ALWAYS}):
        told[status] = {"model": failure if status in others else Failure, "description": _MEANING[status]}
    return told


def takes(model: type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """`openapi_extra` of a route whose body is read as `model`."""
    return _Body(lambda: {"application/json": {"schema": _inlined(model.model_json_schema()), "example": example}})


def takes_form(options: type[BaseModel], reference: type[BaseModel]) -> dict[str, Any]:
    """`openapi_extra` of a route that takes a file with options, or a reference to a file as JSON."""

    def content() -> dict[str, Any]:
        fields = {
            "file": {"type": "string", "format": "binary"},
            "options": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": _inlined(options.model_json_schema()),
            },
        }
        form = {"type": "object", "required": ["file"], "properties": fields}
        return {
            "multipart/form-data": {"schema": form},
            "application/json": {"schema": _inlined(reference.model_json_schema())},
        }

    return _Body(content)


class _Body(dict[str, Any]):
    """A body that is described once somebody wants to read it: all of them would take a tenth of a server's start."""

    def __init__(self, content: Callable[[], dict[str, Any]]) -> None:
        super().__init__(requestBody={"required": True})
        self._content = content

    def items(self) -> Any:
        """As FastAPI reads it."""
        return {"requestBody": {**self["requestBody"], "content": self._content()}}.items()


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that stands by itself: what it refers to is written in its place."""
    shared = schema.pop("$defs", {})

    def resolve(part: Any) -> Any:
        if isinstance(part, list):
            return [resolve(each) for each in part]
        if not isinstance(part, dict):
            return part
        reference = part.get("$ref")
        if isinstance(reference, str):
            rest = {name: value for name, value in part.items() if name != "$ref"}
            return {**resolve(shared[reference.rpartition("/")[2]]), **rest}
        # The mapping of a discriminator names what is no longer there.
        return {
            name: {"propertyName": value["propertyName"]} if name == "discriminator" else resolve(value)
            for name, value in part.items()
        }

    inlined: dict[str, Any] = resolve(schema)
    return inlined
