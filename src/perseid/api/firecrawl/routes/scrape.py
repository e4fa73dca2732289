"""One page, now; and the outcome of an earlier one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from perseid.api.auth import Called, Caller
from perseid.api.auth import caller as caller_of
from perseid.api.firecrawl.asked import asked_of, terms_of
from perseid.api.firecrawl.body.scrape import Scrape
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import WireError, answer, wire_error
from perseid.api.firecrawl.familiar import Familiar, Wish
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import JobUid, Serving, service_of, uid_of
from perseid.api.firecrawl.translate.crawl import scrape_terms
from perseid.api.firecrawl.translate.page import plan_page
from perseid.api.firecrawl.wire.answers import Scraped as ScrapedAnswer
from perseid.api.firecrawl.wire.document import wire_document
from perseid.api.firecrawl.wire.failure import hollow_error, is_hollow, scrape_error
from perseid.api.shortcut import VARY
from perseid.errors import NotFound
from perseid.model.terms import Terms
from perseid.runtime.service import Scraped, Service

NO_JOB = "Job not found."
_EXAMPLE = {"url": "https://example.org/docs/", "formats": ["markdown", "links"], "onlyMainContent": True}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)

    @routes.post(
        "/scrape",
        summary="Read one page",
        responses=answers(ScrapedAnswer, 400, 402, 403, 404, 408, 413, 501),
        openapi_extra=takes(dialect.scrape, _EXAMPLE),
    )
    async def scrape(
        caller: Called,
        service: Serving,
        body: Annotated[Scrape, Depends(body_of(dialect.scrape))],
    ) -> Response:
        return await _scraped(dialect, caller, service, Wish(body, plan_page(body, service.settings)))

    @routes.get(
        "/scrape/{job_id}",
        summary="The outcome of an earlier scrape",
        responses=answers(ScrapedAnswer, 400, 403, 404, 408),
    )
    async def outcome(job_id: JobUid, caller: Called, service: Serving) -> Response:
        uid = uid_of(job_id)
        try:
            found = await service.scraped(caller.team, uid)
            terms = terms_of(await service.crawl(caller.team, uid))
        except NotFound:
            raise WireError(404, NO_JOB) from None
        if terms.zero_retention:
            raise WireError(404, NO_JOB)
        if found.document is None:
            raise scrape_error(found.code, found.message)
        return answer({"success": True, "data": _page(found, terms)})

    return routes


def direct(dialect: Dialect) -> ASGIApp:
    """The route above, for the short way of the application."""
    familiar = Familiar(dialect.scrape)

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            who = await caller_of(request)
            service = service_of(request)
            wish = familiar.read(await request.body(), request.app.state.settings)
            response = await _scraped(dialect, who, service, wish)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - as in `WireRoute`
            response = wire_error(error, scope["path"]).response()
        response.raw_headers.append(VARY)
        await response(scope, receive, send)

    return handle


async def _scraped(dialect: Dialect, caller: Caller, service: Service, wish: Wish) -> Response:
    body, page = wish
    terms = scrape_terms(body, page, team=caller.team, version=dialect.name)
    found = await service.scrape(with_scheme(body.url), page.options, terms, timeout_s=page.timeout_s)
    if found.document is None:
        raise scrape_error(found.code, found.message, lockdown=body.cache_only.lockdown)
    if is_hollow(found.document):
        raise hollow_error()
    told: dict[str, Any] = {"success": True, "data": _page(found, terms)}
    if body.from_website:
        told["scrape_id"] = found.uid
    return answer(told)


def _page(found: Scraped, terms: Terms) -> dict[str, Any]:
    """The document, with what only a scrape knows: whether it had to wait for its turn."""
    assert found.document is not None
    page = wire_document(found.document, asked_of(terms), scrape_id=found.uid, warnings=terms.warnings)
    page["metadata"]["concurrencyLimited"] = found.waited_s > 0
    if found.waited_s > 0:
        page["metadata"]["concurrencyQueueDurationMs"] = int(found.waited_s * 1000)
    return page
