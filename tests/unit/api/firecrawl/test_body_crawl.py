"""Crawls, maps and webhooks: the same questions, each version in its own words."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl.body.crawl import CrawlV1, CrawlV2
from perseid.api.firecrawl.body.extract import NOTHING, ExtractV2
from perseid.api.firecrawl.body.map import MapV1, MapV2
from perseid.api.firecrawl.body.search import BOTH_DOMAINS, MIXED, NO_HOST, SearchV2

from .conftest import reads, refusal

URL = "https://example.org/docs/"


@pytest.mark.parametrize(
    ("model", "sent", "mode"),
    [
        (CrawlV2, {}, "include"),
        (CrawlV2, {"sitemap": "only"}, "only"),
        (CrawlV1, {}, "include"),
        (CrawlV1, {"ignoreSitemap": True}, "skip"),
        (MapV1, {"sitemapOnly": True}, "only"),
        (MapV1, {"ignoreSitemap": True}, "skip"),
        (MapV2, {"sitemap": "skip"}, "skip"),
    ],
)
def test_use_of_sitemaps(model: type[CrawlV1 | CrawlV2 | MapV1 | MapV2], sent: dict[str, object], mode: str) -> None:
    assert reads(model, url=URL, **sent).sitemaps == mode


@pytest.mark.parametrize(
    ("sent", "backward"),
    [
        ({}, False),
        ({"allowBackwardLinks": True}, True),
        ({"crawlEntireDomain": True}, True),
        ({"crawlEntireDomain": False, "allowBackwardLinks": True}, False),
    ],
)
def test_the_newer_name_of_a_field_wins(sent: dict[str, object], backward: bool) -> None:
    assert reads(CrawlV1, url=URL, **sent).backward is backward


def test_only_version_1_bounds_the_depth_by_itself() -> None:
    assert (reads(CrawlV1, url=URL).depth, reads(CrawlV2, url=URL).depth) == (10, None)


@pytest.mark.parametrize(("model", "ignored"), [(MapV1, True), (MapV2, True), (CrawlV1, False), (CrawlV2, False)])
def test_queries_count_for_crawls_and_not_for_maps(model: type[CrawlV1 | MapV1], ignored: bool) -> None:
    assert reads(model, url=URL).ignore_query_parameters is ignored


@pytest.mark.parametrize("delay", [0, 61, -1])
def test_delay_is_in_seconds_and_bounded(delay: float) -> None:
    assert refusal(CrawlV2, url=URL, delay=delay).details[0]["path"] == ["delay"]


def test_a_fraction_of_a_second_is_a_delay() -> None:
    assert reads(CrawlV2, url=URL, delay=0.5).delay == 0.5


@pytest.mark.parametrize("name", ["x-firecrawl-signature", "X-Firecrawl-Signature", " X-FIRECRAWL-SIGNATURE"])
def test_nobody_signs_in_our_name(name: str) -> None:
    error = refusal(CrawlV2, url=URL, webhook={"url": URL, "headers": {name: "x"}})
    assert "x-firecrawl-signature" in error.error


def test_a_proposal_fills_what_was_left_open_and_nothing_else() -> None:
    body = reads(CrawlV2, url=URL, prompt="only the blog", limit=7)
    filled = body.with_options({"limit": 99, "includePaths": ["^/blog/"], "maxDepth": 3})
    assert (filled.limit, filled.include_paths) == (7, ["^/blog/"])


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"sources": ["web", {"type": "news"}]}, MIXED),
        ({"includeDomains": ["example.org"], "excludeDomains": ["example.net"]}, BOTH_DOMAINS),
        ({"includeDomains": ["https://example.org/"]}, NO_HOST),
    ],
)
def test_rules_of_a_search(sent: dict[str, object], sentence: str) -> None:
    assert refusal(SearchV2, query="x", **sent).error == sentence


def test_an_extraction_needs_something_to_go_by() -> None:
    assert refusal(ExtractV2).error == NOTHING
