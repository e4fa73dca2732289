"""The URLs of a site."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.body.map import Map
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import WireError, answer
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import InForce, Serving
from perseid.api.firecrawl.translate.crawl import map_options, map_terms
from perseid.api.firecrawl.wire.answers import MappedV1, MappedV2
from perseid.api.firecrawl.wire.mapping import as_objects, as_strings, without_queries, without_slashes
from perseid.runtime.service import Mapped

TIMEOUT = "MAP_TIMEOUT"
_EXAMPLE = {"url": "https://example.org/", "search": "docs", "limit": 100}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)
    model = MappedV1 if dialect.links_as_strings else MappedV2

    @routes.post(
        "/map",
        summary="The URLs of a site, without their pages",
        responses=answers(model, 400, 402, 408, 413),
        openapi_extra=takes(dialect.map, _EXAMPLE),
    )
    async def map_site(
        caller: Called,
        service: Serving,
        settings: InForce,
        body: Annotated[Map, Depends(body_of(dialect.map))],
    ) -> Response:
        options = map_options(body, settings)
        terms = map_terms(body, team=caller.team, version=dialect.name)
        limit_s = None if body.timeout is None else body.timeout / 1000
        try:
            found = await service.map(
                with_scheme(body.url),
                options,
                terms,
                limit=options.limit or body.limit,
                search=body.search,
                timeout_s=limit_s,
            )
        except TimeoutError:
            raise WireError(408, f"The map was not ready within {body.timeout} ms", TIMEOUT) from None
        return answer(_told(found, body, dialect, terms.warnings))

    return routes


def _told(found: Mapped, body: Map, dialect: Dialect, warnings: tuple[str, ...]) -> dict[str, Any]:
    links = without_queries(found.links) if body.ignore_query_parameters else found.links
    links = without_slashes(links)[: body.limit]
    told: dict[str, Any] = {"success": True}
    if dialect.links_as_strings:
        told["links"] = as_strings(links)
    else:
        told |= {"id": found.uid, "links": as_objects(links)}
    sentences = [*warnings, *([found.warning] if found.warning else [])]
    if sentences:
        told["warning"] = " ".join(sentences)
    return told
