"""Data out of several pages, by a language model."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.asked import Asked, terms_of
from perseid.api.firecrawl.body.extract import Extract
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import answer
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import DeprecatedRoute
from perseid.api.firecrawl.serving import InForce, JobUid, Serving, uid_of
from perseid.api.firecrawl.translate.extract import plan_extract
from perseid.api.firecrawl.translate.page import plan_page
from perseid.api.firecrawl.wire.answers import ExtractState, Started
from perseid.api.firecrawl.wire.extract import extract_state
from perseid.api.firecrawl.wire.status import expires_at
from perseid.model.terms import Terms

_EXAMPLE = {"urls": ["https://example.org/*"], "prompt": "Who runs this site?"}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=DeprecatedRoute)

    @routes.post(
        "/extract",
        summary="Begin to extract data from pages",
        responses=answers(Started, 400, 402, 413, 501),
        openapi_extra=takes(dialect.extract, _EXAMPLE),
    )
    async def start(
        caller: Called,
        service: Serving,
        settings: InForce,
        body: Annotated[Extract, Depends(body_of(dialect.extract))],
    ) -> Response:
        planned = plan_extract(body)
        page = plan_page(body.page, settings)
        terms = Terms(
            team=caller.team,
            warnings=(*page.warnings, *planned.warnings),
            request=Asked(version=dialect.name, credits=page.credits).to_request(),
        )
        job = await service.start_extract(planned.request, page.options, terms)
        told: dict[str, Any] = {"success": True, "id": job.uid, "urlTrace": []}
        if planned.invalid_urls is not None:
            told["invalidURLs"] = planned.invalid_urls
        return answer(told)

    @routes.get(
        "/extract/{job_id}",
        summary="How an extraction stands",
        responses=answers(ExtractState, 400, 404),
    )
    async def status(job_id: JobUid, caller: Called, service: Serving) -> Response:
        uid = uid_of(job_id)
        found = await service.extract_status(caller.team, uid)
        job = await service.crawl(caller.team, uid)
        until = expires_at(job, terms_of(job).ttl_s, service.engine.clock.now_us())
        return answer(extract_state(found, warnings=terms_of(job).warnings, expires_at=until))

    return routes
