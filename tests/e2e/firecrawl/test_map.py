"""Maps over HTTP."""

from __future__ import annotations

import pytest

from perseid.testing import Answer, Site

from .conftest import Api


def test_version_1_lists_urls_the_start_first(api: Api, site: Site) -> None:
    told = api.told("/v1/map", url=site.url("/"))
    assert told["links"][0] == site.url("/")
    assert set(told["links"]) == {site.url(path) for path in ("/", "/a", "/blog")}
    assert set(told) == {"success", "links"}


def test_version_2_lists_objects(api: Api, site: Site) -> None:
    told = api.told("/v2/map", url=site.url("/"))
    assert told["links"][0] == {"url": site.url("/")}
    assert set(told) == {"success", "id", "links"}


def test_urls_are_named_without_a_slash_at_their_end(api: Api, site: Site) -> None:
    site.page("/", '<a href="/blog">b</a><a href="/Shop/">s</a>')
    assert set(api.told("/v1/map", url=site.url("/"))["links"]) == {site.url(path) for path in ("/", "/blog", "/Shop")}


def test_queries_don_t_count_unless_told_otherwise(api: Api, site: Site) -> None:
    site.page("/", '<a href="/list?page=1">1</a><a href="/list?page=2">2</a>')
    assert set(api.told("/v1/map", url=site.url("/"))["links"]) == {site.url("/"), site.url("/list")}
    kept = api.told("/v1/map", url=site.url("/"), ignoreQueryParameters=False)["links"]
    assert set(kept) == {site.url("/"), site.url("/list?page=1"), site.url("/list?page=2")}


def test_the_path_of_the_start_confines_a_map(api: Api, site: Site) -> None:
    site.page("/a", '<a href="/a/b">b</a><a href="/blog">blog</a>')
    assert set(api.told("/v1/map", url=site.url("/a"))["links"]) == {site.url("/a"), site.url("/a/b")}
    assert site.url("/blog") in api.told("/v1/map", url=site.url("/a"), filterByPath=False)["links"]


def test_sitemaps_only(api: Api, site: Site) -> None:
    site.sitemap("/sitemap.xml", ["/from-sitemap"])
    only = api.told("/v1/map", url=site.url("/"), sitemapOnly=True)["links"]
    skipped = api.told("/v2/map", url=site.url("/"), sitemap="skip")["links"]
    assert site.url("/from-sitemap") in only
    assert site.url("/a") not in only
    assert site.url("/from-sitemap") not in {link["url"] for link in skipped}


def test_search_ranks_before_the_limit_cuts(api: Api, site: Site) -> None:
    links = api.told("/v2/map", url=site.url("/"), search="blog", limit=1)["links"]
    assert links == [{"url": site.url("/blog")}]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_time_that_is_up_is_a_timeout(api: Api, site: Site, version: str) -> None:
    site.handle("/", lambda _request: Answer(hang=True))
    answer = api.post(f"/{version}/map", url=site.url("/"), timeout=1)
    assert (answer.status_code, answer.json()["code"]) == (408, "MAP_TIMEOUT")


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_site_that_is_not_there_is_a_warning(api: Api, version: str) -> None:
    told = api.told(f"/{version}/map", url="http://127.0.0.1:1/")
    assert told["success"] is True
    assert "could not be read" in told["warning"]
