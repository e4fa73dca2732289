"""One page once, whatever its spellings and however it is reached."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.testing import Site


async def test_a_slash_added_by_a_redirect_is_no_other_page(site: Site, lab: Any) -> None:
    site.redirect("/post", "/post/", status=301)
    site.page("/post/", "<p>x</p>")
    found = await lab.crawl(site.url("/post"), scope={"deduplicate_similar": True}, sitemap="skip")
    assert found.urls == [site.url("/post/")]


@pytest.mark.parametrize("first", [[], [(503, {"Retry-After": "1"})]], ids=["at once", "after a 503"])
async def test_a_page_reached_directly_and_by_redirects_is_one_result(site: Site, lab: Any, first: list[Any]) -> None:
    site.links({"/": ["/sbn", "/sbn/"]})
    site.redirect("/sbn/", "/bn")
    site.sequence("/bn", [*first, (302, {"Location": "/sbn"})])
    site.page("/sbn", "<p>I am sbn</p>")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/sbn"]
    assert found.failures == {}
    assert found.crawl.counts.duplicate == 1


async def test_the_start_page_is_fetched_once_and_stays_at_depth_0(site: Site, lab: Any) -> None:
    site.page("/", "<a href='/'>home</a><a href='#'>top</a><a href='/a'>a</a>")
    site.page("/a", "<a href='/'>home</a>")
    found = await lab.crawl(site.origin, scope={"max_depth": 2}, sitemap="skip")
    assert site.counts() == {"/robots.txt": 1, "/": 1, "/a": 1}
    assert (await lab.explain(site.url("/"), found.crawl.uid)).depth == 0


async def test_two_redirects_to_one_page_are_one_result(site: Site, lab: Any) -> None:
    site.links({"/": ["/old1", "/old2"], "/new": ["/more"]})
    site.redirect("/old1", "/new")
    site.redirect("/old2", "/new")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/more", "/new"]


async def test_sections_fold_and_routes_do_not(site: Site, lab: Any) -> None:
    site.links({"/": ["/guide#install", "/guide#use", "/guide", "/app#/users", "/app#!/users/2", "/app#"]})
    site.page("/guide", "<p>g</p>")
    site.page("/app", "<p>a</p>")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.crawl.counts.done == 5
    assert site.counts()["/guide"] == 1


async def test_a_batch_fetches_what_is_named_twice_twice(site: Site, lab: Any) -> None:
    site.page("/a", "<p>a</p>")
    found = await lab.batch([site.url("/a"), site.url("/a")])
    assert len(found.documents) == 2
