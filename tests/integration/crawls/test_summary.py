"""What people are told at the end of a crawl: figures, and why a success is hollow."""

from __future__ import annotations

from typing import Any

from perseid.testing import Site


async def test_figures_add_up(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b", "http://elsewhere.test/"]})
    site.respond("/b", 404)
    summary = (await lab.crawl(site.url("/"))).summary
    assert (summary.pages, summary.failures, summary.skipped) == (2, {"http_404": 1}, {"EXTERNAL_LINK": 1})
    assert summary.duration_s > 0
    assert summary.warnings == []


async def test_coverage_is_held_against_the_sitemap(site: Site, lab: Any) -> None:
    site.links({"/": [], "/a": []})
    site.sitemap("/sitemap.xml", ["/", "/a", "/gone"])
    summary = (await lab.crawl(site.url("/"))).summary
    assert (summary.sitemap_urls, summary.sitemap_crawled) == (3, 2)


async def test_a_single_page_with_many_refused_links_is_explained(site: Site, lab: Any) -> None:
    site.links({"/docs/start": [f"/blog/{n}" for n in range(9)]})
    summary = (await lab.crawl(site.url("/docs/start"), sitemap="skip")).summary
    assert any("9 links were skipped as BACKWARD_CRAWLING" in warning for warning in summary.warnings)


async def test_nothing_at_all_is_explained(lab: Any) -> None:
    async with Site() as gone:
        url = gone.url("/")
    scrape = {"max_attempts": 1, "obey_robots": False}
    summary = (await lab.crawl(url, scrape=scrape, sitemap="skip")).summary
    assert any("connection_error" in warning for warning in summary.warnings)


async def test_patterns_that_do_not_do_what_they_seem_to_are_told(site: Site, lab: Any) -> None:
    site.links({"/": ["/a?page=2"]})
    found = await lab.crawl(site.url("/"), scope={"exclude": (r"\?page=",)}, sitemap="skip")
    assert any("patterns see only the path" in warning for warning in found.summary.warnings)


async def test_a_full_ledger_is_told(site: Site, lab: Any) -> None:
    site.links({"/": [f"http://e{n}.test/" for n in range(5)]})
    found = await lab.crawl(site.url("/"), max_denied_rows=2, sitemap="skip")
    assert any("3 more" in warning for warning in found.summary.warnings)
    assert len(found.denied) == 2
