"""A scripted SearXNG over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from perseid.errors import ConfigError, Unavailable
from perseid.ports.websearch import Hit, SearchQuery
from perseid.testing import Answer, Site
from perseid.websearch.nosearch import NoSearch
from perseid.websearch.searxng import Searxng, SearxngOptions

ONE = {"url": "https://e.org/1", "title": "One", "content": "The first."}


def results(*found: Any, **rest: Any) -> Answer:
    return Answer(headers={"Content-Type": "application/json"}, body=json.dumps({"results": list(found)} | rest))


def numbered(*numbers: int) -> Answer:
    return results(*[{"url": f"https://e.org/{number}", "title": str(number), "content": ""} for number in numbers])


class Engine(Site):
    def say(self, *answers: Any) -> None:
        self.sequence("/search", answers)

    @property
    def asked(self) -> list[dict[str, str]]:
        return [
            {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
            for request in self.requests
        ]


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with Engine() as engine:
        yield engine


@pytest.fixture
async def search(engine: Engine) -> AsyncIterator[Searxng]:
    search = Searxng(SearxngOptions(url=engine.origin))
    yield search
    await search.close()


async def urls(search: Searxng, **query: Any) -> list[str]:
    return [hit.url for hit in await search.search(SearchQuery(**({"query": "stones"} | query)))]


async def test_results_of_the_web(engine: Engine, search: Searxng) -> None:
    engine.say(results(ONE), results())
    assert await search.search(SearchQuery(query="stones")) == [Hit("https://e.org/1", "One", "The first.")]
    assert engine.asked[0] == {"q": "stones", "format": "json", "categories": "general", "pageno": "1"}


async def test_what_is_asked_for_goes_into_the_question(engine: Engine) -> None:
    engine.say(results())
    options = SearxngOptions(url=f"{engine.origin}/", engines=("mojeek", "qwant"), categories=("general", "it"))
    search = Searxng(options)
    await urls(search, language="en", country="us", time_range="week")
    await urls(search, source="news", language="de-CH", country="us", time_range="decade")
    await search.close()
    asked = {"q": "stones", "format": "json", "pageno": "1"}
    assert engine.asked == [
        asked | {"categories": "general,it", "engines": "mojeek,qwant", "language": "en-US", "time_range": "week"},
        asked | {"categories": "news", "language": "de-CH"},
    ]


async def test_images_come_with_their_size(engine: Engine, search: Searxng) -> None:
    picture = {"url": "https://e.org/p", "title": "P", "img_src": "//e.org/p.png", "resolution": "1920 x 1080"}
    engine.say(results(picture), results())
    assert await search.search(SearchQuery(query="stones", source="images")) == [
        Hit("https://e.org/p", "P", "", "https://e.org/p.png", None, 1920, 1080)
    ]
    assert engine.asked[0]["categories"] == "images"


async def test_news_come_with_their_date(engine: Engine, search: Searxng) -> None:
    story = ONE | {"publishedDate": "2026-11-30T12:00:00", "thumbnail": "https://e.org/t.png", "img_src": ""}
    engine.say(results(story), results())
    assert await search.search(SearchQuery(query="stones", source="news")) == [
        Hit("https://e.org/1", "One", "The first.", "https://e.org/t.png", "2026-11-30T12:00:00")
    ]


async def test_pages_are_turned_until_there_is_enough(engine: Engine, search: Searxng) -> None:
    engine.say(numbered(1, 2), numbered(2, 3), numbered(4, 5), numbered(6))
    assert await urls(search, limit=4) == [f"https://e.org/{number}" for number in (1, 2, 3, 4)]
    assert [asked["pageno"] for asked in engine.asked] == ["1", "2", "3"]


async def test_a_page_that_brings_nothing_new_is_the_last(engine: Engine, search: Searxng) -> None:
    engine.say(numbered(1, 2), numbered(1, 2))
    assert len(await urls(search, limit=50)) == 2
    assert len(engine.asked) == 2


async def test_markup_in_results_is_taken_out(engine: Engine, search: Searxng) -> None:
    engine.say(results(ONE | {"title": "The <b>One</b>", "content": "a < b\n and  <em>c</em>"}), results())
    (hit,) = await search.search(SearchQuery(query="stones"))
    assert (hit.title, hit.description) == ("The One", "a < b and c")


async def test_results_that_lead_nowhere_are_left_out(engine: Engine, search: Searxng) -> None:
    engine.say(
        results({"url": "magnet:?xt=1"}, {"url": None}, {"title": "x"}, "x", {"url": "javascript:1"}, ONE), results()
    )
    assert await urls(search) == ["https://e.org/1"]


@pytest.mark.parametrize(
    ("answer", "told", "retryable"),
    [
        (Answer(status=429), "asked too often", True),
        (Answer(status=403), "add json to search.formats", False),
        (Answer(status=500), "answered 500", True),
        (Answer(status=404), "answered 404", False),
        (Answer(body="<html>"), "no JSON of results", True),
        (Answer(body="[]"), "no JSON of results", True),
        (Answer(body='{"results": 7}'), "no JSON of results", True),
        (Answer(reset=True), "can't be reached", True),
        (results(unresponsive_engines=[["brave", "timeout"]]), "answered: brave: timeout", True),
    ],
)
async def test_trouble_is_told(engine: Engine, search: Searxng, answer: Answer, told: str, retryable: bool) -> None:
    engine.say(answer)
    with pytest.raises(Unavailable, match=told) as raised:
        await urls(search)
    assert raised.value.retryable is retryable


@pytest.mark.parametrize("answer", [Answer(status=429), Answer(status=500), Answer(body="<html>"), Answer(reset=True)])
async def test_trouble_on_a_later_page_loses_no_result(engine: Engine, search: Searxng, answer: Answer) -> None:
    engine.say(numbered(1, 2), answer)
    assert len(await urls(search, limit=50)) == 2


async def test_an_engine_that_says_nothing_is_given_up_in_time(engine: Engine, search: Searxng) -> None:
    engine.say(Answer(hang=True))
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s"):
        await urls(search, timeout_s=0.2)


async def test_one_page_of_results_has_a_time_of_its_own(engine: Engine) -> None:
    engine.say(Answer(hang=True))
    search = Searxng(SearxngOptions(url=engine.origin, timeout_s=0.2))
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s"):
        await urls(search, timeout_s=60)
    await search.close()


async def test_an_engine_that_is_not_there_is_told(engine: Engine, search: Searxng) -> None:
    await engine.stop()
    with pytest.raises(Unavailable, match="can't be reached"):
        await urls(search)


async def test_without_an_engine_it_is_told_what_to_set() -> None:
    with pytest.raises(Unavailable, match="PERSEID_SEARCH__SEARXNG_URL"):
        await NoSearch().search(SearchQuery(query="stones"))


@pytest.mark.parametrize("address", ["", "localhost:8888", "ftp://e.org", "http://[::"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ConfigError, match="searxng_url"):
        Searxng(SearxngOptions(url=address))
