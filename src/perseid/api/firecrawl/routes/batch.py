"""Beginning a batch of pages, and adding to one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.body.batch import Batch
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import JOB_NOT_FOUND, WireError, answer
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Base, InForce, Serving, idempotency_key, job_of
from perseid.api.firecrawl.translate.crawl import batch_terms
from perseid.api.firecrawl.translate.page import PagePlan, plan_page
from perseid.api.firecrawl.wire.answers import Started
from perseid.model.crawl import Crawl, CrawlKind
from perseid.model.terms import Terms
from perseid.runtime.service import Service

_EXAMPLE = {"urls": ["https://example.org/a", "https://example.org/b"], "formats": ["markdown"]}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)

    @routes.post(
        "/batch/scrape",
        summary="Read pages named one by one",
        responses=answers(Started, 400, 402, 404, 409, 413, 501),
        openapi_extra=takes(dialect.batch, _EXAMPLE),
    )
    async def start(
        request: Request,
        caller: Called,
        service: Serving,
        settings: InForce,
        base: Base,
        body: Annotated[Batch, Depends(body_of(dialect.batch))],
    ) -> Response:
        key = idempotency_key(request) if dialect.idempotent_batch else None
        page = plan_page(body, settings)
        terms = batch_terms(body, page, team=caller.team, version=dialect.name, key=key)
        job = await _begun(service, body, page, terms)
        told: dict[str, Any] = {
            "success": True,
            "id": job.uid,
            "url": f"{base}{dialect.prefix}/batch/scrape/{job.uid}",
        }
        if body.invalid_urls is not None:
            told["invalidURLs"] = body.invalid_urls
        return answer(told)

    return routes


async def _begun(service: Service, body: Batch, page: PagePlan, terms: Terms) -> Crawl:
    """A new batch, or the one that the URLs were to be added to."""
    urls = [with_scheme(url) for url in body.urls]
    if body.append_to_id is None:
        return await service.start_batch(urls, page.options, terms, max_concurrency=body.max_concurrency)
    job = await job_of(service, terms.team, body.append_to_id)
    if job.kind is not CrawlKind.BATCH:
        raise WireError(404, JOB_NOT_FOUND)
    await service.append(job, urls)
    return job
