"""The routes that need no key: who we are, and whether we live."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response

from perseid.api.firecrawl.documenting import answers
from perseid.api.firecrawl.errors import answer
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Serving

routes = APIRouter(tags=["health"], route_class=WireRoute)


class Welcome(BaseModel):
    message: str
    documentation_url: str


class Production(BaseModel):
    model_config = ConfigDict(validate_by_name=True)
    is_production: bool = Field(alias="isProduction")


class Probe(BaseModel):
    status: str


@routes.get("/", summary="Who answers here", responses=answers(Welcome))
async def root() -> Response:
    return answer(
        {
            "message": "Perseid speaks the Firecrawl API here, v1 and v2",
            "documentation_url": "https://docs.firecrawl.dev",
        }
    )


@routes.get("/e2e-test", summary="A word to test the way by", response_class=PlainTextResponse)
async def e2e_test() -> PlainTextResponse:
    return PlainTextResponse("OK")


@routes.get("/is-production", summary="Whether this is Firecrawl's hosted service: no", responses=answers(Production))
async def is_production() -> Response:
    return answer({"isProduction": False})


@routes.get("/v0/health/liveness", summary="The process answers", responses=answers(Probe))
async def liveness() -> Response:
    return answer({"status": "ok"})


@routes.get("/v0/health/readiness", summary="The store answers, too", responses=answers(Probe))
async def readiness(service: Serving) -> Response:
    await service.ping()
    return answer({"status": "ok"})
