"""What a team has running, and what it has used. Nobody is billed here: without a quota all is left."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers
from perseid.api.firecrawl.errors import answer
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Serving
from perseid.api.firecrawl.wire.answers import Concurrency, Periods, QueueStatus, Usage
from perseid.api.firecrawl.wire.instant import iso
from perseid.ports.teams import Usage as Used
from perseid.runtime.service import Service

_PLENTY = 1_000_000_000

ByKey = Annotated[bool, Query(alias="byApiKey", description="Accepted; usage is counted by team")]
Unit = Literal["Credits", "Tokens"]


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)

    @routes.get("/concurrency-check", summary="Pages in flight, and how many may be", responses=answers(Concurrency))
    async def concurrency(caller: Called, service: Serving) -> Response:
        load = await service.load(caller.team)
        most = (await service.team(caller.team)).max_active or _PLENTY
        return answer({"success": True, "concurrency": load.active, "maxConcurrency": most})

    @routes.get("/team/queue-status", summary="Pages running and waiting", responses=answers(QueueStatus))
    async def queue(caller: Called, service: Serving) -> Response:
        load = await service.load(caller.team)
        told = {
            "success": True,
            "jobsInQueue": load.active + load.waiting,
            "activeJobsInQueue": load.active,
            "waitingJobsInQueue": load.waiting,
            "maxConcurrency": (await service.team(caller.team)).max_active or _PLENTY,
            "mostRecentSuccess": None if load.last_success_at is None else iso(load.last_success_at),
        }
        return answer(told)

    _add_usage(routes, dialect, "Credits")
    _add_usage(routes, dialect, "Tokens")
    return routes


def _add_usage(routes: APIRouter, dialect: Dialect, unit: Unit) -> None:
    path = f"/team/{unit[:-1].lower()}-usage"

    @routes.get(path, name=f"{unit} left", summary=f"{unit} left in this month", responses=answers(Usage))
    async def usage(caller: Called, service: Serving) -> Response:
        plan, left = await _balance(service, caller.team) if unit == "Credits" else (_PLENTY, _PLENTY)
        start, end = _month(datetime.now(UTC).strftime("%Y-%m"))
        if dialect.snake_case_usage:
            names = (f"remaining_{unit.lower()}", f"plan_{unit.lower()}", "billing_period_start", "billing_period_end")
        else:
            names = (f"remaining{unit}", f"plan{unit}", "billingPeriodStart", "billingPeriodEnd")
        return answer({"success": True, "data": dict(zip(names, (left, plan, start, end), strict=True))})

    @routes.get(
        f"{path}/historical", name=f"{unit} used", summary=f"{unit} used by month", responses=answers(Periods, 400)
    )
    async def historical(
        caller: Called,
        service: Serving,
        by_api_key: ByKey = False,
    ) -> Response:
        del by_api_key
        periods = [_period(used, unit) for used in await service.usage(caller.team)]
        return answer({"success": True, "periods": periods})


async def _balance(service: Service, team: int) -> tuple[int, int]:
    """Credits of a month, and those left; a page is a credit."""
    quota = (await service.team(team)).pages_per_period
    if quota is None:
        return _PLENTY, _PLENTY
    month = datetime.now(UTC).strftime("%Y-%m")
    used = sum(each.pages for each in await service.usage(team) if each.period == month)
    return quota, max(0, quota - used)


def _period(used: Used, unit: Unit) -> dict[str, Any]:
    start, end = _month(used.period)
    count = used.pages if unit == "Credits" else 0
    return {"startDate": start, "endDate": end, f"{unit.lower()}Used": count}


def _month(period: str) -> tuple[str, str]:
    """Beginning of a month and of the next."""
    year, month = map(int, period.split("-"))
    begin = datetime(year, month, 1, tzinfo=UTC)
    end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return iso(int(begin.timestamp()) * 1_000_000), iso(int(end.timestamp()) * 1_000_000)
