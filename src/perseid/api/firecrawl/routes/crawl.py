"""Beginning a crawl, and the crawls that run."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.asked import asked_of, terms_of
from perseid.api.firecrawl.body.crawl import Crawl
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import answer
from perseid.api.firecrawl.prompt import chosen_by_model
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Base, InForce, Serving, idempotency_key
from perseid.api.firecrawl.translate.crawl import crawl_options, crawl_terms
from perseid.api.firecrawl.translate.page import plan_page
from perseid.api.firecrawl.wire.answers import ActiveCrawls, Started
from perseid.api.firecrawl.wire.instant import iso
from perseid.model.crawl import Crawl as Job
from perseid.model.crawl import CrawlKind, CrawlStatus

_EXAMPLE = {"url": "https://example.org/docs/", "limit": 100, "scrapeOptions": {"formats": ["markdown"]}}
_MOST_LISTED = 1_000


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)

    @routes.post(
        "/crawl",
        summary="Begin a crawl",
        responses=answers(Started, 400, 402, 409, 413, 501),
        openapi_extra=takes(dialect.crawl, _EXAMPLE),
    )
    async def start(
        request: Request,
        caller: Called,
        service: Serving,
        settings: InForce,
        base: Base,
        body: Annotated[Crawl, Depends(body_of(dialect.crawl))],
    ) -> Response:
        key = idempotency_key(request)
        body, proposed = await chosen_by_model(service, body)
        page = plan_page(body.page, settings, keep=False)
        options = crawl_options(body, page, settings)
        terms = crawl_terms(body, page, team=caller.team, version=dialect.name, key=key)
        job = await service.start_crawl(with_scheme(body.url), options, terms)
        told: dict[str, Any] = {"success": True, "id": job.uid, "url": f"{base}{dialect.prefix}/crawl/{job.uid}"}
        if proposed is not None:
            told["promptGeneratedOptions"] = proposed
            told["finalCrawlerOptions"] = asked_of(terms).options
        return answer(told)

    @routes.get("/crawl/active", summary="The crawls that run", responses=answers(ActiveCrawls))
    @routes.get("/crawl/ongoing", summary="The crawls that run", responses=answers(ActiveCrawls))
    async def active(caller: Called, service: Serving) -> Response:
        jobs = await service.crawls(
            caller.team, kinds=(CrawlKind.CRAWL,), status=CrawlStatus.SCRAPING, limit=_MOST_LISTED
        )
        return answer({"success": True, "crawls": [_listed(job) for job in jobs]})

    return routes


def _listed(job: Job) -> dict[str, Any]:
    asked = asked_of(terms_of(job))
    return {
        "id": job.uid,
        "teamId": str(job.team),
        "url": asked.as_sent(job.url),
        "created_at": iso(job.created_at),
        "options": asked.options,
    }
