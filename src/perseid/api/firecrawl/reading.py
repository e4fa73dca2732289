"""From the bytes of a request to a validated body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from pydantic_core import from_json

from perseid.api.firecrawl.body import n8n
from perseid.api.firecrawl.body.base import Body, Hosts, Reading
from perseid.api.firecrawl.body.issues import issues_of, sentence
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError
from perseid.api.loopback import is_loopback
from perseid.config.settings import Settings
from perseid.fetch.guard import Allowance

INVALID_JSON = "BAD_REQUEST_INVALID_JSON"
_LARGE_BYTES = 32 * 1024
"""A body beyond it may hold enough to keep others waiting while it is read."""
_MOST_MEMBERS = 1_000
_UNBOUNDED = "urls"
B = TypeVar("B", bound=Body)


def body_of(model: type[B], *, refusal: str | None = None) -> Callable[[Request], Awaitable[B]]:
    """A dependency that reads the body of a request as `model`.

    With `refusal` all that does not validate is refused in these words, without a code.
    """

    async def read(request: Request) -> B:
        try:
            return validated(model, parsed(await request.body()), reading_for(request.app.state.settings))
        except WireError as error:
            if refusal is None or error.code != BAD_REQUEST:
                raise
            raise WireError(400, refusal, details=error.details) from None

    return read


def parsed(data: bytes) -> Any:
    """The JSON of a body; no body at all is an empty object. Raises `WireError` 400."""
    if not data.strip():
        return {}
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise WireError(400, f"Bad request, malformed JSON: {error}", INVALID_JSON) from None
    if not isinstance(value, dict | list):
        raise WireError(400, "Bad request, malformed JSON: a body is an object", INVALID_JSON)
    if len(data) > _LARGE_BYTES:
        _check_breadth(value)
    return value


def _check_breadth(body: Any) -> None:
    """No list or object of many members but the URLs of a batch: each member costs far more than its bytes."""
    left = [("the body", body)]
    while left:
        name, value = left.pop()
        if not isinstance(value, dict | list) or (name == _UNBOUNDED and isinstance(value, list)):
            continue
        if len(value) > _MOST_MEMBERS:
            raise WireError(
                400, f"Bad request: {name} has {len(value)} members, {_MOST_MEMBERS} are allowed", BAD_REQUEST
            )
        left += value.items() if isinstance(value, dict) else ((name, inner) for inner in value)


def validated(model: type[B], value: Any, reading: Reading) -> B:
    """Raises `WireError` 400 with the sentence that the contract has for the fault."""
    if n8n.is_of_node(value) and reading.strictness != "exact":
        value = n8n.as_meant(value, model.wire_names())
    try:
        return model.model_validate(value, context=reading).read_as(reading)
    except ValidationError as error:
        issues = issues_of(error, value)
        raise WireError(400, sentence(issues), BAD_REQUEST, issues) from None


def reading_for(settings: Settings) -> Reading:
    """Hosts that only this machine or its network knows may be named where they could be fetched."""
    return Reading(strictness=settings.api.strictness, hosts=_hosts(settings.fetch.allow_private, settings.api.host))


@lru_cache(maxsize=8)
def _hosts(allow_private: str, listening_at: str) -> Hosts:
    allowed = Allowance.parse(allow_private)
    named = allowed.hosts
    if allowed.allow_private or is_loopback(listening_at):
        named |= {"localhost"}
    return Hosts(named, with_port=allowed.allow_private)
