"""Which pages a crawl brings home, and under which addresses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from perseid.testing import Site

from .conftest import Server
from .file import pdf

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


def paths(server: Server, web: Site, start: str, **options: Any) -> list[str]:
    """The paths a crawl from `start` has brought, sorted."""
    return [url.removeprefix(web.origin) for url in server.crawled(web.url(start), **options)]


@VERSIONS
def test_links_are_followed_to_the_end(server: Server, web: Site, version: str) -> None:
    web.links({"/chain/": ["/chain/a"], "/chain/a": ["/chain/b"], "/chain/b": ["/chain/c", "/chain/"]})
    assert paths(server, web, "/chain/", version=version) == ["/chain/", "/chain/a", "/chain/b", "/chain/c"]


SCOPES = {
    "/s1/docs": ["/s1/docs", "/s1/docs/in"],
    "/s2/docs/": ["/s2/docs/", "/s2/docs/in"],
    "/s3/docs/page.html": ["/s3/docs/in", "/s3/docs/page.html"],
}


@pytest.mark.parametrize("start", SCOPES)
def test_the_start_page_says_how_far_it_goes(server: Server, web: Site, start: str) -> None:
    root = start.split("/")[1]
    web.links({start: [f"/{root}/docs/in", f"/{root}/docsearch", f"/{root}/other", f"/{root}/"]})
    assert paths(server, web, start) == SCOPES[start]


@VERSIONS
def test_the_entire_domain_may_be_asked_for(server: Server, web: Site, version: str) -> None:
    web.links({"/entire/docs/": ["/entire/docs/in", "/entire/other"], "/entire/other": ["/entire/third"]})
    assert paths(server, web, "/entire/docs/", version=version, crawlEntireDomain=True) == [
        "/entire/docs/", "/entire/docs/in", "/entire/other", "/entire/third",
    ]  # fmt: skip


def test_version_1_may_go_backward(server: Server, web: Site) -> None:
    web.links({"/back/docs/": ["/back/other"]})
    found = paths(server, web, "/back/docs/", version="v1", allowBackwardLinks=True)
    assert found == ["/back/docs/", "/back/other"]


def test_addresses_are_as_the_pages_name_them(server: Server, web: Site) -> None:
    web.links({"/exact/": ["/exact/blog", "/exact/news/", "/exact/a?b=2&a=1"]})
    assert paths(server, web, "/exact/") == ["/exact/", "/exact/a?b=2&a=1", "/exact/blog", "/exact/news/"]
    assert "/exact/blog/" not in web.counts()


def test_a_start_page_without_slash_stays_so(server: Server, web: Site) -> None:
    web.page("/blog", "<h1>Blog</h1>")
    assert paths(server, web, "/blog", limit=1) == ["/blog"]
    assert "/blog/" not in web.counts()


def test_a_start_page_without_path_or_scheme_is_named_as_it_was_asked_for(server: Server, web: Site) -> None:
    web.host("other").page("/", "<h1>Home</h1>")
    [page] = server.crawl(web.host("other").origin, limit=1)["data"]
    assert page["metadata"]["sourceURL"].rstrip("/") == web.host("other").origin


LIKE = {
    "slash": ["/like1/a", "/like1/a/"],
    "index.html": ["/like2/a/", "/like2/a/index.html"],
    "index.php": ["/like3/a/", "/like3/a/index.php"],
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("similar", [True, False])
def test_similar_addresses_are_one_unless_that_is_not_wanted(
    server: Server, web: Site, name: str, similar: bool
) -> None:
    first, second = LIKE[name]
    start = f"/{first.split('/')[1]}/"
    web.links({start: [first, second]})
    found = paths(server, web, start, deduplicateSimilarURLs=similar, sitemap="skip")
    assert found == sorted([start, first] if similar else [start, first, second])


def test_queries_tell_pages_apart_unless_that_is_not_wanted(server: Server, web: Site) -> None:
    web.links({"/query/": ["/query/a?x=1", "/query/a?x=2"]})
    assert paths(server, web, "/query/") == ["/query/", "/query/a?x=1", "/query/a?x=2"]
    assert len(paths(server, web, "/query/", ignoreQueryParameters=True)) == 2


def test_parts_of_pages_are_no_pages(server: Server, web: Site) -> None:
    web.links({"/part/": ["/part/#top", "/part/a#x", "/part/a#y"], "/part/a": []})
    assert paths(server, web, "/part/") == ["/part/", "/part/a"]


def test_files_without_text_are_not_followed(server: Server, web: Site) -> None:
    kinds = (
        "png", "jpg", "jpeg", "gif", "css", "js", "ico", "svg", "tiff", "zip", "exe", "dmg", "mp4", "mp3", "wav",
        "pptx", "xlsx", "avi", "flv", "woff", "ttf", "woff2", "webp", "inc",
    )  # fmt: skip
    web.links({"/files/": ["/files/a.htm", *(f"/files/x.{kind}" for kind in kinds)]})
    assert paths(server, web, "/files/") == ["/files/", "/files/a.htm"]
    assert not [path for path in web.counts() if path.startswith("/files/x")]


def test_a_pdf_that_is_linked_is_read(server: Server, web: Site) -> None:
    web.links({"/linked/": ["/linked/a.pdf"]})
    web.respond("/linked/a.pdf", headers={"Content-Type": "application/pdf"}, body=pdf("Of stones", pages=2))
    state = server.crawl(web.url("/linked/"))
    found = {page["metadata"]["sourceURL"]: page for page in state["data"]}
    document = found[web.url("/linked/a.pdf")]
    assert "Of stones" in document["markdown"]
    assert document["metadata"]["numPages"] == 2


def test_a_crawl_of_a_pdf_is_that_pdf(server: Server, web: Site) -> None:
    web.respond("/alone/a.pdf", headers={"Content-Type": "application/pdf"}, body=pdf("Of stones", pages=2))
    [page] = server.crawl(web.url("/alone/a.pdf"), limit=1)["data"]
    assert ("Of stones" in page["markdown"], page["metadata"]["numPages"]) == (True, 2)


@VERSIONS
@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_counts_the_start_page(server: Server, web: Site, version: str, limit: int) -> None:
    web.links({"/limit/": [f"/limit/{number}" for number in range(9)]})
    state = server.crawl(web.url("/limit/"), version=version, limit=limit)
    assert (state["completed"], state["total"], len(state["data"])) == (limit, limit, limit)


def test_missing_pages_count_for_the_limit_too(server: Server, web: Site) -> None:
    web.links({"/lost/": ["/lost/gone", "/lost/a", "/lost/b"]})
    web.respond("/lost/gone", 404, body="<h1>Gone</h1>")
    assert server.crawl(web.url("/lost/"), limit=2)["completed"] == 2


def test_a_page_that_failed_counts_for_the_limit(server: Server, web: Site) -> None:
    web.links({"/refund/": ["/refund/file", "/refund/a"], "/refund/a": ["/refund/b"]})
    web.respond("/refund/file", headers={"Content-Type": "application/zip"}, body=b"PK\x03\x04")
    web.respond("/refund/a", body='<h1>A</h1><a href="/refund/b">b</a>', delay_s=0.5)
    assert server.crawl(web.url("/refund/"), limit=3, sitemap="skip")["completed"] == 2


DEPTHS = {0: ["/deep/"], 1: ["/deep/", "/deep/a"], 2: ["/deep/", "/deep/a", "/deep/b"]}


@VERSIONS
@pytest.mark.parametrize("depth", DEPTHS)
def test_discovery_goes_so_deep(server: Server, web: Site, version: str, depth: int) -> None:
    web.links({"/deep/": ["/deep/a"], "/deep/a": ["/deep/b"], "/deep/b": ["/deep/c"]})
    assert paths(server, web, "/deep/", version=version, maxDiscoveryDepth=depth) == DEPTHS[depth]


def test_a_depth_of_none_suppresses_sitemaps(server: Server, web: Site) -> None:
    web.links({"/flat/": []})
    web.page("/flat/mapped", "<h1>Mapped</h1>")
    web.sitemap("/flat/sitemap.xml", ["/flat/mapped"])
    assert paths(server, web, "/flat/") == ["/flat/", "/flat/mapped"]
    assert paths(server, web, "/flat/", maxDiscoveryDepth=0) == ["/flat/"]


def test_version_1_counts_the_segments_of_paths(server: Server, web: Site) -> None:
    web.links({"/seg/": ["/seg/a", "/seg/a/b", "/seg/a/index.html", "/seg/a/b/c"]})
    found = paths(server, web, "/seg/", version="v1", maxDepth=2, deduplicateSimilarURLs=False)
    assert found == ["/seg/", "/seg/a", "/seg/a/index.html"]


def test_a_start_page_of_version_1_may_be_too_deep(server: Server, web: Site) -> None:
    answer = server.post("/v1/crawl", url=web.url("/a/b/c"), maxDepth=2)
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert answer.json()["error"] == "URL depth exceeds the specified maxDepth"


@VERSIONS
def test_paths_to_include_leave_out_the_start_page_but_not_its_links(server: Server, web: Site, version: str) -> None:
    web.links({"/incl/": ["/incl/blog/a", "/incl/news/b"], "/incl/blog/a": ["/incl/blog/c"]})
    uid = server.start(f"/{version}/crawl", url=web.url("/incl/"), includePaths=["blog"])
    state = server.ended(f"/{version}/crawl/{uid}")
    found = sorted(page["metadata"]["sourceURL"] for page in state["data"])
    assert found == [web.url("/incl/blog/a"), web.url("/incl/blog/c")]
    errors = server.told(f"/{version}/crawl/{uid}/errors")["errors"]
    assert (web.url("/incl/"), "CRAWL_DENIAL") in [(error["url"], error["code"]) for error in errors]


@VERSIONS
def test_paths_to_exclude(server: Server, web: Site, version: str) -> None:
    web.links({"/excl/": ["/excl/blog/a", "/excl/news"]})
    assert paths(server, web, "/excl/", version=version, excludePaths=["blog/.*"]) == ["/excl/", "/excl/news"]


def test_patterns_are_searched_for_and_may_be_blank(server: Server, web: Site) -> None:
    web.links({"/pat/": ["/pat/blo", "/pat/xblog/y", "/pat/z"]})
    assert paths(server, web, "/pat/", excludePaths=["blog/*", " ", ""]) == ["/pat/", "/pat/blo", "/pat/z"]


def test_exclusion_wins_over_inclusion(server: Server, web: Site) -> None:
    web.links({"/both/": ["/both/a", "/both/ab"]})
    assert paths(server, web, "/both/", includePaths=["both"], excludePaths=["ab$"]) == ["/both/", "/both/a"]


def test_patterns_see_the_path_or_the_whole_address(server: Server, web: Site) -> None:
    web.links({"/full/": ["/full/a?x=1", "/full/b"]})
    assert len(paths(server, web, "/full/", excludePaths=["x=1", "127.0.0.1"])) == 3
    assert paths(server, web, "/full/", excludePaths=["x=1"], regexOnFullURL=True) == ["/full/", "/full/b"]


def test_patterns_are_those_of_javascript(server: Server, web: Site) -> None:
    web.links({"/js/": ["/js/a1", "/js/b2", "/js/c"]})
    assert paths(server, web, "/js/", excludePaths=[r"/js/(?<name>[ab])\d"]) == ["/js/", "/js/c"]


@VERSIONS
def test_links_that_lead_out_are_followed_once_if_at_all(server: Server, web: Site, version: str) -> None:
    away = f"http://localhost:{web.port}"
    web.links({"/out/": [f"{away}/out/far", f"{away}/"], "/out/far": ["/out/farther"]})
    assert paths(server, web, "/out/", version=version) == ["/out/"]
    found = server.crawled(web.url("/out/"), version=version, allowExternalLinks=True)
    assert found == sorted([web.url("/out/"), f"{away}/out/far"])


def test_patterns_to_include_do_not_hold_for_links_that_lead_out(server: Server, web: Site) -> None:
    away = f"http://localhost:{web.port}"
    web.links({"/out2/": [f"{away}/elsewhere", f"{away}/banned"]})
    web.page("/elsewhere", "<h1>Elsewhere</h1>")
    found = server.crawled(
        web.url("/out2/"), allowExternalLinks=True, includePaths=["out2"], excludePaths=["localhost.*banned"]
    )
    assert found == sorted([web.url("/out2/"), f"{away}/elsewhere"])


@VERSIONS
def test_robots_are_heeded_unless_told_not_to(server: Server, web: Site, version: str) -> None:
    host = web.host("third")
    host.links({"/": ["/open", "/closed"]})
    host.robots("User-agent: *\nDisallow: /closed\n")
    assert server.crawled(host.url("/"), version=version) == [host.url("/"), host.url("/open")]
    assert host.url("/closed") in server.crawled(host.url("/"), version=version, ignoreRobotsTxt=True)


@VERSIONS
def test_a_start_page_that_robots_forbid_is_a_denial(server: Server, web: Site, version: str) -> None:
    host = web.host("third")
    host.robots("User-agent: *\nDisallow: /closed\n")
    host.page("/closed", "<h1>Closed</h1>")
    uid = server.start(f"/{version}/crawl", url=host.url("/closed"))
    state = server.ended(f"/{version}/crawl/{uid}")
    assert (state["status"], state["total"], state["data"]) == ("completed", 0, [])
    assert ("robots" in state.get("warning", "")) is (version == "v2")
    told = server.told(f"/{version}/crawl/{uid}/errors")
    assert [error["code"] for error in told["errors"]] == ["CRAWL_DENIAL"]
    assert told["robotsBlocked"] == [host.url("/closed")]


def test_sitemaps_are_read_left_out_or_all_there_is(server: Server, web: Site) -> None:
    web.links({"/maps/": ["/maps/linked"]})
    web.page("/maps/mapped", '<a href="/maps/deeper">deeper</a>')
    web.sitemap("/maps/sitemap.xml", ["/maps/mapped"])
    web.page("/maps/deeper", "<h1>Deeper</h1>")
    all_ = ["/maps/", "/maps/deeper", "/maps/linked", "/maps/mapped"]
    assert paths(server, web, "/maps/") == all_
    assert paths(server, web, "/maps/", sitemap="skip") == ["/maps/", "/maps/linked"]
    assert paths(server, web, "/maps/", sitemap="only") == ["/maps/", "/maps/mapped"]
    assert paths(server, web, "/maps/", version="v1", ignoreSitemap=True) == ["/maps/", "/maps/linked"]


def test_sitemaps_that_robots_name_are_read(server: Server, web: Site) -> None:
    host = web.host("fourth")
    host.robots(f"Sitemap: {host.url('/deep/map-index.xml')}\n")
    host.sitemap("/deep/map-index.xml", ["/deep/inner.xml"], index=True)
    host.sitemap("/deep/inner.xml", ["/told"])
    host.page("/told", "<h1>Told</h1>")
    host.page("/", "<h1>Home</h1>")
    assert server.crawled(host.url("/")) == [host.url("/"), host.url("/told")]


def test_a_crawl_from_a_sitemap_brings_what_it_lists(server: Server, web: Site) -> None:
    web.sitemap("/listing/pages.xml", ["/listing/a", "/listing/b"])
    web.links({"/listing/a": [], "/listing/b": []})
    assert {"/listing/a", "/listing/b"} <= set(paths(server, web, "/listing/pages.xml"))


def test_a_redirect_on_the_same_host_keeps_the_scope(server: Server, web: Site) -> None:
    web.redirect("/redir/", "/redir/intro")
    web.links({"/redir/intro": ["/redir/a", "/elsewhere/b"]})
    state = server.crawl(web.url("/redir/"))
    found = {page["metadata"]["sourceURL"]: page["metadata"]["url"] for page in state["data"]}
    assert found == {web.url("/redir/"): web.url("/redir/intro"), web.url("/redir/a"): web.url("/redir/a")}


def test_a_redirect_to_another_host_moves_the_crawl(server: Server, web: Site) -> None:
    host = web.host("other")
    host.robots("")
    web.redirect("/moved/", host.url("/new/"))
    host.links({"/new/": ["/new/a", "/old"]})
    state = server.crawl(web.url("/moved/"))
    found = sorted((page["metadata"]["sourceURL"], page["metadata"]["url"]) for page in state["data"])
    assert found == sorted([(web.url("/moved/"), host.url("/new/")), (host.url("/new/a"), host.url("/new/a"))])


def test_a_redirect_that_leads_out_is_a_denial(server: Server, web: Site) -> None:
    web.links({"/leads/": ["/leads/out"]})
    web.redirect("/leads/out", "/away")
    web.page("/away", "<h1>Away</h1>")
    uid = server.start("/v2/crawl", url=web.url("/leads/"))
    state = server.ended(f"/v2/crawl/{uid}")
    assert [page["metadata"]["sourceURL"] for page in state["data"]] == [web.url("/leads/")]
    [error] = server.told(f"/v2/crawl/{uid}/errors")["errors"]
    assert (error["url"], error["code"]) == (web.url("/leads/out"), "CRAWL_DENIAL")


def test_two_ways_to_one_page_are_one_page(server: Server, web: Site) -> None:
    web.links({"/ways/": ["/ways/a", "/ways/b", "/ways/end"]})
    web.redirect("/ways/a", "/ways/end")
    web.redirect("/ways/b", "/ways/end")
    uid = server.start("/v2/crawl", url=web.url("/ways/"))
    state = server.ended(f"/v2/crawl/{uid}")
    assert sorted(page["metadata"]["url"] for page in state["data"]) == [web.url("/ways/"), web.url("/ways/end")]
    assert state["total"] == 2
    assert server.told(f"/v2/crawl/{uid}/errors")["errors"] == []


def test_a_delay_keeps_pages_apart(server: Server, web: Site) -> None:
    web.links({"/delay/": ["/delay/a", "/delay/b"]})
    server.crawl(web.url("/delay/"), delay=0.3, sitemap="skip")
    asked = sorted(request.at_s for request in web.requests if request.path.startswith("/delay/"))
    assert len(asked) == 3
    assert min(after - before for before, after in pairwise(asked)) >= 0.28


def test_concurrency_is_bounded(server: Server, web: Site) -> None:
    for number in range(6):
        web.respond(f"/conc/{number}", body="<h1>Slow</h1>", delay_s=0.05)
    web.page("/conc/", "".join(f'<a href="/conc/{number}">x</a>' for number in range(6)))
    before = len(web.requests)
    server.crawl(web.url("/conc/"), maxConcurrency=1, sitemap="skip")
    spans = sorted((r.at_s, r.ended_s) for r in web.requests[before:] if r.path.startswith("/conc/"))
    assert all(first[1] <= second[0] + 0.01 for first, second in pairwise(spans))


def test_options_of_pages_hold_for_each_page(server: Server, web: Site) -> None:
    web.links({"/opts/": ["/opts/a"]})
    state = server.crawl(
        web.url("/opts/"), scrapeOptions={"formats": ["links", "rawHtml"], "headers": {"X-Own": "stone"}}
    )
    assert {frozenset(page) for page in state["data"]} == {frozenset({"links", "rawHtml", "metadata"})}
    seen = [request for request in web.requests if request.path.startswith("/opts/") and "sitemap" not in request.path]
    assert {request.headers.get("x-own") for request in seen} == {"stone"}


def test_a_crawl_that_found_one_page_hints_why(server: Server, web: Site) -> None:
    web.page("/lonely/page", "<h1>Lonely</h1>")
    assert "Only 1 result" in server.crawl(web.url("/lonely/page"))["warning"]


def test_a_single_home_page_needs_no_hint(server: Server, web: Site) -> None:
    host = web.host("other")
    host.robots("")
    host.page("/", "<h1>Home</h1>")
    assert "warning" not in server.crawl(host.url("/"), sitemap="skip")


def test_the_same_page_twice_is_read_once(server: Server, web: Site) -> None:
    web.links({"/once/": ["/once/a", "/once/b"], "/once/a": ["/once/b"], "/once/b": ["/once/a"]})
    server.crawl(web.url("/once/"))
    assert {path: n for path, n in web.counts().items() if path in {"/once/a", "/once/b"}} == {
        "/once/a": 1, "/once/b": 1,
    }  # fmt: skip


def test_social_networks_are_never_followed(server: Server, web: Site) -> None:
    names = ("facebook.com", "twitter.com", "linkedin.com", "instagram.com", "pinterest.com", "discord.com")
    web.links({"/social/": [f"https://{name}/stones" for name in names]})
    uid = server.start("/v2/crawl", url=web.url("/social/"), allowExternalLinks=True)
    assert server.ended(f"/v2/crawl/{uid}")["total"] == 1
    errors = server.told(f"/v2/crawl/{uid}/errors")["errors"]
    assert {error["code"] for error in errors} == {"CRAWL_DENIAL"}


def test_links_within_an_application_are_pages(server: Server, web: Site) -> None:
    web.links({"/spa/": ["/spa/#/one", "/spa/#two"]})
    assert paths(server, web, "/spa/") == ["/spa/", "/spa/#/one"]


@VERSIONS
@pytest.mark.parametrize("status", [404, 500, 503])
def test_a_page_that_always_answers_an_error_is_a_page(server: Server, web: Site, version: str, status: int) -> None:
    start, page = f"/bad{version}{status}/", f"/bad{version}{status}/page"
    web.links({start: [page]})
    web.page(page, "<h1>Not today</h1>", status=status)
    crawl = server.crawl(web.url(start), version=version)
    assert (crawl["status"], crawl["completed"], crawl["total"]) == ("completed", 2, 2)
    (found,) = [document for document in crawl["data"] if document["metadata"]["sourceURL"] == web.url(page)]
    assert found["metadata"]["statusCode"] == status
    assert "Not today" in found["markdown"]
