"""Crawls, maps and their terms: the options of both versions as the same options of ours."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.api.firecrawl.asked import Asked, asked_of
from perseid.api.firecrawl.body.base import Reading
from perseid.api.firecrawl.body.crawl import CrawlV1, CrawlV2
from perseid.api.firecrawl.body.map import MapV1, MapV2
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.reading import validated
from perseid.api.firecrawl.translate.crawl import TOO_DEEP, crawl_options, crawl_terms, map_options, map_terms
from perseid.api.firecrawl.translate.page import plan_page
from perseid.config.settings import Settings
from perseid.model.options import CrawlOptions, ScopeRules
from perseid.model.terms import EventKind, Terms

from .conftest import reads

URL = "https://example.org/docs/"


def options(model: type[CrawlV1 | CrawlV2], url: str = URL, **sent: Any) -> CrawlOptions:
    body = reads(model, url=url, **sent)
    return crawl_options(body, plan_page(body.page, Settings(), keep=False), Settings())


def terms(model: type[CrawlV1 | CrawlV2] = CrawlV2, url: str = URL, **sent: Any) -> Terms:
    body = reads(model, url=url, **sent)
    return crawl_terms(body, plan_page(body.page, Settings()), team=7, version="v2", key=None)


def test_defaults_of_a_crawl() -> None:
    found = options(CrawlV2)
    assert (found.limit, found.sitemap, found.delay_s, found.max_concurrency) == (10_000, "include", None, None)
    assert found.scope == ScopeRules(deduplicate_similar=True, external_homes=False)


def test_a_depth_of_none_reads_no_sitemap() -> None:
    assert options(CrawlV2, maxDiscoveryDepth=0).sitemap == "skip"
    assert options(CrawlV2, maxDiscoveryDepth=1).sitemap == "include"


def test_scope() -> None:
    found = options(
        CrawlV2,
        includePaths=["^/docs/", "  "],
        excludePaths=["/old"],
        regexOnFullURL=True,
        maxDiscoveryDepth=3,
        crawlEntireDomain=True,
        allowSubdomains=True,
        allowExternalLinks=True,
        ignoreQueryParameters=True,
        deduplicateSimilarURLs=False,
    )
    assert found.scope == ScopeRules(
        include=("^/docs/",),
        exclude=("/old",),
        regex_on_full_url=True,
        max_discovery_depth=3,
        entire_domain=True,
        subdomains=True,
        external=True,
        external_homes=False,
        ignore_query=True,
    )


def test_both_versions_mean_the_same_by_the_same_words() -> None:
    sent = {
        "limit": 5,
        "delay": 1,
        "maxConcurrency": 2,
        "ignoreRobotsTxt": True,
        "scrapeOptions": {"formats": ["html"]},
    }
    old, new = options(CrawlV1, maxDepth=4, **sent), options(CrawlV2, **sent)
    assert old.scope.max_depth == 4
    assert (old.limit, old.delay_s, old.max_concurrency, old.scrape) == (
        new.limit,
        new.delay_s,
        new.max_concurrency,
        new.scrape,
    )


@pytest.mark.parametrize(("sent", "obeyed"), [({}, None), ({"ignoreRobotsTxt": True}, False)])
def test_robots_are_obeyed_unless_the_caller_says_otherwise(sent: dict[str, object], obeyed: bool | None) -> None:
    assert options(CrawlV2, **sent).scrape.obey_robots is obeyed


def test_the_agent_of_robots_may_be_named() -> None:
    assert options(CrawlV2, robotsUserAgent="Other").scrape.robots_agent == "Other"


@pytest.mark.parametrize("url", ["https://example.org/a/b/c", "example.org/a/b/c"])
def test_a_start_page_below_the_depth_is_refused(url: str) -> None:
    with pytest.raises(WireError) as caught:
        options(CrawlV1, url=url, maxDepth=2)
    assert (caught.value.status, caught.value.error) == (400, TOO_DEEP)


@pytest.mark.parametrize("url", ["https://example.org/a/b", "https://example.org/a/b/index.html"])
def test_a_start_page_at_the_depth_is_not(url: str) -> None:
    assert options(CrawlV1, url=url, maxDepth=2).scope.max_depth == 2


def test_terms_hold_whom_to_tell() -> None:
    hook = terms(webhook={"url": "hook.example.org/x", "events": ["page", "completed"], "metadata": {"a": "b"}}).webhook
    assert hook is not None
    assert (hook.url, hook.metadata, hook.events) == (
        "http://hook.example.org/x",
        {"a": "b"},
        EventKind.PAGE | EventKind.COMPLETED,
    )


def test_a_webhook_may_be_a_url_alone_and_then_hears_of_everything() -> None:
    by_url, by_object = terms(webhook=URL).webhook, terms(webhook={"url": URL, "events": []}).webhook
    assert by_url is not None
    assert by_url == by_object
    assert by_url.events == EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED | EventKind.FAILED


def test_terms_keep_the_words_of_the_caller_without_their_secrets() -> None:
    found = asked_of(terms(limit=3, scrapeOptions={"headers": {"Authorization": "Bearer x"}, "formats": ["html"]}))
    assert found.options["limit"] == 3
    assert found.options["scrapeOptions"]["formats"] == ["html"]
    assert "Bearer" not in str(found.options)


def test_terms_of_another_skin_are_no_trouble() -> None:
    assert asked_of(Terms(request={"version": 7})) == Asked()


def test_a_url_keeps_the_spelling_of_the_caller() -> None:
    found = asked_of(terms(url="example.org"))
    assert (found.as_sent("http://example.org"), found.as_sent("http://example.org/a")) == (
        "example.org",
        "http://example.org/a",
    )


def test_terms_tell_what_was_left_out_and_what_was_not_known() -> None:
    body = validated(CrawlV2, {"url": URL, "foo": 1, "scrapeOptions": {"mobile": True}}, Reading(strictness="off"))
    found = crawl_terms(body, plan_page(body.page, Settings()), team=1, version="v2", key=None)
    assert [sentence.rpartition(":")[2].strip() for sentence in found.warnings] == ["mobile.", "foo."]


@pytest.mark.parametrize(("sent", "recalled"), [({}, False), ({"useIndex": True}, True)])
def test_a_crawl_asks_the_index_only_if_told_to(sent: dict[str, object], recalled: bool) -> None:
    assert terms(**sent).recall_urls is recalled


@pytest.mark.parametrize(
    ("sent", "entire"),
    [({}, False), ({"filterByPath": False}, True), ({"allowExternalLinks": True}, True)],
)
def test_a_map_stays_below_its_start_path(sent: dict[str, object], entire: bool) -> None:
    assert map_options(reads(MapV2, url=URL, **sent), Settings()).scope.entire_domain is entire


def test_a_map_takes_subdomains_unless_told_otherwise() -> None:
    found = [map_options(reads(MapV1, url=URL, includeSubdomains=said), Settings()).scope for said in (True, False)]
    assert [scope.subdomains for scope in found] == [True, False]


def test_depths_don_t_bound_a_map() -> None:
    scope = map_options(reads(MapV1, url=URL, maxDepth=0, maxDiscoveryDepth=0), Settings()).scope
    assert (scope.max_depth, scope.max_discovery_depth) == (None, None)


@pytest.mark.parametrize(
    ("sent", "remembered"), [({}, True), ({"useIndex": False}, False), ({"ignoreCache": True}, False)]
)
def test_a_map_asks_the_index_unless_told_otherwise(sent: dict[str, object], remembered: bool) -> None:
    assert map_terms(reads(MapV2, url=URL, **sent), team=1, version="v2").recall_urls is remembered
