"""What routes need of the running application: its service, its settings, and ids that are ids."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request
from starlette.requests import HTTPConnection

from perseid.api.firecrawl.errors import JOB_NOT_FOUND, KEY_USED, WireError
from perseid.api.firecrawl.origin import base_url
from perseid.config.settings import Settings
from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind
from perseid.runtime.service import Service

INVALID_ID = "Invalid job ID: a job ID is a UUID"
_JOBS = (CrawlKind.CRAWL, CrawlKind.BATCH)


def service_of(connection: HTTPConnection) -> Service:
    service: Service = connection.app.state.service
    return service


async def _service(request: Request) -> Service:
    return service_of(request)


async def _settings(request: Request) -> Settings:
    return service_of(request).settings


async def _base(request: Request) -> str:
    return base_url(request, service_of(request).settings.api)


Serving = Annotated[Service, Depends(_service)]
InForce = Annotated[Settings, Depends(_settings)]
Base = Annotated[str, Depends(_base)]
"""Scheme and host under which the caller reaches us."""
JobUid = Annotated[str, Path(description="Id of the job", json_schema_extra={"format": "uuid"})]


def uid_of(text: str) -> str:
    """A job's id as it was given. Raises `WireError` 400 for what can't be one."""
    try:
        return str(UUID(text))
    except ValueError:
        raise WireError(400, INVALID_ID) from None


async def job_of(service: Service, team: int, uid: str, *, bare: bool = False) -> Crawl:
    """A crawl or a batch: their ids are taken for one another by older clients. Raises `WireError` 404."""
    try:
        job = await service.crawl(team, uid)
    except NotFound:
        job = None
    if job is None or job.kind not in _JOBS:
        raise WireError(404, JOB_NOT_FOUND, bare=bare)
    return job


def idempotency_key(request: HTTPConnection) -> str | None:
    """Raises `WireError` 409 for what is no UUID: that is how the contract has it."""
    key = request.headers.get("x-idempotency-key")
    if not key:
        return None
    try:
        return str(UUID(key))
    except ValueError:
        raise WireError(409, KEY_USED) from None
