"""Routes of the hosted service that have no place here: each says so, rather than being unknown."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.route import DeprecatedRoute, WireRoute

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_DEPRECATED = ("/v1/llmstxt", "/v1/deep-research")
_HOSTED = (
    "/v1/fireclaw",
    "/v2/agent",
    "/v2/browser",
    "/v2/interact",
    "/v2/monitor",
    "/v2/feedback",
    "/v2/research",
    "/v2/developer",
    "/v2/support",
    "/v2/slack",
    "/v2/keyless",
    "/v2/team/activity",
    "/v2/team/threat-protection",
    "/v2/team/siem",
)
_WITHIN = (
    "/v2/scrape/{job_id}/interact",
    "/v2/search/{job_id}/feedback",
    "/v2/search/research",
    "/v2/search/developer",
)

routes = APIRouter(route_class=WireRoute, include_in_schema=False)
given_up = APIRouter(route_class=DeprecatedRoute, include_in_schema=False)


async def hosted(request: Request) -> Response:
    raise WireError(501, f"{request.url.path} belongs to Firecrawl's hosted service and is not available here")


async def deprecated(request: Request) -> Response:
    raise WireError(501, f"{request.url.path} was given up by Firecrawl and is not available here")


for _path in (*_HOSTED, *_WITHIN):
    routes.api_route(_path, methods=_METHODS)(hosted)
    if "{" not in _path:
        routes.api_route(f"{_path}/{{rest:path}}", methods=_METHODS)(hosted)
for _path in _DEPRECATED:
    given_up.api_route(_path, methods=_METHODS)(deprecated)
    given_up.api_route(f"{_path}/{{rest:path}}", methods=_METHODS)(deprecated)
routes.include_router(given_up)
