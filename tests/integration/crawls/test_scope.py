"""Scope options from the start of a crawl to its pages."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest

from perseid.testing import Answer, Site


async def test_the_limit_is_the_number_of_pages(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(30)]})
    found = await lab.crawl(site.url("/"), limit=7, sitemap="skip")
    assert len(found.paths) == 7
    assert found.reasons[site.url("/29")] == "LIMIT_REACHED"


async def test_a_limit_of_one_is_one_page_beside_twenty_sitemaps(site: Site, lab: Any) -> None:
    listed = [f"/s{n}.xml" for n in range(20)]
    site.robots("\n".join(f"Sitemap: {site.url(path)}" for path in listed))
    for path in listed:
        site.sitemap(path, [f"{path}-page"])
    site.links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"), limit=1)
    assert found.paths == ["/"]
    assert sum(path.startswith("/s") and path in listed for path in site.counts()) == 20


async def test_max_depth_counts_path_segments(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/a/b", "/a/b/c"]})
    found = await lab.crawl(site.url("/"), scope={"max_depth": 2}, sitemap="skip")
    assert found.paths == ["/", "/a", "/a/b"]
    assert found.reasons[site.url("/a/b/c")] == "DEPTH_LIMIT"


@pytest.mark.parametrize(("deepest", "pages"), [(0, ["/"]), (1, ["/", "/1"]), (2, ["/", "/1", "/2"])])
async def test_max_discovery_depth_counts_links(site: Site, lab: Any, deepest: int, pages: list[str]) -> None:
    site.links({"/": ["/1"], "/1": ["/2"], "/2": ["/3"]})
    found = await lab.crawl(site.url("/"), scope={"max_discovery_depth": deepest}, sitemap="skip")
    assert found.paths == pages
    assert found.reasons[site.url(f"/{deepest + 1}")] == "DISCOVERY_DEPTH"


async def test_discovery_depth_does_not_cut_sitemaps(site: Site, lab: Any) -> None:
    site.links({"/": ["/linked"], "/listed": ["/deeper"]})
    site.sitemap("/sitemap.xml", ["/listed"])
    found = await lab.crawl(site.url("/"), scope={"max_discovery_depth": 0})
    assert found.paths == ["/", "/listed"]


def _graph(seed: int) -> dict[str, list[str]]:
    chance = random.Random(seed)
    names = ["/", *(f"/p{n}" for n in range(40))]
    return {name: [chance.choice(names) for _ in range(3)] for name in names}


def _within(graph: dict[str, list[str]], deepest: int) -> set[str]:
    reached = near = {"/"}
    for _ in range(deepest):
        near = {to for page in near for to in graph[page]}
        reached = reached | near
    return reached


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_the_pages_within_a_depth_do_not_depend_on_timing(
    site: Site, lab: Any, seed: int, concurrency: int
) -> None:
    graph = _graph(seed)
    chance = random.Random(seed + concurrency)
    site.links(graph)
    for path in graph:
        answer = site._routes[path][0]
        assert isinstance(answer, Answer)
        site.respond(path, body=answer.body, delay_s=chance.choice((0.0, 0.0, 0.03)))
    found = await lab.crawl(site.url("/"), scope={"max_discovery_depth": 3}, sitemap="skip", concurrency=concurrency)
    assert set(found.paths) == _within(graph, 3)


async def test_the_pages_within_a_depth_do_not_depend_on_the_number_of_processes(site: Site, lab: Any) -> None:
    graph = _graph(7)
    site.links(graph)
    crawl = await lab.start(site.url("/"), scope={"max_discovery_depth": 3}, sitemap="skip")
    await lab.client.run(crawl.uid, concurrency=4, processes=3)
    found = await lab.outcome(crawl.uid)
    assert set(found.paths) == _within(graph, 3)
    assert max(count for path, count in site.counts().items() if path != "/robots.txt") == 1


async def test_siblings_and_parents_need_the_entire_domain(site: Site, lab: Any) -> None:
    site.links({"/docs/a/": ["/docs/a/x", "/docs/b", "/"]})
    near = await lab.crawl(site.url("/docs/a/"), sitemap="skip")
    far = await lab.crawl(site.url("/docs/a/"), scope={"entire_domain": True}, sitemap="skip")
    assert near.paths == ["/docs/a/", "/docs/a/x"]
    assert near.reasons[site.url("/docs/b")] == "BACKWARD_CRAWLING"
    assert far.paths == ["/", "/docs/a/", "/docs/a/x", "/docs/b"]


async def test_external_pages_are_one_hop_away(site: Site, lab: Any) -> None:
    other, third = site.host("other"), site.host("third")
    site.links({"/": [other.url("/a")]})
    other.links({"/a": [other.url("/b"), third.url("/c"), site.url("/back")]})
    site.page("/back", "<p>back</p>")
    found = await lab.crawl(site.url("/"), scope={"external": True}, sitemap="skip")
    assert set(found.urls) == {site.url("/"), other.url("/a"), site.url("/back")}
    assert site.counts("third") == {}


async def test_a_query_can_be_ignored(site: Site, lab: Any) -> None:
    site.links({"/": ["/a?x=1", "/a?x=2", "/a"]})
    found = await lab.crawl(site.url("/"), scope={"ignore_query": True}, sitemap="skip")
    assert len(found.paths) == 2
    assert "/a?x=1" in found.paths


async def test_queries_make_pages_otherwise(site: Site, lab: Any) -> None:
    site.links({"/": ["/a?x=1", "/a?x=2", "/a"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/a", "/a?x=1", "/a?x=2"]


async def test_similar_spellings_are_one_page(site: Site, lab: Any) -> None:
    site.links({"/": ["/p", "/p/", "/p/index.html", "/p/index.php"]})
    found = await lab.crawl(site.url("/"), scope={"deduplicate_similar": True}, sitemap="skip")
    assert found.paths == ["/", "/p"]


async def test_a_spelling_that_is_gone_is_replaced_by_the_next(site: Site, lab: Any) -> None:
    site.links({"/": ["/p", "/p/index.html"]})
    site.respond("/p", 404)
    found = await lab.crawl(site.url("/"), scope={"deduplicate_similar": True}, sitemap="skip")
    assert found.paths == ["/", "/p/index.html"]
    assert found.failures == {}


@pytest.mark.parametrize(
    ("mode", "pages"),
    [("include", ["/", "/linked", "/listed"]), ("skip", ["/", "/linked"]), ("only", ["/", "/listed"])],
)
async def test_sitemap_modes(site: Site, lab: Any, mode: str, pages: list[str]) -> None:
    site.links({"/": ["/linked"], "/listed": []})
    site.sitemap("/sitemap.xml", ["/listed"])
    found = await lab.crawl(site.url("/"), sitemap=mode)
    assert found.paths == pages


async def test_a_delay_lies_between_two_pages_of_one_crawl(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b"]})
    await lab.crawl(site.url("/"), delay_s=0.3, sitemap="skip")
    pages = [request for request in site.requests if request.path != "/robots.txt"]
    gaps = [later.at_s - earlier.at_s for earlier, later in itertools.pairwise(pages)]
    assert min(gaps) >= 0.29
    assert site.peak() == 1


async def test_a_crawl_keeps_to_its_own_concurrency(site: Site, lab: Any) -> None:
    site.links({"/": [f"/{n}" for n in range(12)]})
    for n in range(12):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.02)
    await lab.crawl(site.url("/"), max_concurrency=3, sitemap="skip")
    assert site.peak() == 3


async def test_include_and_exclude_see_the_path(site: Site, lab: Any) -> None:
    site.links({"/": ["/blog/1", "/blog/2?draft=1", "/shop/1", "/blog/private"]})
    found = await lab.crawl(
        site.url("/"), scope={"include": ("^/blog/",), "exclude": ("private", "draft")}, sitemap="skip"
    )
    assert found.paths == ["/blog/1", "/blog/2?draft=1"]
    assert found.reasons[site.url("/shop/1")] == "INCLUDE_PATTERN"
    assert found.reasons[site.url("/blog/private")] == "EXCLUDE_PATTERN"


async def test_patterns_can_see_the_whole_url(site: Site, lab: Any) -> None:
    site.links({"/": ["/blog/1", "/blog/2?draft=1"]})
    scope = {"exclude": ("draft=",), "regex_on_full_url": True}
    found = await lab.crawl(site.url("/"), scope=scope, sitemap="skip")
    assert found.paths == ["/", "/blog/1"]


async def test_the_limit_counts_after_the_filters(site: Site, lab: Any) -> None:
    site.links({"/": ["/home", "/imprint", "/about", "/pages/1", "/pages/2", "/pages/3"]})
    found = await lab.crawl(site.url("/"), scope={"include": ("^/pages/.*",)}, limit=2, sitemap="skip")
    assert found.paths == ["/pages/1", "/pages/2"]


async def test_endless_links_end_at_the_deadline(site: Site, lab: Any) -> None:
    site.otherwise(lambda request: Answer(body=f"<a href='{request.path}x'>more</a>", delay_s=0.02))
    async with asyncio.timeout(10):
        found = await lab.crawl(site.url("/a"), deadline_s=0.5, sitemap="skip", scope={"entire_domain": True})
    assert set(found.codes.values()) == {"crawl_deadline"}
    assert len(found.paths) > 1
