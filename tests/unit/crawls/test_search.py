"""A search over several sources, filtered and scraped."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.crawls.search import SearchPlan, search_and_scrape
from perseid.errors import ScrapeFailed, Unavailable
from perseid.model.document import Document
from perseid.ports.websearch import Hit, SearchQuery


class Engine:
    """Answers each source from a list; an exception among the answers is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[SearchQuery] = []

    async def search(self, query: SearchQuery) -> list[Hit]:
        self.asked.append(query)
        answer = self.answers[query.source]
        answer = answer(query) if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        return [Hit(url, url, "") for url in answer]

    async def close(self) -> None:
        return


DOWN = Unavailable("the engine is down", retryable=True)


def plan(**fields: Any) -> SearchPlan:
    return SearchPlan(query="stones", **fields)


async def web(engine: Engine, **fields: Any) -> list[str]:
    return [each.hit.url for each in (await search_and_scrape(engine, plan(**fields))).web]


async def test_each_source_is_searched() -> None:
    engine = Engine(web=["https://e/w"], images=["https://e/i"], news=["https://e/n"])
    found = await search_and_scrape(engine, plan(sources=("web", "images", "news")))
    assert [found.web[0].hit.url, found.images[0].url, found.news[0].url] == [
        "https://e/w",
        "https://e/i",
        "https://e/n",
    ]


async def test_domains_are_named_to_the_engine_and_seen_to() -> None:
    engine = Engine(web=["https://e.org/1", "https://docs.e.org/2", "https://e.org.evil/3", "https://other/4"])
    assert await web(engine, include_domains=("e.org",)) == ["https://e.org/1", "https://docs.e.org/2"]
    assert engine.asked[0].query == "stones site:e.org"


async def test_excluded_domains_are_left_out() -> None:
    engine = Engine(web=["https://e.org/1", "https://docs.e.org/2", "https://other/4"])
    assert await web(engine, exclude_domains=("E.org",)) == ["https://other/4"]
    assert engine.asked[0].query == "stones -site:E.org"


async def test_where_hits_are_left_out_more_are_asked_for() -> None:
    engine = Engine(web=[f"https://e.org/{number}" for number in range(20)])
    assert len(await web(engine, include_domains=("e.org",), limit=5)) == 5
    assert engine.asked[0].limit == 15


async def test_categories_are_searched_in_turn_and_told() -> None:
    def answer(query: SearchQuery) -> list[str]:
        return (
            ["https://github.com/a", "https://github.com/b"]
            if "github" in query.query
            else ["https://e/x.pdf", "https://e/y"]
        )

    found = await search_and_scrape(Engine(web=answer), plan(categories=("github", "pdf")))
    assert [(each.hit.url, each.category) for each in found.web] == [
        ("https://github.com/a", "github"),
        ("https://e/x.pdf", "pdf"),
        ("https://github.com/b", "github"),
    ]


async def test_a_source_that_fails_leaves_the_others() -> None:
    found = await search_and_scrape(Engine(web=["https://e/w"], news=DOWN), plan(sources=("web", "news")))
    assert ([each.hit.url for each in found.web], found.warnings) == (["https://e/w"], ["the engine is down"])


async def test_when_no_source_answers_that_is_an_error() -> None:
    with pytest.raises(Unavailable, match="the engine is down"):
        await search_and_scrape(Engine(web=DOWN, news=DOWN), plan(sources=("web", "news")))


async def test_hits_are_scraped_side_by_side_and_failures_told() -> None:
    together = asyncio.Barrier(2)

    async def scrape(url: str) -> Document:
        await together.wait()
        if url.endswith("2"):
            raise ScrapeFailed(url, "timeout", "no answer")
        return Document(url=url, source_url=url, status=200)

    found = await search_and_scrape(Engine(web=["https://e/1", "https://e/2"]), plan(), scrape=scrape)
    assert [each.document is not None for each in found.web] == [True, False]
    assert "no answer (timeout)" in found.web[1].failure


async def test_what_is_not_scraped_in_time_is_told_without_a_document() -> None:
    async def scrape(_url: str) -> Document:
        await asyncio.Event().wait()
        raise AssertionError

    found = await search_and_scrape(Engine(web=["https://e/1"]), plan(timeout_s=0.05), scrape=scrape)
    assert (found.web[0].document, found.web[0].failure) == (None, "it was not scraped in time")


async def test_only_what_is_told_is_scraped() -> None:
    scraped: list[str] = []

    async def scrape(url: str) -> Document:
        scraped.append(url)
        return Document(url=url, source_url=url, status=200)

    engine = Engine(web=["https://e/1", "https://e/2", "https://e/3"], images=["https://e/i"])
    await search_and_scrape(engine, plan(limit=2, sources=("web", "images")), scrape=scrape)
    assert scraped == ["https://e/1", "https://e/2"]
