"""Reading bodies in tests as a request's are read."""

from __future__ import annotations

from typing import Any, TypeVar

from perseid.api.firecrawl.body.base import Body, Reading
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.reading import validated

B = TypeVar("B", bound=Body)


def reads(model: type[B], **sent: Any) -> B:
    return validated(model, sent, Reading())


def refusal(model: type[Body], reading: Reading | None = None, **sent: Any) -> WireError:
    """The answer to a body that must not pass."""
    try:
        found = validated(model, sent, reading or Reading())
    except WireError as error:
        return error
    raise AssertionError(f"{sent} was read as {found!r}")
