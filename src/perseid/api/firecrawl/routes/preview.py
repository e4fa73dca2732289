"""What a language model would make of somebody's wish about a crawl."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from perseid.api.auth import Called
from perseid.api.firecrawl.body.extract import ParamsPreview
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.documenting import answers, takes
from perseid.api.firecrawl.errors import answer
from perseid.api.firecrawl.prompt import options_from_prompt
from perseid.api.firecrawl.reading import body_of
from perseid.api.firecrawl.route import WireRoute
from perseid.api.firecrawl.serving import Serving
from perseid.api.firecrawl.wire.answers import Preview

_EXAMPLE = {"url": "https://example.org/", "prompt": "only the blog, no tag pages"}


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix, tags=[f"Firecrawl {dialect.name}"], route_class=WireRoute)
    if dialect.name == "v1":
        return routes

    @routes.post(
        "/crawl/params-preview",
        summary="Options of a crawl from a wish in words",
        responses=answers(Preview, 400, 413),
        openapi_extra=takes(ParamsPreview, _EXAMPLE),
    )
    async def preview(
        caller: Called, service: Serving, body: Annotated[ParamsPreview, Depends(body_of(ParamsPreview))]
    ) -> Response:
        del caller
        proposed = await options_from_prompt(service, body.url, body.prompt)
        return answer({"success": True, "data": {"url": body.url, **proposed}})

    # n8n's node sends the same body by GET.
    routes.get("/crawl/params-preview", include_in_schema=False)(preview)
    return routes
