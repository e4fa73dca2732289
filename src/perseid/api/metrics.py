"""GET /metrics for Prometheus: what all processes counted, what the store holds now, and the requests served."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perseid.api.auth import Called
from perseid.api.own.paging import PROBLEM, operators_only
from perseid.observe.metrics import registry
from perseid.runtime.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterable

router = APIRouter(tags=["health"])
_REQUESTS = Counter("perseid_http_requests", "Requests answered.", ["method", "route", "status"])
_SECONDS = Histogram("perseid_http_request_seconds", "How long an answer took to begin.", ["route"])


@lru_cache(maxsize=1024)
def _requests(method: str, route: str, status: int) -> Counter:
    return _REQUESTS.labels(method, route, status)


@lru_cache(maxsize=256)
def _seconds(route: str) -> Histogram:
    return _SECONDS.labels(route)


class Counting:
    """ASGI middleware that counts by route, not by path: paths hold ids without end.

    With `route` it is told that it stands before no other one.
    """

    def __init__(self, app: ASGIApp, route: str | None = None) -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = self._route or _route(scope)
                _requests(scope["method"], route, message["status"]).inc()
                _seconds(route).observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counting)


def _route(scope: Scope) -> str:
    path = getattr(scope.get("route"), "path", None)
    if path is not None:
        return str(path)
    for route in scope["app"].routes:
        match, _ = route.matches(scope)
        if match is Match.FULL:
            return str(getattr(route, "path", "other"))
    return "none"


class _OfStore(Collector):
    def __init__(self, figures: dict[str, dict[str, int]]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Any]:
        for name, values in self._figures.items():
            family = GaugeMetricFamily(
                f"perseid_{name}", f"{name.replace('_', ' ')} in the store now", labels=["state"]
            )
            for state, number in values.items():
                family.add_metric([state], number)
            yield family


@router.get("/metrics", summary="For Prometheus", response_class=PlainTextResponse, responses={403: PROBLEM})
async def metrics(request: Request, caller: Called) -> Response:
    operators_only(caller.team)
    service: Service = request.app.state.service
    now = CollectorRegistry()
    now.register(_OfStore(await service.figures()))
    return Response(generate_latest(registry()) + generate_latest(now), media_type=CONTENT_TYPE_LATEST)
