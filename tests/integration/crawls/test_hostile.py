"""Sites that are odd or malicious: the crawl ends, says why, and keeps the rest."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import perseid
from perseid.model.crawl import CrawlStatus
from perseid.testing import Answer, Site


@pytest.mark.parametrize(
    "href",
    [
        "http://[::bad",
        "http://user:pass@/x",
        "//",
        "http://a b/",
        "\ud800/x",
        "/\0null",
        "/" + "long" * 5_000,
        "javascript:void(0)",
        "data:text/html,<a href=/x>",
        "http://127.0.0.1:99999/",
        "?" + "&".join(f"a{n}=1" for n in range(2_000)),
        "blob:x",
        " ",
        "#",
        "https:",
        "http:///three",
    ],
)
async def test_a_hostile_link_harms_nothing(site: Site, lab: Any, href: str) -> None:
    html = f"<p>{'Words of a page. ' * 20}</p><a href='{href}'>x</a><a href='/a'>a</a>"
    site.page("/", html.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    site.page("/a", "<p>a</p>")
    async with asyncio.timeout(20):
        found = await lab.crawl(site.url("/"), sitemap="skip", scrape={"max_attempts": 1})
    assert found.crawl.status is CrawlStatus.COMPLETED
    assert {"/", "/a"} <= set(found.paths)
    assert not {"internal_error", "store_error"} & set(found.codes.values())


async def test_a_location_may_hold_what_browsers_escape(site: Site, lab: Any) -> None:
    site.links({"/": ["/go"]})
    site.redirect("/go", "/ä b")
    site.page("/%C3%A4%20b", "<p>here</p>")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/%C3%A4%20b"]


async def test_many_links_on_one_page_are_all_seen(site: Site, lab: Any) -> None:
    site.page("/", "".join(f"<a href='/{n}'>{n}</a>" for n in range(20_000)))
    found = await lab.crawl(site.url("/"), limit=3, sitemap="skip")
    assert len(found.paths) + len(found.failures) == 3
    assert found.crawl.counts.refused == 20_000 - 2


async def test_an_endless_calendar_is_a_trap(site: Site, lab: Any) -> None:
    def page(request: Any) -> Answer:
        return Answer(body=f"<a href='{request.path.rstrip('/')}/a/a'>deeper</a>")

    site.otherwise(page)
    async with asyncio.timeout(20):
        found = await lab.crawl(site.url("/"), sitemap="skip")
    assert "TRAP" in found.reasons.values()
    assert len(found.paths) < 50


async def test_the_limit_holds_over_many_workers(site: Site, open_lab: Any) -> None:
    site.otherwise(lambda request: Answer(body="".join(f"<a href='{request.path}{c}'>{c}</a>" for c in "abcd")))
    labs = [await open_lab() for _ in range(3)]
    crawl = await labs[0].start(site.url("/p/"), limit=40, sitemap="skip")
    await asyncio.gather(*[lab.client.run(crawl.uid, concurrency=8) for lab in labs])
    found = await labs[0].outcome(crawl.uid)
    assert found.crawl.counts.discovered == len(found.paths) == 40


async def test_a_block_list_that_grows_during_a_crawl_holds_at_once(site: Site, open_lab: Any, tmp_path: Path) -> None:
    listed = tmp_path / "blocked.txt"
    listed.write_text("")
    lab = await open_lab(politeness={"block_list": str(listed)})

    def page(request: Any) -> Answer:
        if len(site.requests) == 6:
            listed.write_text("127.0.0.1\n")
        return Answer(body="<p>x</p>")

    site.page("/", "".join(f"<a href='/{n}'>{n}</a>" for n in range(30)))
    site.otherwise(page)
    found = await lab.crawl(site.url("/"), sitemap="skip", concurrency=1)
    assert len(site.requests) <= 7
    assert found.crawl.counts.denied >= 25


async def test_a_map_of_a_site_that_cannot_be_reached_is_no_success() -> None:
    async with Site() as gone:
        url = gone.url("/")
    options = perseid.CrawlOptions(scrape=perseid.ScrapeOptions(max_attempts=1, obey_robots=False), sitemap="skip")
    with pytest.raises(perseid.ScrapeFailed) as caught:
        await perseid.map_site(url, options=options)
    assert caught.value.failure == "connection_error"
