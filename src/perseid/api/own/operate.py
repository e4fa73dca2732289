"""What an operator looks at: why a page is missing, hosts and their pauses, workers, figures."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from pydantic import Field

from perseid.api.auth import Called, KeyFirst
from perseid.api.own.paging import PROBLEM, Limit, View, at, operators_only
from perseid.ports.inspect import HostView as HostRow
from perseid.ports.store import Drain
from perseid.runtime.service import Service

router = APIRouter(route_class=KeyFirst, tags=["operation"], responses={401: PROBLEM, 403: PROBLEM, 429: PROBLEM})
_LONGEST_S = 365 * 86_400
_DRAINS: dict[Drain, Literal["no", "leave", "replace"]] = {
    Drain.NO: "no",
    Drain.LEAVE: "leave",
    Drain.REPLACE: "replace",
}
Id = Annotated[int, PathParameter(ge=1, lt=2**63)]


class ExplanationView(View):
    url: str
    crawl: str
    state: str
    reason: str
    message: str
    referrers: list[str]
    attempts: int
    stalls: int
    status: int | None
    depth: int | None
    seen_as: str
    final_url: str


class HostView(View):
    name: str
    active: int = Field(description="Requests in flight.")
    max_active: int
    gap_s: float = Field(description="Crawl-delay: one request at a time, this long after the last.")
    interval_s: float = Field(description="Mean time between two requests; 0 is unlimited.")
    open_at: str | None = Field(description="Not asked before.")
    backoffs: int = Field(description="In a row.")
    waiting: int = Field(description="Queues that wait for room here.")
    paused_until: str | None


class HostChange(View):
    """Fields left out stay as they are."""

    pause_s: Annotated[float, Field(ge=0, le=_LONGEST_S)] | None = Field(
        default=None, description="Ask it nothing for so long; 0 goes on at once."
    )
    max_active: Annotated[int, Field(ge=1, le=256)] | None = None
    requests_per_second: Annotated[float, Field(gt=0, le=1000)] | None = None


class WorkView(View):
    job: int
    crawl: int
    url: str
    host: str
    started_at: str | None
    expires_at: str | None


class WorkerView(View):
    id: int
    host: str
    pid: int
    version: str = Field(description="Of Perseid, as this process runs it.")
    slots: int = Field(description="Jobs it runs at once; 0 for a server, which runs what its own callers wait for.")
    drain: Literal["no", "leave", "replace"] = Field(description="Whether it was asked to go.")
    beat: int
    jobs: list[WorkView]


class DrainRequest(View):
    replace: bool = Field(default=False, description="Another process takes its place; else it goes for good.")


class DrainView(View):
    id: int
    drain: Literal["no", "leave", "replace"]


class TeamView(View):
    id: int
    name: str
    max_active: int | None
    requests_per_minute: int | None
    pages_per_period: int | None
    active: int
    waiting: int
    crawls: int
    pages: dict[str, int] = Field(description="By calendar month.")


class StatsView(View):
    figures: dict[str, dict[str, int]]
    team: TeamView


@router.get("/explain", summary="Why a page is, or is not, among the results", responses={400: PROBLEM, 404: PROBLEM})
async def explain(
    request: Request,
    caller: Called,
    url: Annotated[str, Query(min_length=1, max_length=8192)],
    crawl: str | None = None,
) -> list[ExplanationView]:
    """In one crawl, or in each recent one that knows the URL."""
    found = await _service(request).explain(caller.team, url, crawl)
    return [ExplanationView.model_validate(told, from_attributes=True) for told in found]


@router.get("/hosts", summary="Hosts that have work or pauses", tags=["hosts"])
async def hosts(request: Request, caller: Called, limit: Limit = 100) -> list[HostView]:
    operators_only(caller.team)
    return [_host(row) for row in await _service(request).store.hosts(limit=limit)]


@router.patch("/hosts/{name}", summary="Pause a host, or change its limits", tags=["hosts"], responses={404: PROBLEM})
async def change_host(request: Request, caller: Called, name: str, change: HostChange) -> HostView:
    operators_only(caller.team)
    return _host(
        await _service(request).change_host(
            name,
            pause_s=change.pause_s,
            max_active=change.max_active,
            requests_per_second=change.requests_per_second,
        )
    )


def _host(row: HostRow) -> HostView:
    return HostView(
        name=row.name,
        active=row.active,
        max_active=row.max_active,
        gap_s=row.gap_us / 1_000_000,
        interval_s=row.interval_us / 1_000_000,
        open_at=at(row.open_at),
        backoffs=row.backoffs,
        waiting=row.waiting,
        paused_until=at(row.paused_until),
    )


@router.get("/workers", summary="Processes that work, and on what")
async def workers(request: Request, caller: Called) -> list[WorkerView]:
    operators_only(caller.team)
    return [
        WorkerView(
            id=row.id,
            host=row.host,
            pid=row.pid,
            version=row.version,
            slots=row.slots,
            drain=_DRAINS[Drain(row.drain)],
            beat=row.beat,
            jobs=[
                WorkView(
                    job=lease.job,
                    crawl=lease.crawl,
                    url=lease.url,
                    host=lease.host,
                    started_at=at(lease.started_at),
                    expires_at=at(lease.expires_at),
                )
                for lease in row.leases
            ],
        )
        for row in await _service(request).store.workers_view()
    ]


@router.post(
    "/workers/{worker}/drain",
    status_code=202,
    summary="Let a worker finish what it has begun, and go",
    responses={404: PROBLEM},
)
async def drain(request: Request, caller: Called, worker: Id, wanted: DrainRequest | None = None) -> DrainView:
    """It hears of it with its next beat, within seconds. What it has not begun goes to others."""
    operators_only(caller.team)
    how = Drain.REPLACE if wanted is not None and wanted.replace else Drain.LEAVE
    return await _drain(request, worker, how)


@router.delete(
    "/workers/{worker}/drain", summary="Take that back, as long as it has not heard", responses={404: PROBLEM}
)
async def stay(request: Request, caller: Called, worker: Id) -> DrainView:
    operators_only(caller.team)
    return await _drain(request, worker, Drain.NO)


async def _drain(request: Request, worker: int, how: Drain) -> DrainView:
    await _service(request).drain(worker, how)
    return DrainView(id=worker, drain=_DRAINS[how])


@router.get("/stats", summary="The whole store, and the team's own use")
async def stats(request: Request, caller: Called) -> StatsView:
    """The figures of the store are shown to the operator; others get their own."""
    service = _service(request)
    team, load = await service.team(caller.team), await service.load(caller.team)
    return StatsView(
        figures=await service.figures() if caller.team == 1 else {},
        team=TeamView(
            id=team.id,
            name=team.name,
            max_active=team.max_active,
            requests_per_minute=team.requests_per_minute,
            pages_per_period=team.pages_per_period,
            active=load.active,
            waiting=load.waiting,
            crawls=load.crawls,
            pages={usage.period: usage.pages for usage in await service.usage(caller.team)},
        ),
    )


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
