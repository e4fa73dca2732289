from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from perseid.errors import ConfigError
from perseid.links.key import url_key
from perseid.links.robots import Robots
from perseid.links.scope import Scope, path_depth
from perseid.model.options import ScopeRules
from perseid.model.verdict import DenialReason, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable

SITE = "https://e.example/"


def scope(
    start: str = SITE, *, blocked: tuple[str, ...] = (), robots: dict[str, Any] | None = None, **rules: Any
) -> Scope:
    return Scope(ScopeRules(**rules), start, key_seed=1, blocked_hosts=blocked, robots=robots)


def judge(found: Scope, hrefs: Iterable[str], page: str | None = None, *, depth: int = 0) -> Judged:
    page = page or found.start_url
    return found.judge(hrefs, base=page, page_url=page, page_depth=depth)


def accepted(found: Scope, urls: Iterable[str]) -> list[str]:
    return [candidate.url for candidate in judge(found, urls).accepted]


def reason(found: Scope, url: str) -> str | None:
    """The verdict on one URL, which a batch of one must give as well."""
    denial = found.judge_url(url)
    batch = found.judge([url], base="https://elsewhere.test/", page_url=found.start_url + "?page", page_depth=0)
    assert [denied.denial for denied in batch.denied] == ([] if denial is None else [denial])
    return denial and denial.reason.value


def test_links_are_resolved_and_come_with_key_and_host() -> None:
    found = scope("https://www.e.example:8443/d/")
    (candidate,) = judge(found, [" ../d/A?q#top\n"]).accepted
    assert candidate == (
        "https://www.e.example:8443/d/A?q",
        url_key("https://www.e.example:8443/d/A?q", 1),
        "e.example:8443",
    )
    assert found.key(candidate.url) == candidate.key


def test_the_start_url_must_be_one() -> None:
    with pytest.raises(ValueError, match="not an http"):
        scope("mailto:a@e.example")


def test_an_invalid_pattern_is_refused_when_the_scope_is_made() -> None:
    with pytest.raises(ConfigError, match="position 0"):
        scope(include=("*.html",))


@pytest.mark.parametrize("url", ["http://[::1", "https://a b/", "https://e.example:99999/", "//", "no/base"])
def test_what_no_browser_could_open(url: str) -> None:
    found = Scope(ScopeRules(), SITE, key_seed=1)
    assert (
        found.judge(["http://["], base=SITE, page_url=SITE, page_depth=0).denied[0].denial.reason == "URL_PARSE_ERROR"
    )
    denial = found.judge_url(url)
    assert denial is not None
    assert denial.reason is DenialReason.URL_PARSE_ERROR


@pytest.mark.parametrize(
    "href",
    ["tel:+441", " JavaScript:void(0)", "MAILTO:x@e.example", "data:text/html,hi", "ftp://e.example/f", "file:///etc/passwd",
     "ssh://e.example", "blob:https://e.example/1", "about:blank", "\tjava\nscript:x", "localhost:3000/x", "view-source:https://e.example/"],
)  # fmt: skip
def test_only_web_pages_are_followed(href: str) -> None:
    (denied,) = judge(scope(), [href]).denied
    assert denied.denial.reason is DenialReason.NON_WEB_PROTOCOL
    assert denied.denial.value in denied.denial.message


@pytest.mark.parametrize("href", ["data:text/html,", "/?", "/", "#", "javascript:", "http://[", "//o.test/", "x:"])
def test_a_huge_link_is_not_kept_whole(href: str) -> None:
    found = scope(include=("^/$",))
    (denied,) = judge(found, [href + "x" * 1_000_000]).denied
    assert sum(map(len, (denied.url, denied.denial.rule, denied.denial.value))) < 6000
    assert not [url for url in found._known if len(url) > 100]
    assert not [href for links in found._links.values() for href in links]


def test_two_huge_links_are_two() -> None:
    assert len(judge(scope(), ["data:," + "x" * 10_000 + end for end in "ab"]).denied) == 2


@pytest.mark.parametrize("href", ["#x", "#", "list#x", "/a/list#", "https://E.example/a/list#y", "#!bang"])
def test_an_anchor_of_the_same_page_is_a_section(href: str) -> None:
    judged = judge(scope(), [href], "https://e.example/a/list")
    assert [denied.denial.reason for denied in judged.denied] == [DenialReason.SECTION_LINK]
    assert judged.accepted == []


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("?page=2#content", "https://e.example/posts?page=2"),
        ("other#content", "https://e.example/other"),
        ("#/users", "https://e.example/posts#/users"),
        ("#!/users", "https://e.example/posts#!/users"),
        ("", "https://e.example/posts"),
        ("posts", "https://e.example/posts"),
        ("posts/#x", "https://e.example/posts/"),
    ],
)
def test_other_pages_and_routes_are_no_sections(href: str, url: str) -> None:
    assert [candidate.url for candidate in judge(scope(), [href], "https://e.example/posts").accepted] == [url]


def test_with_a_query_on_the_page_an_anchor_is_still_a_section() -> None:
    assert judge(scope(), ["#x"], "https://e.example/p?a=1#old").denied[0].denial.reason == "SECTION_LINK"


@pytest.mark.parametrize(
    ("entry", "url", "blocked"),
    [
        ("bad.example", "https://bad.example/", True),
        ("bad.example", "https://www.bad.example/", True),
        ("www.bad.example", "https://bad.example/", True),
        ("bad.example", "https://a.bad.example/", False),
        ("*.bad.example", "https://a.b.bad.example/", True),
        ("*.bad.example", "https://bad.example/", True),
        ("*.bad.example", "https://notbad.example/", False),
        (" BAD.example ", "https://bad.example:8443/", True),
        ("bad.example", "https://bad.example.evil.test/", False),
        ("bad.example", "https://bad.example./", True),
        ("bad.example:8443", "https://bad.example:8443/", True),
        ("bad.example:8443", "https://bad.example/", False),
        ("https://bad.example/", "http://www.bad.example/x", True),
        ("bücher.example", "https://xn--bcher-kva.example/", True),
        ("*.bücher.example", "https://a.xn--bcher-kva.example/", True),
        ("10.0.0.1", "http://10.0.0.1:81/", True),
        ("[::1]", "http://[::1]/", True),
        ("not a host", "https://bad.example/", False),
    ],
)
def test_blocked_hosts(entry: str, url: str, blocked: bool) -> None:
    assert (reason(scope(blocked=("", entry), external=True), url) == "BLOCKED_HOST") is blocked


def test_social_networks_are_refused_even_where_external_links_are_on() -> None:
    assert reason(scope(external=True), "https://m.facebook.com/e") == "SOCIAL_MEDIA"
    assert reason(scope(external=True, block_social_media=False), "https://m.facebook.com/e") is None


def test_the_own_site_may_be_a_social_network() -> None:
    assert reason(scope("https://www.reddit.com/"), "https://reddit.com/r/x") is None
    assert reason(scope("https://www.reddit.com/", subdomains=True), "https://old.reddit.com/r/x") is None


@pytest.mark.parametrize(
    ("path", "depth"),
    [
        ("/", 0),
        ("/a", 1),
        ("/a/", 1),
        ("/a/b", 2),
        ("/a//b", 2),
        ("/a/index.html", 1),
        ("/index.php", 0),
        ("/a/index.htm", 2),
    ],
)
def test_depth_counts_path_segments(path: str, depth: int) -> None:
    assert path_depth(path) == depth
    assert reason(scope(max_depth=depth), f"https://e.example{path}") is None
    if depth:
        assert reason(scope(max_depth=depth - 1), f"https://e.example{path}") == "DEPTH_LIMIT"


def test_file_types_are_judged_by_the_path_alone() -> None:
    assert reason(scope(), "https://e.example/a.zip?x=1") == "FILE_TYPE"
    assert reason(scope(), "https://e.example/get?file=a.zip") is None
    assert reason(scope(), "https://e.example/a.pdf") is None


@pytest.mark.parametrize(
    ("start", "path", "covered"),
    [
        ("/", "/anything/at/all", True),
        ("/docs/", "/docs/a/b", True),
        ("/docs/", "/docs", True),
        ("/docs/", "/docs2/a", False),
        ("/docs/", "/", False),
        ("/docs/index.html", "/docs/a", True),
        ("/docs/index.html", "/blog", False),
        ("/docs/guide.php", "/docs/b.php", True),
        ("/docs", "/docs", True),
        ("/docs", "/docs/a", True),
        ("/docs", "/docs-old", False),
        ("/docs", "/other", False),
        ("/en/index.html", "/en/x/y", True),
        ("/en/index.html", "/de/x", False),
        ("/index.html", "/anything", True),
        ("/docs/16.0", "/docs/16.0/x", True),
        ("/docs/16.0", "/docs/17.0/x", False),
        ("/Docs/", "/docs/a", False),
        ("/caf%C3%A9/", "/caf%c3%a9/x", True),
    ],
)
def test_without_the_entire_domain_only_what_lies_under_the_start_path(start: str, path: str, covered: bool) -> None:
    found = scope(f"https://e.example{start}")
    assert reason(found, f"https://e.example{path}") == (None if covered else "BACKWARD_CRAWLING")
    assert reason(scope(f"https://e.example{start}", entire_domain=True), f"https://e.example{path}") is None


def test_the_start_path_holds_for_its_own_host_only() -> None:
    found = scope("https://docs.acme.example/guide/", subdomains=True, external=True)
    assert reason(found, "https://blog.acme.example/post") is None
    assert reason(found, "https://other.test/post") is None
    assert reason(found, "https://docs.acme.example/post") == "BACKWARD_CRAWLING"


@pytest.mark.parametrize(
    ("start", "url", "own"),
    [
        ("https://e.example/", "http://www.e.example/x", True),
        ("http://www.e.example/", "https://e.example/x", True),
        ("https://e.example/", "https://e.example:443/x", True),
        ("https://e.example/", "https://e.example./x", True),
        ("https://e.example/", "https://e.example:8443/x", False),
        ("https://e.example/", "https://a.e.example/x", False),
        ("https://a.e.example/", "https://e.example/x", False),
        ("https://e.example/", "https://e.example.evil.test/x", False),
        ("https://e.example/", "https://evile.example/x", False),
        ("https://e.example/", "https://e.example@evil.test/x", False),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", True),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8001/x", False),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/x", True),
    ],
)
def test_the_site_is_one_host_whatever_its_scheme_or_www(start: str, url: str, own: bool) -> None:
    assert reason(scope(start), url) == (None if own else "EXTERNAL_LINK")


@pytest.mark.parametrize(
    ("start", "url", "own"),
    [
        ("https://acme.example/", "https://blog.acme.example/x", True),
        ("https://docs.acme.example/", "https://blog.acme.example/x", True),
        ("https://docs.acme.example/", "https://acme.example/x", True),
        ("https://acme.co.uk/", "https://other.co.uk/x", False),
        ("https://ann.github.io/", "https://bob.github.io/x", False),
        ("https://acme.example/", "https://evilacme.example/x", False),
        ("http://10.0.0.1/", "http://11.0.0.1/x", False),
        ("http://localhost/", "http://intranet/x", False),
    ],
)
def test_sub_domains_follow_the_registrable_domain(start: str, url: str, own: bool) -> None:
    assert reason(scope(start, subdomains=True), url) == (None if own else "EXTERNAL_LINK")


def test_external_pages_are_one_hop() -> None:
    found = scope(external=True)
    assert accepted(found, ["https://other.test/a"]) == ["https://other.test/a"]
    judged = judge(found, ["/b", "https://third.test/", "https://e.example/back"], "https://other.test/a", depth=1)
    assert [candidate.url for candidate in judged.accepted] == ["https://e.example/back"]
    assert {denied.denial.reason for denied in judged.denied} == {DenialReason.EXTERNAL_LINK}
    assert "one hop" in judged.denied[0].denial.message


def test_include_patterns_do_not_hold_for_external_pages_and_exclude_sees_their_url() -> None:
    found = scope(external=True, include=("^/docs/",), exclude=(r"other\.test/private",))
    assert reason(found, "https://other.test/a") is None
    assert reason(found, "https://other.test/private") == "EXCLUDE_PATTERN"
    assert reason(found, "https://e.example/a") == "INCLUDE_PATTERN"


def test_robots_rules_hold_for_their_origin() -> None:
    robots = {"https://e.example": Robots.parse(b"User-agent: *\nDisallow: /private\n", agents=["perseid"])}
    found = scope(robots=robots)
    denial = found.judge_url("https://e.example/private/x")
    assert denial is not None
    assert denial.reason is DenialReason.ROBOTS_TXT
    assert "Disallow: /private" in denial.message
    assert reason(found, "https://e.example/public") is None
    assert reason(found, "http://e.example/private") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://e.example/x/x/x",
        "https://e.example/?sid=a8f3c2d1",
        "https://e.example/#/a/a/a",
        "https://e.example/#!/c?sid=a8f3c2d1",
    ],
)
def test_traps_are_refused_in_paths_queries_and_routes(url: str) -> None:
    assert reason(scope(), url) == "TRAP"


def test_the_year_of_the_crawl_decides_on_calendars() -> None:
    late = Scope(ScopeRules(), SITE, key_seed=1, year=2040)
    assert late.judge_url("https://e.example/calendar/2041/05") is None
    assert reason(scope(), "https://e.example/calendar/2041/05") == "TRAP"
