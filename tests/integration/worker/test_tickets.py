"""A server and a worker on one store, with a broker between them: neither looks again by itself here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from perseid.config.settings import DeliverySettings, FetchSettings, Settings, TeamSettings, WorkerSettings
from perseid.model.crawl import CrawlStatus
from perseid.model.options import ScrapeOptions
from perseid.model.terms import Terms
from perseid.runtime import Client
from perseid.runtime.service import Service
from perseid.testing import Site
from perseid.testing.brokers import RedisServer
from perseid.worker import desk as desks
from perseid.worker.stop import Stop

NEVER_S = 60.0
SOON_S = 15.0


@pytest.fixture
async def settings() -> AsyncIterator[Settings]:
    server = RedisServer()
    await server.start()
    yield Settings(
        fetch=FetchSettings(allow_private="true"),
        worker=WorkerSettings(beat_s=0.2, poll_s=NEVER_S, grace_s=1.0),
        team=TeamSettings(max_active=1),
        delivery=DeliverySettings(url=server.url),
    )
    server.dispose()


@asynccontextmanager
async def working(folder: Path, settings: Settings) -> AsyncIterator[None]:
    """A worker that has found nothing and sleeps."""
    stop = Stop()
    async with await Client.open(folder, settings, allow_named_host=False) as client:
        running = asyncio.create_task(client.work(stop, concurrency=4))
        await asyncio.sleep(0.5)
        yield
        stop.ask()
        await running


async def ended(service: Service, uid: str) -> CrawlStatus:
    async with asyncio.timeout(SOON_S):
        while (status := (await service.crawl(1, uid)).status) is CrawlStatus.SCRAPING:  # noqa: ASYNC110 - in a database
            await asyncio.sleep(0.02)
    return status


async def test_what_a_server_begins_a_sleeping_worker_does_at_once(
    site: Site, tmp_path: Path, settings: Settings
) -> None:
    pages = [f"/{number}" for number in range(6)]
    for page in pages:
        site.page(page, "<p>x</p>")
    async with Service.open(tmp_path, settings) as service, working(tmp_path, settings):
        for _ in range(3):
            batch = await service.start_batch([site.url(page) for page in pages], ScrapeOptions(), Terms())
            assert await ended(service, batch.uid) is CrawlStatus.COMPLETED


async def test_who_waits_for_a_job_that_another_process_runs_is_told_of_its_end(
    site: Site, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "_FIRST_LOOK_S", NEVER_S)
    monkeypatch.setattr(desks, "_LONGEST_LOOK_S", NEVER_S)
    site.page("/slow", "<p>slow</p>", delay_s=1.0)
    site.page("/", "<title>T</title><p>here</p>")
    async with Service.open(tmp_path, settings) as service, working(tmp_path, settings):
        await service.start_batch([site.url("/slow")], ScrapeOptions(), Terms())
        await site.wait_for("/slow")
        # The team's one slot is the worker's, and so is the next turn: this caller only hears of the outcome.
        async with asyncio.timeout(SOON_S):
            scraped = await service.scrape(site.url("/"), ScrapeOptions(), Terms(), timeout_s=NEVER_S)
        assert scraped.document is not None
        assert scraped.document.title == "T"
        assert await service.store.audit() == []
