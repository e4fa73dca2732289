"""The routers under /api, in the order of the description."""

from __future__ import annotations

from fastapi import APIRouter

from perseid.api.own import crawls, jobs, operate

router = APIRouter()
router.include_router(crawls.router)
router.include_router(jobs.router)
router.include_router(operate.router)
