"""What takes a language model or a search engine: scripted ones stand in for them, behind the real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from perseid.config.settings import LlmSettings, SearchSettings
from perseid.testing import Answer, Request, Site, in_thread

from .conftest import SETTINGS, Api, serving

JSON = {"Content-Type": "application/json"}


class Backends:
    """A model that gives one answer to whatever it is asked, and an engine that finds what it is told to."""

    def __init__(self, site: Site) -> None:
        self.answer: Any = "fine"
        self.found: list[dict[str, Any]] = []
        site.handle("/v1/chat/completions", self._complete)
        site.handle("/search", self._search)

    def _complete(self, _request: Request) -> Answer:
        content = self.answer if isinstance(self.answer, str) else json.dumps(self.answer)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return Answer(headers=JSON, body=json.dumps({"choices": [choice], "usage": {"total_tokens": 7}}))

    def _search(self, request: Request) -> Answer:
        first = "pageno=1" in request.path or "pageno" not in request.path
        return Answer(headers=JSON, body=json.dumps({"results": self.found if first else []}))


@pytest.fixture(scope="module")
def machinery() -> Iterator[tuple[Backends, str]]:
    site = Site()
    with in_thread(site):
        yield Backends(site), site.url("")


@pytest.fixture(scope="module")
def clever(machinery: tuple[Backends, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    _, origin = machinery
    settings = msgspec.structs.replace(
        SETTINGS,
        llm=LlmSettings(base_url=f"{origin}/v1", model="scripted"),
        search=SearchSettings(searxng_url=origin),
    )
    with serving(tmp_path_factory.mktemp("clever"), settings) as base:
        api = Api(base)
        with api.http:
            yield api


@pytest.fixture
def backends(machinery: tuple[Backends, str]) -> Backends:
    return machinery[0]


def test_data_of_a_page(clever: Api, backends: Backends, site: Site) -> None:
    backends.answer = {"name": "Stones"}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    data = clever.told("/v2/scrape", url=site.url("/a"), formats=[{"type": "json", "schema": schema}])["data"]
    assert (data["json"], data["metadata"]["creditsUsed"], "markdown" in data) == ({"name": "Stones"}, 5, False)


def _parsed(api: Api, formats: list[Any]) -> Any:
    form = {"options": json.dumps({"formats": formats})}
    answer = api.http.post("/v2/parse", files={"file": ("a.html", b"<h1>Stones</h1><p>Of stones")}, data=form)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_data_of_a_file_that_was_sent(clever: Api, backends: Backends) -> None:
    backends.answer = {"name": "Stones"}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    data = _parsed(clever, [{"type": "json", "schema": schema}])
    assert (data["json"], data["metadata"]["creditsUsed"], set(data)) == ({"name": "Stones"}, 5, {"json", "metadata"})
    backends.answer = "All about stones"
    data = _parsed(clever, ["markdown", "summary"])
    assert (data["summary"], data["markdown"][:8]) == ("All about stones", "# Stones")


def test_a_file_without_a_model_is_read_and_says_what_is_missing(idle: Api) -> None:
    data = _parsed(idle, ["markdown", "summary"])
    assert "Of stones" in data["markdown"]
    assert "summary" not in data
    assert "summary" in data["warning"]


def test_the_older_name_of_it(clever: Api, backends: Backends, site: Site) -> None:
    backends.answer = {"name": "Stones"}
    data = clever.told("/v1/scrape", url=site.url("/a"), formats=["extract"], extract={"prompt": "name"})["data"]
    assert data["extract"] == {"name": "Stones"}


def test_options_that_a_model_chose(clever: Api, backends: Backends, site: Site) -> None:
    backends.answer = {"includePaths": ["^/a"], "limit": 3}
    told = clever.told("/v2/crawl", url=site.url("/"), prompt="only a", limit=9)
    assert told["promptGeneratedOptions"] == {"includePaths": ["^/a"], "limit": 3}
    assert (told["finalCrawlerOptions"]["includePaths"], told["finalCrawlerOptions"]["limit"]) == (["^/a"], 9)


def test_options_may_be_looked_at_before(clever: Api, backends: Backends, site: Site) -> None:
    backends.answer = {"limit": 3}
    told = clever.told("/v2/crawl/params-preview", url=site.url("/"), prompt="three pages")
    assert told["data"] == {"url": site.url("/"), "limit": 3}


def test_an_empty_prompt_asks_no_model(idle: Api, site: Site) -> None:
    assert "promptGeneratedOptions" not in idle.told("/v2/crawl", url=site.url("/"), prompt="", limit=1)


def test_without_a_model_no_options_come_of_a_prompt(idle: Api, site: Site) -> None:
    answer = idle.post("/v2/crawl/params-preview", url=site.url("/"), prompt="three pages")
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_data_of_several_pages(clever: Api, backends: Backends, site: Site) -> None:
    backends.answer = {"name": "Stones"}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    told = clever.told("/v2/extract", urls=[site.url("/a"), site.url("/blog")], schema=schema)
    path = f"/v2/extract/{told['id']}"
    while (state := clever.told(path))["status"] == "processing":
        assert (state["success"], state["data"]) == (True, [])
    assert (state["success"], state["status"], state["data"]) == (True, "completed", {"name": "Stones"})


def test_an_extraction_sets_bad_urls_aside(clever: Api, site: Site) -> None:
    told = clever.told("/v2/extract", urls=[site.url("/a"), "not-a-url"], prompt="name")
    assert told["invalidURLs"] == ["not-a-url"]
    assert clever.post("/v1/extract", urls=["not-a-url"], prompt="name").status_code == 400


def test_an_extraction_that_nobody_knows(clever: Api) -> None:
    assert clever.get("/v2/extract/01936a2b-7c00-7000-8000-000000000000").status_code == 404


def test_a_search_finds(clever: Api, backends: Backends) -> None:
    backends.found = [{"url": "https://e.example/1", "title": "One", "content": "The first."}]
    told = clever.told("/v2/search", query="stones")
    assert told["data"] == {
        "web": [{"url": "https://e.example/1", "title": "One", "description": "The first.", "position": 1}]
    }
    assert (told["creditsUsed"], "warning" in told) == (0, False)
    assert clever.told("/v1/search", query="stones")["data"] == [
        {"url": "https://e.example/1", "title": "One", "description": "The first."}
    ]


def test_a_search_reads_what_it_finds(clever: Api, backends: Backends, site: Site) -> None:
    backends.found = [
        {"url": site.url("/blog"), "title": "Blog", "content": "…"},
        {"url": "http://127.0.0.1:1/", "title": "Gone", "content": "…"},
    ]
    page, gone = clever.told("/v2/search", query="stones", scrapeOptions={"formats": ["markdown"]})["data"]["web"]
    assert (page["title"], page["markdown"][:12], page["metadata"]["statusCode"]) == ("Blog", "# Page /blog", 200)
    assert "could not be read" in gone["warning"]


def test_a_search_that_finds_nothing(clever: Api, backends: Backends) -> None:
    backends.found = []
    assert clever.told("/v2/search", query="stones")["data"] == {}
    old = clever.told("/v1/search", query="stones")
    assert (old["data"], old["warning"]) == ([], "No search results found")


def test_a_search_that_does_not_validate_is_refused_in_its_own_words(clever: Api) -> None:
    answer = clever.post("/v2/search", query="stones", foo=1)
    assert (answer.status_code, answer.json()["error"], "code" in answer.json()) == (400, "Invalid request body", False)


def test_without_an_engine_nothing_is_found(idle: Api) -> None:
    answer = idle.post("/v2/search", query="stones")
    assert (answer.status_code, answer.json()["success"]) == (501, False)
