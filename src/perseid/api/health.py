"""Probes for whoever restarts us: alive, and ready for work. They need no key and tell nothing."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel

from perseid.runtime.service import Service

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str


@router.get("/health/live", summary="The process answers")
async def live() -> Health:
    return Health(status="ok")


@router.get("/health/ready", summary="The store answers, too", responses={503: {"description": "The store is away"}})
async def ready(request: Request) -> Health:
    service: Service = request.app.state.service
    await service.ping()
    return Health(status="ok")
