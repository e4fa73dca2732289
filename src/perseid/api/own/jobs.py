"""Jobs: the queue as people see it, and what an operator does about single pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from perseid.api.auth import Called, KeyFirst
from perseid.api.own.paging import PROBLEM, Cursor, Limit, Page, View, cursor_of, position
from perseid.errors import ConfigError
from perseid.model.job import JobState
from perseid.ports.inspect import JobView as JobRow
from perseid.runtime.reading import JobFilter
from perseid.runtime.service import Service

JobNumber = Annotated[int, Path(ge=1, lt=2**62)]
router = APIRouter(route_class=KeyFirst, prefix="/jobs", tags=["jobs"], responses={401: PROBLEM, 429: PROBLEM})


class JobView(View):
    id: int
    crawl: int
    kind: str
    url: str
    state: JobState
    depth: int
    attempts: int
    stalls: int
    host: str | None
    code: str
    message: str


class Selection(View):
    """Named jobs, or all that the filter finds: one of the two."""

    ids: list[Annotated[int, Field(ge=1, lt=2**62)]] = Field(default=[], max_length=10_000)
    crawl: str | None = None
    state: JobState | None = None
    host: str | None = None


class Touched(View):
    jobs: int = Field(description="How many were changed; those in another state are left alone.")


def _view(row: JobRow) -> JobView:
    return JobView(
        id=row.job,
        crawl=row.crawl,
        kind=row.kind.name.lower(),
        url=row.url,
        state=row.state,
        depth=row.depth,
        attempts=row.attempts,
        stalls=row.stalls,
        host=row.host,
        code=row.code,
        message=row.message,
    )


@router.get("", summary="Jobs by crawl, state and host", responses={400: PROBLEM, 404: PROBLEM})
async def jobs(
    request: Request,
    caller: Called,
    crawl: str | None = None,
    state: JobState | None = None,
    host: str | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[JobView]:
    wanted = JobFilter(caller.team, crawl=crawl, state=state, host=host)
    rows = await _service(request).jobs(wanted, after=position(cursor) or 0, limit=limit)
    return Page(items=[_view(row) for row in rows], next=cursor_of(rows[-1].job) if len(rows) == limit else None)


@router.post("/retry", summary="Try failed pages again", responses={400: PROBLEM, 404: PROBLEM})
async def retry(request: Request, caller: Called, selection: Selection) -> Touched:
    """A crawl that had ended goes on until they have ended, too."""
    return Touched(jobs=await _service(request).retry_jobs(_filter(caller.team, selection), selection.ids))


@router.post("/cancel", summary="End pages that wait", responses={400: PROBLEM, 404: PROBLEM})
async def cancel(request: Request, caller: Called, selection: Selection) -> Touched:
    return Touched(jobs=await _service(request).cancel_jobs(_filter(caller.team, selection), selection.ids))


@router.post("/{job}/retry", summary="Try one failed page again", responses={404: PROBLEM})
async def retry_one(request: Request, caller: Called, job: JobNumber) -> Touched:
    return Touched(jobs=await _service(request).retry_jobs(JobFilter(caller.team), [job]))


@router.post("/{job}/cancel", summary="End one page that waits", responses={404: PROBLEM})
async def cancel_one(request: Request, caller: Called, job: JobNumber) -> Touched:
    return Touched(jobs=await _service(request).cancel_jobs(JobFilter(caller.team), [job]))


def _filter(team: int, selection: Selection) -> JobFilter:
    if not (selection.ids or selection.crawl or selection.state or selection.host):
        raise ConfigError("say which jobs: ids, or a crawl, a state or a host")
    return JobFilter(team, crawl=selection.crawl, state=selection.state, host=selection.host)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
