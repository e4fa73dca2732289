"""Crawls and batches on their way: state and pages, what went wrong, and calling them off."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.asked import asked_of, terms_of
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers
from perseid.api.firecrawl.errors import JOB_NOT_FOUND, WireError, answer
from perseid.api.firecrawl.reporting import Report, report
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Base, JobUid, Serving, job_of, uid_of
from perseid.api.firecrawl.wire.answers import Cancelled, JobErrors, JobState
from perseid.api.firecrawl.wire.errors import Missed, error_list
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.job import JobState as End
from perseid.runtime.reading import JobFilter
from perseid.runtime.service import Service

OVER = "Crawl is already completed"
PAGE = 100
_MOST_PAGE = 1_000
_MOST_ERRORS = 1_000

Skip = Annotated[int | None, Query(ge=0, le=2**53, description="Number of the last document already seen")]
Limit = Annotated[int | None, Query(ge=1, le=2**53, description="Most documents of one answer")]


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)
    for path, name in (("/crawl", "crawl"), ("/batch/scrape", "batch")):
        _add(routes, dialect, path, name)
    return routes


def _add(routes: APIRouter, dialect: Dialect, path: str, name: str) -> None:
    """The routes of crawls and those of batches differ in little but their address."""
    never = (400,) if dialect.strict_ids else ()

    @routes.get(
        f"{path}/{{job_id}}",
        name=f"{name}_status",
        summary=f"State and pages of a {name}",
        responses=answers(JobState, 400, 404),
    )
    async def status(
        job_id: JobUid, caller: Called, service: Serving, base: Base, skip: Skip = None, limit: Limit = None
    ) -> Response:
        job = await job_of(service, caller.team, uid_of(job_id))
        part = Report(skip or 0, min(limit or PAGE, _MOST_PAGE), asked=skip is not None, times=dialect.tells_times)
        told, last, more = await report(service, job, part)
        if more:
            suffix = "" if limit is None else f"&limit={limit}"
            told["next"] = f"{base}{dialect.prefix}{path}/{job.uid}?skip={last}{suffix}"
        return answer(told)

    @routes.delete(
        f"{path}/{{job_id}}",
        name=f"cancel_{name}",
        summary=f"Call a {name} off; what it has is kept",
        responses=answers(Cancelled, *never, 404, 409, bare=True),
    )
    async def cancel(job_id: JobUid, caller: Called, service: Serving) -> Response:
        job = await _named(service, caller.team, job_id, strict=dialect.strict_ids, bare=True)
        if job.status is not CrawlStatus.CANCELLED and not await service.cancel(job):
            raise WireError(409, OVER, bare=True)
        return answer({"status": "cancelled"})

    @routes.get(
        f"{path}/{{job_id}}/errors",
        name=f"{name}_errors",
        summary=f"The pages that a {name} does not have, and why",
        responses=answers(JobErrors, *(never if name == "crawl" else ()), 404),
    )
    async def errors(job_id: JobUid, caller: Called, service: Serving) -> Response:
        job = await _named(service, caller.team, job_id, strict=dialect.strict_ids and name == "crawl")
        missed = Missed(
            failures=await service.failures(job, limit=_MOST_ERRORS),
            refused=await service.jobs(JobFilter(caller.team, job.uid, End.DENIED), limit=_MOST_ERRORS),
            denied=await service.denied(job, limit=_MOST_ERRORS),
        )
        return answer(error_list(job, asked_of(terms_of(job)), missed))

    if dialect.errors_by_delete:
        routes.delete(f"{path}/{{job_id}}/errors", include_in_schema=False)(errors)


async def _named(service: Service, team: int, job_id: JobUid, *, strict: bool, bare: bool = False) -> Crawl:
    """What is no id is the id of no job, unless it is to be told from one."""
    try:
        uid = uid_of(job_id)
    except WireError:
        if strict:
            raise
        raise WireError(404, JOB_NOT_FOUND, bare=bare) from None
    return await job_of(service, team, uid, bare=bare)
