"""An extraction as a body asks for it, as a request of ours."""

from __future__ import annotations

from typing import NamedTuple

from perseid.api.firecrawl.body.extract import Extract
from perseid.api.firecrawl.body.url import fault, with_scheme
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError
from perseid.api.firecrawl.translate.unsupported import ignored
from perseid.crawls.extract import ExtractRequest

NO_URLS = "No valid URLs provided"


class PlannedExtract(NamedTuple):
    request: ExtractRequest
    invalid_urls: list[str] | None
    """Those set aside; None where none were to be."""
    warnings: tuple[str, ...]


def plan_extract(body: Extract) -> PlannedExtract:
    """Raises `WireError` for URLs that are none."""
    hosts = body.reading.hosts
    problems = {url: problem for url in body.urls or () if (problem := fault(_page_of(url), hosts)) is not None}
    if problems and not body.ignore_invalid_urls:
        raise WireError(400, next(iter(problems.values())), BAD_REQUEST)
    good = tuple(with_scheme(url) for url in body.urls or () if url not in problems)
    if body.urls and not good and not body.enable_web_search:
        raise WireError(400, NO_URLS, BAD_REQUEST)
    request = ExtractRequest(
        urls=good,
        prompt=_wish(body),
        schema=body.schema_ or None,
        limit=body.limit or ExtractRequest().limit,
        web_search=body.enable_web_search,
    )
    asked = {
        "agent": body.agent is not None,
        "allowExternalLinks": body.allow_external_links and not body.enable_web_search,
        "urlTrace": body.url_trace,
        "webhook": body.webhook is not None,
    }
    lost = [name for name, wanted in asked.items() if wanted]
    told = [f"Not supported by this server, and left out: {', '.join(lost)}."] if lost else []
    set_aside = list(problems) if body.ignore_invalid_urls else None
    return PlannedExtract(request, set_aside, (*told, *ignored(body)))


def _page_of(url: str) -> str:
    """The address whose pages `…/*` stands for."""
    return url.removesuffix("*")


def _wish(body: Extract) -> str | None:
    words = [text.strip() for text in (body.system_prompt, body.prompt) if text and text.strip()]
    return "\n\n".join(words) or None
