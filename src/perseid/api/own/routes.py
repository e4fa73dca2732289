"""The routers under /api, in the order of the description."""

from __future__ import annotations

from fastapi import APIRouter

from perseid.api.own import crawls, items, jobs, operate, published, seeds, sites, trying

router = APIRouter()
router.include_router(crawls.router)
router.include_router(jobs.router)
router.include_router(operate.router)
router.include_router(published.rules)
router.include_router(trying.router)
router.include_router(published.configs)
router.include_router(seeds.router)
router.include_router(seeds.dispatching)
router.include_router(items.router)
router.include_router(sites.router)
