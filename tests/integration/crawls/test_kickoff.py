"""The start page: where it redirects, what refuses it, how it fails."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.testing import Site


async def test_a_redirected_start_moves_host_scope_and_sitemaps(site: Site, lab: Any) -> None:
    there = site.host("other")
    site.redirect("/", there.url("/home/"))
    there.links({"/home/": ["/home/a", "/elsewhere", site.url("/left")], "/home/b": []})
    there.sitemap("/sitemap.xml", ["/home/b"])
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/home/", "/home/a", "/home/b"]
    assert found.reasons[there.url("/elsewhere")] == "BACKWARD_CRAWLING"
    assert found.reasons[site.url("/left")] == "EXTERNAL_LINK"
    assert "/sitemap.xml" not in site.counts("site")


async def test_the_summary_tells_where_a_redirected_start_went(site: Site, lab: Any) -> None:
    site.redirect("/", site.host("other").url("/home/"))
    site.host("other").links({"/home/": []})
    found = await lab.crawl(site.url("/"))
    assert any(site.host("other").url("/home/") in warning for warning in found.summary.warnings)


async def test_a_redirected_start_is_followed_when_robots_are_ignored(site: Site, lab: Any) -> None:
    site.redirect("/", site.host("other").url("/"))
    site.host("other").links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"), scrape={"obey_robots": False}, sitemap="skip")
    assert found.paths == ["/", "/a"]
    assert "/robots.txt" not in site.counts()


async def test_a_redirected_start_obeys_the_robots_of_where_it_ends(site: Site, lab: Any) -> None:
    site.robots("User-agent: *\nDisallow: /x")
    site.redirect("/", site.host("other").url("/"))
    site.host("other").robots("User-agent: *\nDisallow: /y")
    site.host("other").links({"/": ["/x", "/y"]})
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/x"]
    assert found.reasons[site.host("other").url("/y")] == "ROBOTS_TXT"


@pytest.mark.parametrize("scope", [{"include": ("^/pages/",)}, {"exclude": ("^/$",)}])
async def test_a_start_page_its_own_rules_refuse_gives_links_only(site: Site, lab: Any, scope: dict[str, Any]) -> None:
    site.links({"/": ["/pages/1", "/pages/2", "/pages/3"]})
    found = await lab.crawl(site.url("/"), scope=scope, limit=2, sitemap="skip")
    assert found.paths == ["/pages/1", "/pages/2"]
    assert found.crawl.counts.discovered == 2


async def test_a_start_page_refused_after_its_redirect_gives_its_place_back(site: Site, lab: Any) -> None:
    site.redirect("/", "/home/")
    site.links({"/home/": ["/home/1", "/home/2"]})
    found = await lab.crawl(site.url("/"), scope={"exclude": ("^/home/$",)}, limit=2, sitemap="skip")
    assert found.paths == ["/home/1", "/home/2"]


async def test_a_start_page_accepted_only_after_its_redirect_counts(site: Site, lab: Any) -> None:
    site.redirect("/", "/home/")
    site.links({"/home/": ["/home/1", "/home/2"]})
    found = await lab.crawl(site.url("/"), scope={"include": ("^/home/",)}, limit=2, sitemap="skip")
    assert found.crawl.counts.done == len(found.paths) == 2


async def test_a_start_page_that_robots_forbid_ends_as_completed_with_a_warning(site: Site, lab: Any) -> None:
    site.robots("User-agent: *\nDisallow: /")
    site.links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"))
    assert (found.crawl.status, found.crawl.counts.done) == (CrawlStatus.COMPLETED, 0)
    assert found.summary.warnings[0].startswith("robots_txt_blocked")
    assert (await lab.explain(site.url("/"), found.crawl.uid)).reason == "ROBOTS_TXT"
    assert "/" not in site.counts()


async def test_sitemaps_still_speak_where_only_the_start_page_is_forbidden(site: Site, lab: Any) -> None:
    site.robots("User-agent: *\nDisallow: /$")
    site.sitemap("/sitemap.xml", ["/a"])
    site.page("/a", "<p>a</p>")
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/a"]


async def test_a_start_page_that_is_not_there_is_a_listed_failure(site: Site, lab: Any) -> None:
    found = await lab.crawl(site.url("/gone"))
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert found.codes == {site.url("/gone"): "http_404"}
    assert "http_404" in found.summary.warnings[-1]


async def test_a_start_page_is_given_three_attempts(site: Site, lab: Any) -> None:
    site.respond("/", 500, body="broken")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert found.codes == {site.url("/"): "http_500"}
    assert (site.counts()["/"], found.failures[site.url("/")].attempts) == (3, 3)


async def test_a_start_page_on_a_closed_port_is_a_listed_failure(lab: Any) -> None:
    async with Site() as gone:
        url = gone.url("/")
    found = await lab.crawl(url, scrape={"max_attempts": 1, "obey_robots": False}, sitemap="skip")
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert found.codes == {url: "connection_error"}


async def test_a_sitemap_brings_pages_though_the_start_page_fails(site: Site, lab: Any) -> None:
    site.respond("/", 500)
    site.sitemap("/sitemap.xml", ["/a"])
    site.page("/a", "<p>a</p>")
    found = await lab.crawl(site.url("/"), scrape={"max_attempts": 1})
    assert found.paths == ["/a"]


async def test_a_blocked_start_host_is_never_asked(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"blocked_hosts": ("127.0.0.1",)})
    site.links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"))
    assert site.counts() == {}
    assert (await lab.explain(site.url("/"), found.crawl.uid)).reason == "BLOCKED_HOST"
