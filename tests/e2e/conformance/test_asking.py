"""What needs a search engine or a language model, where there is neither."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest

from perseid.testing import Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
URL = "https://a.example/"

SEARCH_FAULTS: list[tuple[str, Any]] = [
    ("query", None),
    ("query", 7),
    ("limit", 0),
    ("limit", 101),
    ("limit", 1.5),
    ("limit", "5"),
    ("timeout", "x"),
    ("tbs", 7),
    ("nonsense", 1),
    ("scrapeOptions", {"nonsense": 1}),
]
SEARCH_2_FAULTS: list[tuple[str, Any]] = [
    ("sources", ["nonsense"]),
    ("sources", ["web", {"type": "news"}]),
    ("categories", ["nonsense"]),
    ("scrapeOptions", {"formats": ["rawBase64"]}),
    ("scrapeOptions", {"formats": ["changeTracking", "markdown"]}),
]


@pytest.mark.parametrize(
    ("version", "key", "value"),
    [*(("v1", *fault) for fault in SEARCH_FAULTS), *(("v2", *fault) for fault in SEARCH_FAULTS + SEARCH_2_FAULTS)],
)
def test_searches_are_validated(idle: Server, version: str, key: str, value: Any) -> None:
    answer = idle.post(f"/{version}/search", **{"query": "stones", key: value})
    told = answer.json()
    assert (answer.status_code, told["success"]) == (400, False)
    assert isinstance(told["details"], list)
    if version == "v2":
        assert (told["error"], "code" in told) == ("Invalid request body", False)


def test_domains_of_a_search_are_included_or_excluded(idle: Server) -> None:
    answer = idle.post("/v2/search", query="x", includeDomains=["a.example"], excludeDomains=["b.example"])
    assert (answer.status_code, answer.json()["error"]) == (400, "Invalid request body")


@VERSIONS
def test_a_search_without_an_engine_is_refused_in_words(idle: Server, version: str) -> None:
    answer = idle.post(f"/{version}/search", query="stones")
    assert answer.status_code >= 400
    assert answer.json()["success"] is False
    assert "search" in answer.json()["error"].lower()


@VERSIONS
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("urls", [f"{URL}{number}" for number in range(11)]),
        ("urls", "x"),
        ("prompt", 7),
        ("prompt", "x" * 10_001),
        ("schema", {"type": "nonsense"}),
        ("nonsense", 1),
        ("showSources", "x"),
        ("enableWebSearch", "x"),
        ("scrapeOptions", {"nonsense": 1}),
    ],
)
def test_extracts_are_validated(idle: Server, version: str, key: str, value: Any) -> None:
    answer = idle.post(f"/{version}/extract", **{"urls": [URL], "prompt": "what", key: value})
    assert (answer.status_code, answer.json()["success"]) == (400, False)


@VERSIONS
def test_an_extract_needs_addresses_or_a_prompt(idle: Server, version: str) -> None:
    answer = idle.ask("POST", f"/{version}/extract", {"schema": {"type": "object"}})
    assert (answer.status_code, answer.json()["success"]) == (400, False)


@VERSIONS
def test_an_extract_without_a_model_fails_in_words(server: Server, web: Site, version: str) -> None:
    web.page("/asked", "<h1>Asked</h1>")
    started = server.told(f"/{version}/extract", urls=[web.url("/asked")], prompt="what")
    assert (started["success"], started["urlTrace"]) == (True, [])
    path = f"/{version}/extract/{started['id']}"
    until = time.monotonic() + 60
    while (state := server.told(path))["status"] == "processing" and time.monotonic() < until:
        time.sleep(0.03)
    assert (state["success"], state["status"]) == (False, "failed")
    assert "model" in state["error"].lower()


@VERSIONS
def test_extracts_that_nobody_knows(idle: Server, version: str) -> None:
    answer = idle.get(f"/{version}/extract/{uuid4()}")
    assert (answer.status_code, answer.json()["success"]) == (404, False)
    assert idle.get(f"/{version}/extract/nonsense").status_code in {400, 404}


@pytest.mark.parametrize(
    "body", [{}, {"url": URL}, {"prompt": "x"}, {"url": URL, "prompt": "x" * 10_001}, {"url": URL, "prompt": 7}]
)
def test_a_preview_of_options_is_validated(idle: Server, body: dict[str, Any]) -> None:
    answer = idle.ask("POST", "/v2/crawl/params-preview", body)
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_a_preview_of_options_without_a_model_is_refused_in_words(idle: Server) -> None:
    answer = idle.post("/v2/crawl/params-preview", url=URL, prompt="blog posts only", nonsense=1)
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert "model" in answer.json()["error"].lower()


def test_a_crawl_by_a_prompt_without_a_model_is_refused(idle: Server) -> None:
    answer = idle.post("/v2/crawl", url=URL, prompt="blog posts only")
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert "model" in answer.json()["error"].lower()
