"""The application: its middleware, its routers, and what it needs to run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from perseid._version import __version__
from perseid.api import errors, health, metrics, openapi
from perseid.api.auth import Gate
from perseid.api.firecrawl import routes as firecrawl
from perseid.api.limits import BodyLimits
from perseid.api.own import routes as own
from perseid.api.own import seeds
from perseid.api.shortcut import Application
from perseid.config.settings import Settings
from perseid.runtime.service import Service

OpenService = Callable[[], AbstractAsyncContextManager[Service]]


def create_app(open_service: OpenService, settings: Settings) -> Application:
    """`open_service` is entered when the server starts and left when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_service() as service:
            app.state.service = service
            app.state.gate = Gate(
                service.store, settings.api.keys, service.limits, open_to_all=settings.api.insecure_no_auth
            )
            yield

    app = Application(
        title="Perseid",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/openapi.json" if settings.api.docs else None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    app.add_middleware(BodyLimits)
    app.add_middleware(metrics.Counting)
    app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])
    errors.install(app)
    firecrawl.install(app)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(own.router, prefix="/api")
    app.include_router(seeds.dispatching)
    openapi.install(app, docs=settings.api.docs)
    return app
