"""Callers who wait for one page: the same leases and limits as the queue, and nothing left behind by who gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from perseid.config.settings import FetchSettings, Settings, TeamSettings, WorkerSettings
from perseid.errors import Busy, NotFound
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.model.terms import Terms
from perseid.runtime.service import Scraped, Service
from perseid.testing import Answer, Site


def _settings(*, max_active: int = 50) -> Settings:
    return Settings(
        fetch=FetchSettings(allow_private="true"),
        worker=WorkerSettings(beat_s=0.2, sweep_s=0.2),
        team=TeamSettings(max_active=max_active),
    )


@asynccontextmanager
async def _service(folder: Path, *, max_active: int = 50) -> AsyncIterator[Service]:
    async with Service.open(folder, _settings(max_active=max_active)) as service:
        yield service
        assert await service.store.audit() == []


async def _scrape(service: Service, url: str, *, timeout_s: float | None = 10) -> Scraped:
    return await service.scrape(url, ScrapeOptions(), Terms(), timeout_s=timeout_s)


async def _active(service: Service) -> int:
    return (await service.load(1)).active


async def test_a_page_is_brought_home_and_can_be_asked_for_again(site: Site, tmp_path: Path) -> None:
    site.page("/", "<title>T</title><p>Hello")
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"))
        assert scraped.document is not None
        assert (scraped.document.title, scraped.status) == ("T", 200)
        again = await service.scraped(1, scraped.uid)
        assert again.document == scraped.document
        assert await _active(service) == 0


async def test_an_answer_of_404_is_a_document_with_its_status(site: Site, tmp_path: Path) -> None:
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/nowhere"))
    assert (scraped.status, scraped.code) == (404, "")
    assert scraped.document is not None


async def test_a_site_that_is_away_gives_a_code_and_a_sentence(tmp_path: Path) -> None:
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, "http://127.0.0.1:9/")
    assert scraped.document is None
    assert scraped.code == "connection_error"
    assert scraped.message


async def test_a_redirect_onto_another_host_is_followed_within_the_call(tmp_path: Path) -> None:
    async with Site("other.example") as site:
        other = site.host("other.example")
        site.redirect("/", other.url("/there"))
        other.page("/there", "<p>There")
        async with _service(tmp_path) as service:
            scraped = await _scrape(service, site.url("/"))
    assert scraped.document is not None
    assert scraped.document.url == other.url("/there")
    assert scraped.document.source_url == site.url("/")


async def test_past_its_time_a_scrape_ends_as_timeout_and_frees_its_slots(site: Site, tmp_path: Path) -> None:
    site.respond("/", hang=True)
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"), timeout_s=0.3)
        assert scraped.code == "timeout"
        await _until_idle(service)


async def _until_idle(service: Service) -> None:
    async with asyncio.timeout(5):
        while await _active(service):  # noqa: ASYNC110 - what is looked at lies in a database
            await asyncio.sleep(0.01)


async def test_who_is_cancelled_leaves_no_lease_behind(site: Site, tmp_path: Path) -> None:
    site.respond("/", hang=True)
    async with _service(tmp_path) as service:
        calls = [asyncio.create_task(_scrape(service, site.url("/"))) for _ in range(20)]
        await site.wait_for("/")
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await _until_idle(service)


async def test_a_full_team_is_waited_for_two_thirds_of_the_time_and_then_busy(site: Site, tmp_path: Path) -> None:
    site.respond("/slow", hang=True)
    site.page("/", "<p>x")
    async with _service(tmp_path, max_active=1) as service:
        holder = asyncio.create_task(_scrape(service, site.url("/slow")))
        await site.wait_for("/slow")
        with pytest.raises(Busy) as busy:
            await _scrape(service, site.url("/"), timeout_s=0.3)
        assert busy.value.retry_after_s > 0
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)
        assert (await _scrape(service, site.url("/"))).status == 200


async def test_a_slot_that_comes_free_goes_to_who_waits_for_it(site: Site, tmp_path: Path) -> None:
    site.page("/slow", "<p>x", delay_s=0.2)
    site.page("/", "<p>x")
    async with _service(tmp_path, max_active=1) as service:
        first, second = await asyncio.gather(_scrape(service, site.url("/slow")), _scrape(service, site.url("/")))
    assert (first.status, second.status) == (200, 200)
    assert second.waited_s > 0 or first.waited_s > 0


async def test_two_hundred_at_once_all_come_home(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        found = await asyncio.gather(*(_scrape(service, site.url("/"), timeout_s=60) for _ in range(200)))
        assert {scraped.status for scraped in found} == {200}
        assert await _active(service) == 0


async def test_scrapes_are_kept_out_of_the_listing_of_crawls(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"))
        assert await service.crawls(1) == []
        assert [crawl.uid for crawl in await service.crawls(1, kinds=[CrawlKind.SCRAPE])] == [scraped.uid]


async def test_another_teams_scrape_is_unknown(site: Site, tmp_path: Path) -> None:
    site.page("/", "<p>x")
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"))
        with pytest.raises(NotFound):
            await service.scraped(2, scraped.uid)


async def test_a_map_ends_with_the_sitemaps_and_fetches_no_page_beside_the_start(site: Site, tmp_path: Path) -> None:
    site.page("/", '<a href="/a">a</a>')
    site.sitemap("/sitemap.xml", ["/b", "/c"])
    async with _service(tmp_path) as service:
        mapped = await service.map(site.url("/"), CrawlOptions(), Terms(), limit=100, search=None, timeout_s=10)
        (crawl,) = await service.crawls(1, kinds=[CrawlKind.MAP])
    assert sorted(link.url for link in mapped.links) == [site.url(path) for path in ("/", "/a", "/b", "/c")]
    assert not {"/a", "/b", "/c"} & {request.path for request in site.requests}
    assert crawl.status is not CrawlStatus.SCRAPING


async def test_a_map_past_its_time_raises_and_leaves_nothing_running(site: Site, tmp_path: Path) -> None:
    site.respond("/", hang=True)
    async with _service(tmp_path) as service:
        with pytest.raises(TimeoutError):
            await service.map(site.url("/"), CrawlOptions(), Terms(), limit=100, search=None, timeout_s=0.2)
        await _until_idle(service)


async def test_an_unreachable_map_says_why_it_has_little(tmp_path: Path) -> None:
    async with _service(tmp_path) as service:
        mapped = await service.map("http://127.0.0.1:9/", CrawlOptions(), Terms(), limit=5, search=None, timeout_s=20)
    assert mapped.warning


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_who_waits_is_told_at_once_what_the_site_answered(site: Site, tmp_path: Path, status: int) -> None:
    site.respond("/", status, {"Retry-After": "30"}, "<p>Not now")
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"))
    assert (scraped.status, site.counts()["/"]) == (status, 1)
    assert scraped.document is not None
    assert scraped.document.markdown == "Not now"


async def test_a_site_that_is_away_keeps_nobody_waiting_who_asks_for_its_next_page(site: Site, tmp_path: Path) -> None:
    site.respond("/away", reset=True)
    site.page("/here", "<p>Here")
    async with _service(tmp_path) as service:
        assert (await _scrape(service, site.url("/away"))).code == "connection_error"
        scraped = await _scrape(service, site.url("/here"))
    assert (scraped.status, scraped.waited_s) == (200, 0.0)


async def test_retries_of_a_page_happen_within_the_call(site: Site, tmp_path: Path) -> None:
    site.sequence("/", [Answer(reset=True), Answer(body="<p>x")])
    async with _service(tmp_path) as service:
        scraped = await _scrape(service, site.url("/"))
    assert scraped.status == 200
