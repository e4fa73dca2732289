"""Maps: which addresses, in which order."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from perseid.testing import Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


def paths(server: Server, web: Site, start: str, *, version: str = "v2", **options: Any) -> list[str]:
    """The paths a map has listed, in its order."""
    links = server.told(f"/{version}/map", url=web.url(start), **options)["links"]
    urls = [link if version == "v1" else link["url"] for link in links]
    return [url.removeprefix(web.origin) or "/" for url in urls]


@pytest.fixture(scope="module", autouse=True)
def pages(web: Site) -> None:
    web.links({"/": ["/linked", "/docs/a", "/shop?id=1"], "/docs": ["/docs/a", "/docs/b", "/other", "/docsearch"]})
    web.sitemap("/sitemap.xml", ["/mapped", "/docs/mapped", "/stones/red", "/blog/"])


def test_version_2_tells_objects_and_an_id(server: Server, web: Site) -> None:
    told = server.told("/v2/map", url=web.url("/"))
    assert set(told) - {"warning"} == {"success", "id", "links"}
    assert told["success"] is True
    UUID(told["id"])
    assert all(set(link) <= {"url", "title", "description"} and link["url"] for link in told["links"])


def test_version_1_tells_plain_addresses_the_start_page_first(server: Server, web: Site) -> None:
    told = server.told("/v1/map", url=web.url("/"))
    assert set(told) - {"warning", "scrape_id", "id"} == {"success", "links"}
    assert all(isinstance(link, str) for link in told["links"])
    assert told["links"][0].rstrip("/") == web.origin


@VERSIONS
def test_sitemap_and_links_are_listed_once_without_slash_or_query(server: Server, web: Site, version: str) -> None:
    found = paths(server, web, "/", version=version)
    assert len(found) == len(set(found))
    assert {"/mapped", "/docs/mapped", "/stones/red", "/linked", "/shop", "/blog"} <= set(found)


@VERSIONS
def test_queries_may_be_kept(server: Server, web: Site, version: str) -> None:
    assert "/shop?id=1" in paths(server, web, "/", version=version, ignoreQueryParameters=False)


@VERSIONS
@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_bounds_the_list(server: Server, web: Site, version: str, limit: int) -> None:
    assert len(paths(server, web, "/", version=version, limit=limit)) == limit


@VERSIONS
def test_a_search_ranks_and_leaves_nothing_out(server: Server, web: Site, version: str) -> None:
    found = paths(server, web, "/", version=version, search="stones")
    assert found[0] == "/stones/red"
    assert set(found) == set(paths(server, web, "/", version=version))


def test_words_of_a_search_are_no_patterns(server: Server, web: Site) -> None:
    assert paths(server, web, "/", search="(stones [red")[0] == "/stones/red"


def test_below_a_path_only_what_begins_with_it_is_listed(server: Server, web: Site) -> None:
    found = paths(server, web, "/docs")
    assert {"/docs/a", "/docs/b"} <= set(found)
    assert all(path.startswith("/docs") for path in found)
    assert "/other" in paths(server, web, "/docs", filterByPath=False)
    assert "/other" in paths(server, web, "/docs", allowExternalLinks=True)


def test_the_sitemap_may_be_left_out_or_all_there_is(server: Server, web: Site) -> None:
    skipped = paths(server, web, "/", sitemap="skip", useIndex=False)
    assert "/linked" in skipped
    assert "/mapped" not in skipped
    only = paths(server, web, "/", sitemap="only", useIndex=False)
    assert {"/mapped", "/docs/mapped", "/stones/red"} <= set(only)
    assert "/linked" not in only


def test_version_1_says_the_same_in_other_words(server: Server, web: Site) -> None:
    assert "/mapped" not in paths(server, web, "/", version="v1", ignoreSitemap=True, useIndex=False)
    only = paths(server, web, "/", version="v1", sitemapOnly=True, useIndex=False)
    assert "/mapped" in only
    assert "/linked" not in only


@VERSIONS
def test_a_map_that_takes_too_long_is_a_408(server: Server, web: Site, version: str) -> None:
    answer = server.post(f"/{version}/map", url=web.url("/"), timeout=1, useIndex=False)
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (408, False, "MAP_TIMEOUT")
    assert told["error"]


@VERSIONS
@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "https://no-such-name.invalid/"])
def test_a_site_that_is_not_there_is_an_answer_with_a_warning(server: Server, version: str, url: str) -> None:
    told = server.told(f"/{version}/map", url=url)
    assert told["success"] is True
    assert isinstance(told["links"], list)
    assert told["warning"]


@VERSIONS
def test_other_sites_are_not_listed(server: Server, web: Site, version: str) -> None:
    web.page("/away/", '<a href="https://else.example/x">x</a><a href="/away/in">in</a>')
    links = server.told(f"/{version}/map", url=web.url("/away/"))["links"]
    assert not [link for link in links if "else.example" in str(link)]


def test_robots_hold_for_maps_unless_told_not_to(server: Server, web: Site) -> None:
    host = web.host("third")
    host.robots("User-agent: *\nDisallow: /closed\n")
    host.sitemap("/sitemap.xml", ["/closed/a", "/open"])
    host.page("/", "<h1>Home</h1>")
    heeding, ignoring = (
        [link["url"] for link in server.told("/v2/map", url=host.url("/"), **options)["links"]]
        for options in ({"useIndex": False}, {"useIndex": False, "ignoreRobotsTxt": True})
    )
    assert (host.url("/open") in heeding, host.url("/closed/a") in heeding) == (True, False)
    assert {host.url("/closed/a"), host.url("/open")} <= set(ignoring)


def test_an_address_without_scheme_is_mapped(server: Server, web: Site) -> None:
    told = server.told("/v2/map", url=web.url("/").removeprefix("http://"))
    assert web.url("/mapped") in [link["url"] for link in told["links"]]


@pytest.mark.parametrize(
    "options",
    [
        {"includePaths": ["x"], "excludePaths": ["y"], "maxDiscoveryDepth": 2, "crawlEntireDomain": True},
        {"allowSubdomains": True, "ignoreRobotsTxt": True, "deduplicateSimilarURLs": False, "regexOnFullURL": True},
        {"delay": 1, "robotsUserAgent": "me", "location": {"country": "US"}, "headers": {"X": "1"}},
        {"includeSubdomains": False, "useIndex": False, "ignoreCache": True, "origin": "api", "integration": "_x"},
    ],
)
def test_options_of_crawls_are_accepted(server: Server, web: Site, options: dict[str, Any]) -> None:
    assert server.told("/v2/map", url=web.url("/"), **options)["success"] is True
