"""Options of a crawl that a language model chose from the caller's words."""

from __future__ import annotations

from typing import Any

from perseid.api.firecrawl.body.crawl import Crawl
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError
from perseid.errors import Unavailable
from perseid.runtime.service import Service


async def chosen_by_model(service: Service, body: Crawl) -> tuple[Crawl, dict[str, Any] | None]:
    """The body with what a model proposes for all that the caller left open, and the proposal."""
    if body.question is None:
        return body, None
    proposed = await options_from_prompt(service, body.url, body.question)
    return body.with_options(proposed), proposed


async def options_from_prompt(service: Service, url: str, prompt: str) -> dict[str, Any]:
    """Raises `WireError` 400 where no options come of it."""
    try:
        return await service.options_from_prompt(with_scheme(url), prompt)
    except Unavailable as error:
        raise WireError(400, f"No options could be made of the prompt: {error}", BAD_REQUEST) from error
