"""Bodies of crawls, batches and maps that are refused, field by field, and their webhooks."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Server
from .refusal import BODIES, URL, pointed, refused

CRAWL_FAULTS: list[tuple[str, Any]] = [
    ("includePaths", "blog"),
    ("includePaths", [1]),
    ("excludePaths", "blog"),
    ("excludePaths", [None]),
    ("maxDiscoveryDepth", "1"),
    ("limit", "1"),
    ("limit", None),
    ("crawlEntireDomain", "x"),
    ("allowExternalLinks", "x"),
    ("allowSubdomains", 1),
    ("ignoreRobotsTxt", "x"),
    ("deduplicateSimilarURLs", "x"),
    ("ignoreQueryParameters", "x"),
    ("regexOnFullURL", "x"),
    ("delay", 0),
    ("delay", -1),
    ("delay", 61),
    ("delay", "1"),
    ("maxConcurrency", 0),
    ("maxConcurrency", 1.5),
    ("scrapeOptions", "x"),
    ("zeroDataRetention", "x"),
    ("webhook", 7),
]


@pytest.mark.parametrize(
    ("version", "key", "value"),
    [
        *(("v1", *fault) for fault in CRAWL_FAULTS),
        *(("v2", *fault) for fault in CRAWL_FAULTS),
        ("v1", "maxDepth", "3"),
        ("v1", "ignoreSitemap", "x"),
        ("v1", "allowBackwardLinks", "x"),
        ("v2", "sitemap", "nonsense"),
        ("v2", "sitemap", True),
        ("v2", "robotsUserAgent", 7),
        ("v2", "prompt", 7),
        ("v2", "prompt", "x" * 10_001),
    ],
)
def test_each_crawl_option_has_its_type_and_its_bounds(idle: Server, version: str, key: str, value: Any) -> None:
    told = refused(idle, f"/{version}/crawl", {"url": URL, key: value})
    assert told["code"] == "BAD_REQUEST"
    assert {place.partition(".")[0] for place in pointed(told)} == {key}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("key", ["includePaths", "excludePaths"])
def test_a_pattern_that_is_none_is_named(idle: Server, version: str, key: str) -> None:
    told = refused(idle, f"/{version}/crawl", {"url": URL, key: ["good", "(bad"]})
    assert "(bad" in told["error"]


@pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl", "/v1/batch/scrape", "/v2/batch/scrape"])
@pytest.mark.parametrize(
    "webhook",
    [
        {},
        {"url": 7},
        {"url": "https://h.example/", "nonsense": 1},
        {"url": "https://h.example/", "events": ["nonsense"]},
        {"url": "https://h.example/", "events": "page"},
        {"url": "https://h.example/", "headers": {"x": 1}},
        {"url": "https://h.example/", "metadata": {"x": 1}},
        {"url": "https://h.example/", "headers": {"X-Firecrawl-Signature": "x"}},
        {"url": "https://h.example/", "headers": {"x-firecrawl-signature": "x"}},
        "nonsense",
    ],
)
def test_webhooks_are_strict(idle: Server, path: str, webhook: Any) -> None:
    told = refused(idle, path, {**BODIES[path], "webhook": webhook})
    assert {place.partition(".")[0] for place in pointed(told)} == {"webhook"}


@pytest.mark.parametrize("path", ["/v1/batch/scrape", "/v2/batch/scrape"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("urls", []),
        ("urls", URL),
        ("urls", None),
        ("appendToId", "nonsense"),
        ("ignoreInvalidURLs", "x"),
        ("maxConcurrency", 0),
        ("maxConcurrency", "1"),
    ],
)
def test_each_batch_option_has_its_type_and_its_bounds(idle: Server, path: str, key: str, value: Any) -> None:
    told = refused(idle, path, {"urls": [URL], key: value})
    assert {place.partition(".")[0] for place in pointed(told)} == {key}


@pytest.mark.parametrize("path", ["/v1/map", "/v2/map"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("limit", 0),
        ("limit", 100_001),
        ("limit", "5"),
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", "1"),
        ("search", 7),
        ("includeSubdomains", "x"),
        ("ignoreQueryParameters", "x"),
        ("filterByPath", "x"),
        ("useIndex", "x"),
        ("ignoreCache", "x"),
        ("location", {"country": "ZZZ"}),
        ("headers", {"x": 1}),
    ],
)
def test_each_map_option_has_its_type_and_its_bounds(idle: Server, path: str, key: str, value: Any) -> None:
    told = refused(idle, path, {"url": URL, key: value})
    assert {place.partition(".")[0] for place in pointed(told)} == {key}


def test_the_sitemap_of_a_map_is_one_of_three(idle: Server) -> None:
    assert pointed(refused(idle, "/v2/map", {"url": URL, "sitemap": "nonsense"})) == {"sitemap"}


def test_a_fault_is_shown_by_a_path_of_the_body_alone(idle: Server) -> None:
    answer = idle.post("/v2/crawl", url="https://a.example/", webhook={"url": "https://a.example/", "events": ["x"]})
    paths = [issue["path"] for issue in answer.json()["details"]]
    assert ["webhook", "events", 0] in paths
    assert all(part in {"webhook", "events", 0} for path in paths for part in path)
