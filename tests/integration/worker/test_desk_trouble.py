"""Callers who wait for a page, when they leave at any point, the store goes away, or the server does: nothing leaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from perseid.config.settings import FetchSettings, Settings, StoreSettings, WorkerSettings
from perseid.errors import StoreUnavailable, Unavailable
from perseid.model.crawl import CrawlStatus
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.model.terms import Terms
from perseid.ports.store import NewCrawl
from perseid.runtime.service import Scraped, Service
from perseid.runtime.stores import DATABASE
from perseid.testing import Site

SETTINGS = Settings(
    fetch=FetchSettings(allow_private="true"),
    worker=WorkerSettings(beat_s=0.2, sweep_s=0.2),
    store=StoreSettings(busy_timeout_s=0.2),
)


@asynccontextmanager
async def _service(folder: Path) -> AsyncIterator[Service]:
    """In the end no slot is taken, and no crawl is left that somebody might run."""
    async with Service.open(folder, SETTINGS) as service:
        yield service
        async with asyncio.timeout(10):
            while (await service.load(1)).active or await _going(service):  # noqa: ASYNC110 - nobody is told of it
                await asyncio.sleep(0.01)
        assert await service.store.audit() == []


async def _going(service: Service) -> int:
    stats = await service.store.stats()
    return stats.scrapes + stats.crawls.get(CrawlStatus.SCRAPING, 0)


async def _scrape(service: Service, url: str, *, timeout_s: float | None = 10) -> Scraped:
    return await service.scrape(url, ScrapeOptions(), Terms(), timeout_s=timeout_s)


async def test_who_leaves_at_any_point_leaves_nothing_behind(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        for turns in range(0, 120, 3):
            call = asyncio.create_task(_scrape(service, site.url("/")))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)


async def test_what_began_though_the_answer_got_lost_is_given_up(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        store = service.store
        take, began = store.take, []

        async def taken_in_silence(new: NewCrawl, *arguments: Any, **options: Any) -> Any:
            began.append((await take(new, *arguments, **options))[1])
            raise StoreUnavailable("the connection was lost")

        monkeypatch.setattr(store, "take", taken_in_silence)
        with pytest.raises(StoreUnavailable):
            await _scrape(service, site.url("/"))
        assert began[0] is not None


async def test_no_time_at_all_is_a_timeout(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        assert (await _scrape(service, site.url("/"), timeout_s=0)).code == "timeout"
        with pytest.raises(TimeoutError):
            await service.map(site.url("/"), CrawlOptions(), Terms(), limit=5, search=None, timeout_s=0)


async def test_a_fault_of_ours_frees_the_slots(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_arguments: object) -> None:
        raise RuntimeError("a bug")

    async with _service(tmp_path) as service:
        monkeypatch.setattr(service.engine.executor, "run", fail)
        with pytest.raises(RuntimeError, match="a bug"):
            await _scrape(service, site.url("/"))


async def test_a_store_that_is_away_when_the_page_is_there_gets_its_slots_back(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x", delay_s=0.3)
    async with _service(tmp_path) as service:
        call = asyncio.create_task(_scrape(service, site.url("/")))
        await site.wait_for("/")
        other = apsw.Connection(str(tmp_path / DATABASE))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await call
        other.execute("ROLLBACK")
        other.close()


async def test_who_waits_while_the_server_goes_is_told_so_and_nothing_runs_later(site: Site, tmp_path: Path) -> None:
    site.respond("/", hang=True)
    async with Service.open(tmp_path, SETTINGS) as service:
        call = asyncio.create_task(_scrape(service, site.url("/"), timeout_s=None))
        await site.wait_for("/")
    with pytest.raises(Unavailable):
        await asyncio.wait_for(call, 10)
    async with Service.open(tmp_path, SETTINGS) as service:
        assert await _going(service) == 0


async def test_a_worker_declared_dead_while_a_page_is_fetched_still_answers(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x", delay_s=0.5)
    async with _service(tmp_path) as service:
        call = asyncio.create_task(_scrape(service, site.url("/")))
        await site.wait_for("/")
        await service.store.reap([worker.id for worker in await service.store.workers()])
        assert (await call).status == 200
