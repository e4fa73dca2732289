"""The index of known URLs: filled by crawls whose terms say so, and what such a crawl begins with."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from perseid.crawls.index import site_of
from perseid.crawls.start import new_crawl
from perseid.model.options import CrawlOptions, ScopeRules
from perseid.model.terms import Terms
from perseid.testing import Site

_uids = count()


def scoped(**rules: Any) -> CrawlOptions:
    return CrawlOptions(scope=ScopeRules(**rules))


async def crawl(lab: Any, url: str, terms: Terms | None = None, options: CrawlOptions | None = None) -> Any:
    terms = terms or Terms(remember_urls=True, recall_urls=True)
    new = new_crawl(url, options or CrawlOptions(), uid=f"u-{next(_uids)}", key_seed=1, terms=terms)
    await lab.client._store.start(new)
    await lab.client.run(new.uid, concurrency=4)
    return await lab.outcome(new.uid)


async def known(lab: Any, site: Site, team: int = 1) -> list[str]:
    return [each.url for each in await lab.client._store.known.known_urls(team, site_of(site.url("/")))]


async def test_pages_that_are_there_are_remembered(lab: Any, site: Site) -> None:
    site.links({"/": ["/a", "/gone"]})
    site.respond("/gone", 404)
    site.page("/a", "<title>A page</title><meta name=description content='of words'><p>Text</p>")
    await crawl(lab, site.url("/"))
    entries = {each.url: each for each in await lab.client._store.known.known_urls(1, site_of(site.url("/")))}
    assert set(entries) == {site.url("/"), site.url("/a")}
    assert (entries[site.url("/a")].title, entries[site.url("/a")].description) == ("A page", "of words")


@pytest.mark.parametrize("terms", [Terms(), Terms(remember_urls=True, recall_urls=True, zero_retention=True)])
async def test_nothing_is_remembered_unless_the_terms_say_so(lab: Any, site: Site, terms: Terms) -> None:
    site.links({"/": ["/a"]})
    await crawl(lab, site.url("/"), terms)
    assert await known(lab, site) == []


async def test_a_page_that_nobody_links_to_any_more_is_found_again(lab: Any, site: Site) -> None:
    site.links({"/": ["/a"], "/a": []})
    await crawl(lab, site.url("/"))
    site.links({"/": []})
    assert (await crawl(lab, site.url("/"))).paths == ["/", "/a"]
    assert (await crawl(lab, site.url("/"), Terms())).paths == ["/"]


async def test_what_is_known_passes_the_scope_of_the_crawl(lab: Any, site: Site) -> None:
    site.links({"/": ["/docs/a", "/blog/b"], "/docs/": []})
    await crawl(lab, site.url("/"))
    outcome = await crawl(lab, site.url("/docs/"), options=scoped(exclude=("nothing",)))
    assert outcome.paths == ["/docs/", "/docs/a"]
    assert outcome.denied == {}
    assert (await crawl(lab, site.url("/"), options=scoped(exclude=("/blog/",)))).paths == ["/", "/docs/", "/docs/a"]


async def test_links_of_the_start_page_come_first(lab: Any, site: Site) -> None:
    site.links({"/": ["/old"], "/old": []})
    await crawl(lab, site.url("/"))
    site.links({"/": ["/new"]})
    assert (await crawl(lab, site.url("/"), options=CrawlOptions(limit=2))).paths == ["/", "/new"]


async def test_no_link_is_followed_at_depth_0_and_nothing_known_either(lab: Any, site: Site) -> None:
    site.links({"/": ["/a"]})
    await crawl(lab, site.url("/"))
    assert (await crawl(lab, site.url("/"), options=scoped(max_discovery_depth=0))).paths == ["/"]


async def test_only_the_sitemap_means_only_the_sitemap(lab: Any, site: Site) -> None:
    site.links({"/": ["/a", "/b"]})
    await crawl(lab, site.url("/"))
    site.sitemap("/sitemap.xml", ["/b"])
    assert (await crawl(lab, site.url("/"), options=CrawlOptions(sitemap="only"))).paths == ["/", "/b"]


async def test_teams_share_nothing(lab: Any, site: Site) -> None:
    site.links({"/": ["/a"], "/a": []})
    await crawl(lab, site.url("/"), Terms(team=2, remember_urls=True, recall_urls=True))
    site.links({"/": []})
    assert (await crawl(lab, site.url("/"))).paths == ["/"]
    assert len(await known(lab, site, 2)) == 2


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://docs.example.co.uk/a", "example.co.uk"),
        ("https://a.github.io/", "a.github.io"),
        ("http://127.0.0.1:80/", "127.0.0.1"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://localhost/", "localhost"),
        ("nothing", ""),
    ],
)
def test_a_site_is_what_one_registers(url: str, site: str) -> None:
    assert site_of(url) == site
