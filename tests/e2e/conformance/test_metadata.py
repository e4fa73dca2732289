"""The metadata of documents, row by row."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from perseid.testing import Answer, Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


def head(server: Server, web: Site, path: str, html: str, *, version: str = "v2") -> dict[str, Any]:
    """The metadata of a page with that in its head."""
    web.page(path, f"<!doctype html><html lang=de><head>{html}</head><body><p>Some text to be read.</p></body></html>")
    found: dict[str, Any] = server.page(web.url(path), version=version)["metadata"]
    return found


@VERSIONS
def test_each_page_says_where_it_came_from(server: Server, web: Site, version: str) -> None:
    metadata = head(server, web, "/meta/plain", "<title>Plain</title>", version=version)
    UUID(metadata["scrapeId"])
    url = web.url("/meta/plain")
    expected = {
        "sourceURL": url,
        "url": url,
        "statusCode": 200,
        "contentType": "text/html; charset=utf-8",
        "proxyUsed": "basic",
        "creditsUsed": 1,
        "concurrencyLimited": False,
        "title": "Plain",
        "language": "de",
    }
    assert {key: metadata[key] for key in expected} == expected
    assert "error" not in metadata


@VERSIONS
@pytest.mark.parametrize(
    "tail", ["", "?", "?a=1&b=%7e", "#part", "?q=ä", "/", "//double", "/../up/plain", "?b=2&a=1", "%41"]
)
def test_the_source_is_to_the_letter_what_was_sent(server: Server, web: Site, version: str, tail: str) -> None:
    web.otherwise(Answer(body="<h1>Anything</h1>"))
    sent = web.url(f"/meta/exact{tail}")
    assert server.page(sent, version=version)["metadata"]["sourceURL"] == sent


@VERSIONS
def test_a_source_without_scheme_stays_so(server: Server, web: Site, version: str) -> None:
    web.page("/meta/bare", "<h1>Bare</h1>")
    sent = web.url("/meta/bare").removeprefix("http://")
    metadata = server.page(sent, version=version)["metadata"]
    assert (metadata["sourceURL"], metadata["url"]) == (sent, web.url("/meta/bare"))


@VERSIONS
def test_a_redirect_shows_in_the_url_only(server: Server, web: Site, version: str) -> None:
    web.page("/meta/new", "<h1>New</h1>")
    web.redirect("/meta/old", "/meta/new", 301)
    metadata = server.page(web.url("/meta/old"), version=version)["metadata"]
    assert (metadata["sourceURL"], metadata["url"]) == (web.url("/meta/old"), web.url("/meta/new"))
    assert metadata["statusCode"] == 200


def test_no_slash_is_added_to_an_address(server: Server, web: Site) -> None:
    web.page("/meta/noslash", "<h1>No slash</h1>")
    metadata = server.page(web.url("/meta/noslash"))["metadata"]
    assert (metadata["sourceURL"], metadata["url"]) == (web.url("/meta/noslash"), web.url("/meta/noslash"))
    assert [request.path for request in web.requests if "noslash" in request.path] == ["/meta/noslash"]


@VERSIONS
@pytest.mark.parametrize("status", [403, 404, 410, 500, 503])
def test_a_bad_status_is_a_success_that_tells_it(server: Server, web: Site, version: str, status: int) -> None:
    web.respond(f"/meta/bad-{status}-{version}", status, body="<h1>Sorry</h1>")
    told = server.page(web.url(f"/meta/bad-{status}-{version}"), version=version)
    assert (told["metadata"]["statusCode"], told["markdown"]) == (status, "# Sorry")
    assert isinstance(told["metadata"].get("error", ""), str)


def test_the_type_of_the_content_is_told_to_the_letter(server: Server, web: Site) -> None:
    web.respond("/meta/type", headers={"Content-Type": "Text/HTML;Charset=UTF-8"}, body="<h1>Type</h1>")
    assert server.page(web.url("/meta/type"))["metadata"]["contentType"] == "Text/HTML;Charset=UTF-8"


TAGS = {
    '<meta name="description" content="About">': {"description": "About"},
    '<meta name="keywords" content="a, b">': {"keywords": "a, b"},
    '<meta name="robots" content="index">': {"robots": "index"},
    '<meta property="og:title" content="T">': {"ogTitle": "T", "og:title": "T"},
    '<meta property="og:description" content="D">': {"ogDescription": "D", "og:description": "D"},
    '<meta property="og:url" content="https://a.example/">': {"ogUrl": "https://a.example/"},
    '<meta property="og:image" content="https://a.example/i.png">': {"ogImage": "https://a.example/i.png"},
    '<meta property="og:audio" content="A">': {"ogAudio": "A", "og:audio": "A"},
    '<meta property="og:determiner" content="the">': {"ogDeterminer": "the"},
    '<meta property="og:locale" content="de_DE">': {"ogLocale": "de_DE", "og:locale": "de_DE"},
    '<meta property="og:locale:alternate" content="fr_FR">': {"ogLocaleAlternate": ["fr_FR"]},
    '<meta property="og:site_name" content="S">': {"ogSiteName": "S", "og:site_name": "S"},
    '<meta property="og:video" content="V">': {"ogVideo": "V", "og:video": "V"},
    '<meta name="article:section" content="S">': {"articleSection": "S", "article:section": "S"},
    '<meta name="article:tag" content="T">': {"articleTag": "T", "article:tag": "T"},
    '<meta property="article:published_time" content="2026-01-01">': {"publishedTime": "2026-01-01"},
    '<meta property="article:modified_time" content="2026-01-02">': {"modifiedTime": "2026-01-02"},
    '<meta name="dcterms.created" content="c">': {"dcTermsCreated": "c", "dcterms.created": "c"},
    '<meta name="dc.date.created" content="c">': {"dcDateCreated": "c"},
    '<meta name="dc.date" content="c">': {"dcDate": "c"},
    '<meta name="dcterms.type" content="c">': {"dcTermsType": "c"},
    '<meta name="dc.type" content="c">': {"dcType": "c"},
    '<meta name="dcterms.audience" content="c">': {"dcTermsAudience": "c"},
    '<meta name="dcterms.subject" content="c">': {"dcTermsSubject": "c"},
    '<meta name="dc.subject" content="c">': {"dcSubject": "c"},
    '<meta name="dc.description" content="c">': {"dcDescription": "c"},
    '<meta name="dcterms.keywords" content="c">': {"dcTermsKeywords": "c"},
    '<meta name="viewport" content="width=1">': {"viewport": "width=1"},
    '<meta name="twitter:card" content="summary">': {"twitter:card": "summary"},
    '<meta itemprop="thing" content="I">': {"thing": "I"},
    '<meta name="n" property="p" itemprop="i" content="x">': {"n": "x"},
    '<meta property="p2" itemprop="i" content="x">': {"p2": "x"},
    '<meta name="empty" content="">': {"empty": ""},
    '<link rel="icon" href="/f.ico">': {"favicon": "/f.ico"},
    '<link rel="shortcut icon" href="/s.ico">': {"favicon": "/s.ico"},
    '<link rel="apple-touch-icon" href="/a.png"><link rel="icon" href="/f.ico">': {"favicon": "/f.ico"},
}


@pytest.mark.parametrize("tag", TAGS)
def test_each_tag_has_its_key(server: Server, web: Site, tag: str) -> None:
    metadata = head(server, web, f"/meta/tag-{list(TAGS).index(tag)}", tag)
    expected = dict(TAGS[tag])
    if "favicon" in expected:
        expected["favicon"] = web.url(str(expected["favicon"]))
    assert {key: metadata.get(key) for key in expected} == expected


DUPLICATES = {
    "twice": ('<meta name="x" content="1"><meta name="x" content="2">', {"x": ["1", "2"]}),
    "thrice": ('<meta name="x" content="1">' * 2 + '<meta name="x" content="3">', {"x": ["1", "1", "3"]}),
    "og": (
        '<meta property="og:image" content="1"><meta property="og:image" content="2">',
        {"ogImage": "1", "og:image": ["1", "2"]},
    ),
    "description": (
        '<meta name="description" content="1"><meta name="description" content="2">',
        {"description": "1, 2"},
    ),
    "keywords": ('<meta name="keywords" content="1"><meta name="keywords" content="2">', {"keywords": ["1", "2"]}),
    "title": ('<title>One</title><meta name="title" content="Two">', {"title": "One"}),
    "titles": ("<title>One</title><title>Two</title>", {"title": "One"}),
    "language": ('<meta name="language" content="fr">', {"language": ["de", "fr"]}),
    "alternate": (
        '<meta property="og:locale:alternate" content="fr"><meta property="og:locale:alternate" content="en">',
        {"ogLocaleAlternate": ["fr", "en"]},
    ),
    "og-for-title": ('<meta property="og:title" content="Og">', {"title": "Og"}),
    "twitter-for-title": ('<meta name="twitter:title" content="Tw">', {"title": "Tw"}),
}


@pytest.mark.parametrize("name", DUPLICATES)
def test_tags_that_meet_are_merged(server: Server, web: Site, name: str) -> None:
    html, expected = DUPLICATES[name]
    metadata = head(server, web, f"/meta/twice-{name}", html)
    assert {key: metadata.get(key) for key in expected} == expected


def test_what_a_page_says_of_itself_never_overrides_what_is_known(server: Server, web: Site) -> None:
    names = ("sourceURL", "url", "statusCode", "proxyUsed", "scrapeId", "creditsUsed", "contentType", "cacheState")
    html = "".join(f'<meta name="{name}" content="lie">' for name in names)
    metadata = head(server, web, "/meta/liar", html)
    assert "lie" not in [metadata[name] for name in names]


def test_what_is_not_there_has_no_key(server: Server, web: Site) -> None:
    metadata = head(server, web, "/meta/none", "<title>None</title>")
    assert not {"description", "keywords", "favicon", "ogTitle", "ogLocaleAlternate", "numPages"} & set(metadata)


def test_a_kept_page_says_that_and_since_when(server: Server, web: Site) -> None:
    web.page("/meta/kept", "<h1>Kept</h1>")
    first, second = (server.page(web.url("/meta/kept"), maxAge=60_000)["metadata"] for _ in range(2))
    assert (first["cacheState"], second["cacheState"]) == ("miss", "hit")
    assert "cachedAt" not in first
    assert second["cachedAt"].endswith("Z")


def test_no_age_asks_the_site_again(server: Server, web: Site) -> None:
    web.page("/meta/fresh", "<h1>Fresh</h1>")
    for _ in range(2):
        server.page(web.url("/meta/fresh"), maxAge=0)
    assert web.counts()["/meta/fresh"] == 2


@VERSIONS
def test_unasked_the_site_is_asked_each_time(server: Server, web: Site, version: str) -> None:
    path = f"/meta/default-{version}"
    web.page(path, "<h1>Default</h1>")
    for _ in range(2):
        server.page(web.url(path), version=version)
    assert web.counts()[path] == 2


def test_what_was_not_stored_is_not_there(server: Server, web: Site) -> None:
    web.page("/meta/unstored", "<h1>Unstored</h1>")
    for _ in range(2):
        server.page(web.url("/meta/unstored"), storeInCache=False)
    assert web.counts()["/meta/unstored"] == 2


def test_the_id_stands_on_top_for_a_web_page_only(server: Server, web: Site) -> None:
    web.page("/meta/origin", "<h1>Origin</h1>")
    told = server.told("/v2/scrape", url=web.url("/meta/origin"), origin="website-x")
    assert told["scrape_id"] == told["data"]["metadata"]["scrapeId"]
    assert "scrape_id" not in server.told("/v2/scrape", url=web.url("/meta/origin"), origin="python-sdk@4.38.0")
