"""Searches and extractions as ours, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.api.firecrawl.body.extract import ExtractV1, ExtractV2
from perseid.api.firecrawl.body.search import SearchV1, SearchV2
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.translate.extract import PlannedExtract, plan_extract
from perseid.api.firecrawl.translate.search import plan_search

from .conftest import reads


def test_limits_of_the_versions() -> None:
    plans = [plan_search(reads(model, query="x")).plan.limit for model in (SearchV1, SearchV2)]
    assert plans == [5, 10]


@pytest.mark.parametrize(
    ("sources", "ours"),
    [(["web", "news"], ("web", "news")), ([{"type": "images"}], ("images",)), ([], ("web",))],
)
def test_sources(sources: list[Any], ours: tuple[str, ...]) -> None:
    assert plan_search(reads(SearchV2, query="x", sources=sources)).plan.sources == ours


@pytest.mark.parametrize(("tbs", "span"), [("qdr:d", "day"), ("qdr:w", "week"), ("qdr:m", "month"), ("qdr:y", "year")])
def test_time_ranges(tbs: str, span: str) -> None:
    assert plan_search(reads(SearchV2, query="x", tbs=tbs)).plan.time_range == span


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ({"tbs": "cdr:1"}, "tbs cdr:1"),
        ({"filter": "x"}, "filter"),
        ({"location": "Berlin"}, "location"),
        ({"categories": ["gov"]}, "category gov"),
    ],
)
def test_what_engines_can_not_be_asked_is_named(sent: dict[str, object], name: str) -> None:
    assert name in " ".join(plan_search(reads(SearchV2, query="x", **sent)).warnings)


def test_pages_are_read_only_where_formats_are_named() -> None:
    assert plan_search(reads(SearchV2, query="x")).page is None
    assert plan_search(reads(SearchV2, query="x", scrapeOptions={"formats": ["html"]})).page is not None


def test_country_gives_way_to_a_place() -> None:
    plans = [plan_search(reads(SearchV2, query="x", **sent)).plan.country for sent in ({}, {"location": "Berlin"})]
    assert plans == ["us", None]


def extraction(**sent: Any) -> PlannedExtract:
    return plan_extract(reads(ExtractV2, **sent))


def test_an_extraction() -> None:
    found = extraction(urls=["example.org/*"], prompt="who", systemPrompt="be brief", enableWebSearch=True, limit=3)
    assert found.request.urls == ("http://example.org/*",)
    assert (found.request.prompt, found.request.web_search, found.request.limit) == ("be brief\n\nwho", True, 3)


def test_version_1_wants_all_urls_right() -> None:
    with pytest.raises(WireError) as caught:
        plan_extract(reads(ExtractV1, urls=["https://example.org/", "nonsense"], prompt="x"))
    assert caught.value.status == 400


def test_nothing_but_bad_urls_is_nothing_to_go_by() -> None:
    with pytest.raises(WireError) as caught:
        extraction(urls=["nonsense"], prompt="x")
    assert caught.value.error == "No valid URLs provided"


@pytest.mark.parametrize("sent", [{"agent": {"model": "x"}}, {"webhook": "https://example.org/"}, {"urlTrace": True}])
def test_what_an_extraction_leaves_out_is_named(sent: dict[str, object]) -> None:
    assert next(iter(sent)) in " ".join(extraction(prompt="x", **sent).warnings)
