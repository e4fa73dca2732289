"""Robots.txt in whole crawls: whose rules, what a pause is worth, what an outage means."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from perseid.fetch import robots_cache
from perseid.testing import Answer, Site
from perseid.worker.stop import Stop


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between the three tries for robots.txt, 12 s in all."""
    monkeypatch.setattr(robots_cache, "_PAUSES_S", (0.02, 0.02))


async def test_pages_of_other_hosts_obey_their_own_robots(site: Site, lab: Any) -> None:
    other = site.host("other")
    other.robots("User-agent: *\nDisallow: /shut")
    other.links({"/open": [], "/shut": []})
    site.links({"/": [other.url("/open"), other.url("/shut")]})
    found = await lab.crawl(site.url("/"), scope={"external": True}, sitemap="skip")
    assert other.url("/open") in found.urls
    assert (await lab.explain(other.url("/shut"), found.crawl.uid)).reason == "ROBOTS_TXT"
    assert site.counts("other") == {"/robots.txt": 1, "/open": 1}


async def test_robots_are_asked_for_once(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    await lab.crawl(site.url("/"), concurrency=16)
    await lab.crawl(site.url("/"), concurrency=16)
    assert site.counts()["/robots.txt"] == 1


async def test_sitemaps_are_exempt(site: Site, lab: Any) -> None:
    site.robots(f"User-agent: *\nDisallow: /*.xml\nSitemap: {site.url('/list.xml')}")
    site.links({"/": [], "/listed": []})
    site.sitemap("/list.xml", ["/listed"])
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/listed"]


async def test_a_crawl_may_obey_the_rules_for_another_agent(site: Site, lab: Any) -> None:
    site.robots("User-agent: perseid\nDisallow: /ours\n\nUser-agent: guestbot\nDisallow: /theirs")
    site.links({"/": ["/ours", "/theirs", "/open"]})
    ours = await lab.crawl(site.url("/"), sitemap="skip")
    theirs = await lab.crawl(site.url("/"), scrape={"robots_agent": "GuestBot"}, sitemap="skip")
    assert (ours.paths, theirs.paths) == (["/", "/open", "/theirs"], ["/", "/open", "/ours"])
    assert site.counts()["/robots.txt"] == 1
    assert all("guestbot" not in request.headers["user-agent"].lower() for request in site.requests)


async def test_robots_can_be_ignored_by_one_crawl(site: Site, lab: Any) -> None:
    site.robots("User-agent: *\nDisallow: /shut")
    site.links({"/": ["/shut"]})
    obeying = await lab.crawl(site.url("/"), sitemap="skip")
    ignoring = await lab.crawl(site.url("/"), scrape={"obey_robots": False}, sitemap="skip")
    assert (obeying.paths, ignoring.paths) == (["/"], ["/", "/shut"])
    assert obeying.reasons[site.url("/shut")] == "ROBOTS_TXT"


@pytest.mark.parametrize(
    ("status", "allowed"), [(404, True), (403, True), (401, True), (410, True), (500, False), (503, False)]
)
@pytest.mark.usefixtures("hasty")
async def test_what_a_status_of_robots_means(site: Site, lab: Any, status: int, *, allowed: bool) -> None:
    site.robots("User-agent: *\nDisallow: /", status)
    site.links({"/": ["/p"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == (["/", "/p"] if allowed else [])


@pytest.mark.usefixtures("hasty")
async def test_robots_that_never_come_forbid_all_and_say_so(site: Site, lab: Any) -> None:
    site.respond("/robots.txt", hang=True)
    site.links({"/": ["/p"]})
    found = await lab.crawl(site.url("/"), scrape={"timeout_s": 0.1}, sitemap="skip")
    assert found.paths == []
    assert "robots.txt can't be fetched" in (await lab.explain(site.url("/"), found.crawl.uid)).message
    assert site.counts()["/robots.txt"] == 3


@pytest.mark.usefixtures("hasty")
async def test_robots_that_come_at_the_second_try_hold(site: Site, lab: Any) -> None:
    site.sequence("/robots.txt", [(503,), (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /p")])
    site.links({"/": ["/p", "/q"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/q"]


def _closest(site: Site) -> float:
    times = sorted(request.at_s for request in site.requests)
    return min(later - earlier for earlier, later in itertools.pairwise(times))


GAP_S = 0.3


async def test_a_crawl_delay_lies_between_any_two_requests(site: Site, lab: Any) -> None:
    site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}")
    site.links({"/": ["/a", "/b"]})
    site.redirect("/a", "/a2")
    site.page("/a2", "<p>a</p>")
    found = await lab.crawl(site.url("/"), concurrency=16)
    assert found.paths == ["/", "/a2", "/b"]
    assert _closest(site) >= GAP_S - 0.005


@pytest.mark.usefixtures("hasty")
async def test_a_crawl_delay_counts_from_the_last_try_for_robots(site: Site, lab: Any) -> None:
    site.sequence(
        "/robots.txt", [(503,), (200, {"Content-Type": "text/plain"}, f"User-agent: *\nCrawl-delay: {GAP_S}")]
    )
    site.links({"/": []})
    await lab.crawl(site.url("/"), sitemap="skip")
    last, page = site.requests[-2:]
    assert (last.path, page.path) == ("/robots.txt", "/")
    assert page.at_s - last.at_s >= GAP_S - 0.005


async def test_two_crawls_at_once_share_a_crawl_delay(site: Site, open_lab: Any) -> None:
    site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}")
    site.links({"/": ["/a"]})
    labs = [await open_lab(), await open_lab()]
    await labs[0].batch([site.url("/warm")], obey_robots=True)
    await asyncio.gather(*[lab.crawl(site.url("/"), sitemap="skip") for lab in labs])
    assert _closest(site) >= GAP_S - 0.005


async def test_scrapes_of_two_processes_keep_a_crawl_delay(site: Site, open_lab: Any) -> None:
    site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}")
    one, two = await open_lab(), await open_lab()
    await one.batch([site.url("/warm")], obey_robots=True)
    site.otherwise(lambda request: None)
    site.links({"/": [], "/1": [], "/2": [], "/3": [], "/4": [], "/5": []})
    await asyncio.gather(*[lab.client.scrape(site.url(f"/{n}")) for n in range(1, 6) for lab in (one, two)])
    assert _closest(site) >= GAP_S - 0.005


async def test_a_delay_that_becomes_known_during_a_crawl_holds_for_leases_claimed_before(site: Site, lab: Any) -> None:
    other = site.host("other")
    other.robots(f"User-agent: *\nCrawl-delay: {GAP_S}")
    other.links({f"/{n}": [] for n in range(6)})
    site.links({"/": [other.url(f"/{n}") for n in range(6)]})
    found = await lab.crawl(site.url("/"), scope={"external": True}, sitemap="skip", concurrency=2)
    times = sorted(request.at_s for request in site.requests if request.host == "other")
    assert len(found.paths) == 7
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= GAP_S - 0.005


async def test_a_delay_beyond_all_measure_is_capped_with_a_warning(site: Site, open_lab: Any) -> None:
    lab = await open_lab(robots={"max_crawl_delay_s": GAP_S})
    site.robots("User-agent: *\nCrawl-delay: 86400")
    site.links({"/": ["/a"]})
    async with asyncio.timeout(10):
        found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/a"]
    assert any("86400 s" in warning and f"{GAP_S} s is the most" in warning for warning in found.summary.warnings)


async def test_a_request_broken_off_by_a_stop_counts_into_the_delay(site: Site, lab: Any) -> None:
    site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}")
    site.sequence("/", [Answer(hang=True), Answer(body="<p>start</p>")])
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, stop=stop))
    await site.wait_for("/")
    stop.now()
    await running
    await lab.client.run(crawl.uid)
    assert site.counts()["/"] == 2
    assert _closest(site) >= GAP_S - 0.005


async def test_the_request_of_a_worker_that_was_killed_counts_into_the_delay(site: Site, open_lab: Any) -> None:
    lab = await open_lab(worker={"beat_s": 0.02, "dead_after_s": 0.05})
    site.robots("User-agent: *\nCrawl-delay: 1")
    site.links({"/": []})
    await lab.batch([site.url("/warm")], obey_robots=True)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    store = lab.client._engine.store
    gone = await store.register("a machine that is no more", 1, 1)

    async def claimed() -> bool:
        return bool((await store.step(gone, [], 1, crawl=crawl.id)).leases)

    await lab.until(claimed)
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        await lab.client.run(crawl.uid)
    assert site.requests[-1].path == "/"
    assert site.requests[-1].at_s - began >= 0.95


@pytest.mark.usefixtures("hasty")
async def test_a_site_that_cannot_be_reached_is_a_failure_not_a_prohibition(lab: Any) -> None:
    async with Site() as gone:
        url = gone.url("/")
    found = await lab.crawl(url, sitemap="skip")
    assert found.codes == {url: "connection_error"}
    assert not any("robots_txt_blocked" in warning for warning in found.summary.warnings)
