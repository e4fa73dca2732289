"""Searching the web, and reading what is found where that is asked."""

from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Depends
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.body.search import Search
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import WireError, answer
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import InForce, Serving
from perseid.api.firecrawl.translate.page import PagePlan, plan_page
from perseid.api.firecrawl.translate.search import Planned, plan_search
from perseid.api.firecrawl.wire.answers import Searched
from perseid.api.firecrawl.wire.document import wire_document
from perseid.api.firecrawl.wire.search import by_source, count, flat, hollow
from perseid.crawls.search import Found, Scrape
from perseid.errors import ScrapeFailed
from perseid.model.document import Document
from perseid.model.terms import Terms
from perseid.runtime.service import Service

_EXAMPLE = {"query": "web crawler", "limit": 5}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)

    @routes.post(
        "/search",
        summary="Search the web",
        responses=answers(Searched, 400, 402, 408, 413, 501),
        openapi_extra=takes(dialect.search, _EXAMPLE),
    )
    async def search(
        caller: Called,
        service: Serving,
        settings: InForce,
        body: Annotated[Search, Depends(body_of(dialect.search, refusal=dialect.search_refusal))],
    ) -> Response:
        planned = plan_search(body)
        page = None if planned.page is None else plan_page(planned.page, settings)
        try:
            found = await service.search(planned.plan, scrape=_reader(service, page, caller.team, dialect))
        except TimeoutError:
            raise WireError(408, f"The search was not ready within {body.timeout} ms", "SCRAPE_TIMEOUT") from None
        return answer(_told(found, planned, page, dialect))

    return routes


def _reader(service: Service, page: PagePlan | None, team: int, dialect: Dialect) -> Scrape | None:
    """Reads a page that was found, as a scrape of the caller's."""
    if page is None:
        return None
    terms = Terms(team=team, request=Asked(version=dialect.name, nothing=page.nothing).to_request())

    async def read(url: str) -> Document:
        found = await service.scrape(url, page.options, terms, timeout_s=page.timeout_s)
        if found.document is None:
            raise ScrapeFailed(url, found.code, found.message)
        return found.document

    return read


def _told(found: Found, planned: Planned, page: PagePlan | None, dialect: Dialect) -> dict[str, Any]:
    asked = Asked(nothing=page.nothing, credits=page.credits) if page is not None else Asked()

    def told(document: Document) -> dict[str, Any]:
        return wire_document(document, asked, scrape_id=str(uuid4()), warnings=page.warnings if page else ())

    warnings = [*planned.warnings, *found.warnings]
    body: dict[str, Any] = {"success": True, "id": str(uuid4())}
    if dialect.flat_search:
        body["data"] = flat(found, told)
        missing = hollow(found, scraped=page is not None)
        warnings += [missing] if missing else []
    else:
        body |= {"data": by_source(found, told), "creditsUsed": count(found.web) * asked.credits}
    if warnings:
        body["warning"] = " ".join(warnings)
    return body
