"""A team's pages of a month: a crawl gets what is left, with a warning, and beyond it nothing is begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from perseid.config.settings import FetchSettings, Settings, TeamSettings
from perseid.errors import ConfigError, QuotaExceeded
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.model.terms import Terms
from perseid.runtime.service import Service
from perseid.testing import Site
from perseid.worker.stop import Stop


@asynccontextmanager
async def _service(folder: Path, pages: int) -> AsyncIterator[Service]:
    settings = Settings(fetch=FetchSettings(allow_private="true"), team=TeamSettings(pages_per_period=pages))
    async with Service.open(folder, settings) as service:
        yield service


async def _run(service: Service, crawl: Crawl) -> Crawl:
    async def over() -> bool:
        return (await service.store.crawl_by_id(crawl.id)).status is not CrawlStatus.SCRAPING

    async with asyncio.timeout(30):
        await service.engine.work(Stop(), over, concurrency=4)
    return await service.crawl(1, crawl.uid)


async def test_a_crawl_gets_what_is_left_and_says_so(site: Site, tmp_path: Path) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    async with _service(tmp_path, 5) as service:
        await service.scrape(site.url("/"), ScrapeOptions(), Terms(), timeout_s=20)
        crawl = await _run(service, await service.start_crawl(site.url("/"), CrawlOptions(limit=100), Terms()))
        assert crawl.counts.done == 4
        (warning,) = msgspec.json.decode(crawl.terms, type=Terms).warnings
        assert "4 pages" in warning
        assert [(usage.pages) for usage in await service.usage(1)] == [5]


async def test_a_limit_within_the_quota_stays_as_it_is(site: Site, tmp_path: Path) -> None:
    site.links({"/": ["/a", "/b"]})
    async with _service(tmp_path, 100) as service:
        crawl = await _run(service, await service.start_crawl(site.url("/"), CrawlOptions(limit=2), Terms()))
        assert crawl.counts.done == 2
        assert not msgspec.json.decode(crawl.terms or b"{}", type=Terms).warnings


async def test_beyond_the_quota_nothing_is_begun(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path, 1) as service:
        await service.scrape(site.url("/"), ScrapeOptions(), Terms(), timeout_s=20)
        with pytest.raises(QuotaExceeded):
            await service.scrape(site.url("/"), ScrapeOptions(), Terms(), timeout_s=20)
        with pytest.raises(QuotaExceeded):
            await service.start_crawl(site.url("/"), CrawlOptions(), Terms())
        with pytest.raises(QuotaExceeded):
            await service.start_batch([site.url("/")], ScrapeOptions(), Terms())
        assert len(site.requests) == 1


async def test_crawls_that_begin_at_once_share_what_is_left(site: Site, tmp_path: Path) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    async with _service(tmp_path, 10) as service:
        begun = await asyncio.gather(
            *[service.start_crawl(site.url("/"), CrawlOptions(limit=6), Terms()) for _ in range(4)],
            return_exceptions=True,
        )
        crawls = [each for each in begun if isinstance(each, Crawl)]
        assert sorted(msgspec.json.decode(crawl.options, type=CrawlOptions).limit or 0 for crawl in crawls) == [4, 6]
        assert all(isinstance(each, QuotaExceeded) for each in begun if each not in crawls)
        for crawl in crawls:
            await _run(service, crawl)
        assert [usage.pages for usage in await service.usage(1)] == [10]


async def test_limits_of_the_default_team_are_settings(tmp_path: Path) -> None:
    async with _service(tmp_path, 1) as service:
        with pytest.raises(ConfigError, match="PERSEID_TEAM__MAX_ACTIVE"):
            await service.create_key("default", "", {"max_active": 3})
        secret, key = await service.create_key("other", "", {"max_active": 3})
        assert (await service.team(key.team)).max_active == 3
        assert secret.startswith(key.hint)
