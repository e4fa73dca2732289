"""Pages that a language model is asked about, and extracts over several of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from perseid.crawls.extract import ExtractRequest, Extracts, ExtractStatus, start_extract
from perseid.crawls.mapping import MapLink
from perseid.errors import ConfigError, InvalidURL, NotFound, ScrapeFailed, Unavailable
from perseid.llm.chat import ChatModel, ChatOptions
from perseid.model.crawl import Crawl
from perseid.model.options import Ask, ChangeTracking, ScrapeOptions
from perseid.ports.websearch import Hit, SearchQuery
from perseid.runtime.clock import SystemClock
from perseid.store.blobs import FileBlobs
from perseid.testing import Answer, Request, Site
from perseid.websearch.nosearch import NoSearch

SUMMARY = Ask(kind="summary", output="summary")
NAMES = {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}}


class Oracle:
    """A model server that answers by what stands in the question."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.answers: list[tuple[str, Any]] = []
        self.questions: list[str] = []
        site.handle("/v1/chat/completions", self._answer)

    @property
    def settings(self) -> dict[str, str]:
        return {"base_url": f"{self.site.origin}/v1", "model": "oracle"}

    def knows(self, word: str, answer: Any) -> None:
        self.answers.append((word, answer))

    def _answer(self, request: Request) -> Answer:
        question = "\n".join(message["content"] for message in json.loads(request.body)["messages"])
        self.questions.append(question)
        answer = next((answer for word, answer in self.answers if word in question), "I don't know.")
        if isinstance(answer, Answer):
            return answer
        content = answer if isinstance(answer, str) else json.dumps(answer)
        message = {"role": "assistant", "content": content}
        body = {"choices": [{"finish_reason": "stop", "message": message}], "usage": {"total_tokens": 10}}
        return Answer(headers={"Content-Type": "application/json"}, body=json.dumps(body))


@pytest.fixture
async def oracle() -> AsyncIterator[Oracle]:
    async with Site() as site:
        yield Oracle(site)


@pytest.fixture
async def asking(oracle: Oracle, open_lab: Callable[..., Any]) -> Any:
    """A lab whose pages are put to the oracle."""
    return await open_lab(llm=oracle.settings)


async def test_a_page_comes_with_what_the_model_says_of_it(site: Site, oracle: Oracle, asking: Any) -> None:
    site.page("/stone", "<title>Stone</title><main><h1>Stone</h1><p>It is heavy.</p></main>")
    oracle.knows("It is heavy.", "A heavy stone.")
    outcome = await asking.batch([site.url("/stone")], formats=(), asks=(SUMMARY,))
    (document,) = outcome.documents
    assert (document.answers, document.markdown, document.tokens) == ({"summary": "A heavy stone."}, None, 10)


async def test_a_model_in_trouble_costs_the_answer_and_not_the_page(site: Site, oracle: Oracle, asking: Any) -> None:
    site.page("/stone", "<main><h1>Stone</h1><p>It is heavy.</p></main>")
    oracle.knows("It is heavy.", Answer(status=401))
    outcome = await asking.batch([site.url("/stone")], asks=(SUMMARY,))
    (document,) = outcome.documents
    assert "It is heavy." in document.markdown
    assert "refuses our key" in document.warnings[-1]


async def test_without_a_model_pages_say_what_is_missing(site: Site, lab: Any) -> None:
    site.page("/stone", "<main><h1>Stone</h1><p>It is heavy.</p></main>")
    (document,) = (await lab.batch([site.url("/stone")], asks=(SUMMARY,))).documents
    assert "PERSEID_LLM__BASE_URL" in document.warnings[-1]


async def test_every_page_of_a_crawl_is_asked_about_once(site: Site, oracle: Oracle, asking: Any) -> None:
    site.links({"/": ["/a", "/b"]})
    oracle.knows("This is the text of the page", "A page.")
    outcome = await asking.crawl(site.url("/"), scrape={"asks": (SUMMARY,)})
    assert [document.answers for document in outcome.documents] == [{"summary": "A page."}] * 3
    assert len(oracle.questions) == 3


async def test_what_changed_on_a_page_is_told_by_field(site: Site, oracle: Oracle, asking: Any) -> None:
    tracking = ChangeTracking(modes=("json",), prompt="The price")
    oracle.knows("costs 7", {"previous": {"price": 5, "name": "Stone"}, "current": {"price": 7, "name": "Stone"}})
    for price in (5, 7):
        site.page("/stone", f"<main><h1>Stone</h1><p>It costs {price} this week.</p></main>")
        outcome = await asking.batch([site.url("/stone")], change_tracking=tracking)
    (document,) = outcome.documents
    assert document.change_tracking["json"] == {"price": {"previous": 5, "current": 7}}
    assert len(oracle.questions) == 1


async def test_a_schema_that_is_none_does_not_hold_a_tracked_page_up(site: Site, asking: Any) -> None:
    tracking = ChangeTracking(modes=("json",), schema={"type": "nonsense"})
    for price in (5, 7):
        site.page("/stone", f"<main><h1>Stone</h1><p>It costs {price} this week.</p></main>")
        outcome = await asking.batch([site.url("/stone")], change_tracking=tracking)
    (document,) = outcome.documents
    assert "no valid JSON Schema" in document.warnings[-1]


class Extracting:
    """Extracts through the library, as a server would do them."""

    def __init__(self, lab: Any, oracle: Oracle, folder: Path) -> None:
        self.lab = lab
        self.model = ChatModel(ChatOptions(**oracle.settings), clock=SystemClock())
        self.blobs = FileBlobs(folder / "blobs")
        self.extracts = self.anew()
        self.mapped: list[str] | ScrapeFailed = []
        self.search: Any = NoSearch()

    def anew(self, patience_s: float = 10.0) -> Extracts:
        """As after a restart: nothing is remembered but what is stored."""
        store = self.lab.client._store
        return Extracts(inspect=store, blobs=self.blobs, model=self.model, timeout_s=10, patience_s=patience_s)

    async def start(self, **request: Any) -> Crawl:
        async def map_site(url: str) -> Sequence[MapLink]:
            if isinstance(self.mapped, ScrapeFailed):
                raise self.mapped
            return [MapLink(url=found) for found in self.mapped]

        return await start_extract(
            ExtractRequest(**request),
            ScrapeOptions(),
            map_site=map_site,
            search=self.search,
            start_batch=self.lab.client.start_batch,
        )

    async def run(self, **request: Any) -> ExtractStatus:
        crawl = await self.start(**request)
        assert (await self.extracts.status(crawl.uid)).state == "processing"
        await self.lab.client.run(crawl.uid, concurrency=4)
        return await self.extracts.status(crawl.uid)


@pytest.fixture
async def extracting(asking: Any, oracle: Oracle, tmp_path: Path) -> AsyncIterator[Extracting]:
    extracting = Extracting(asking, oracle, tmp_path / "store")
    yield extracting
    await extracting.extracts.close()
    await extracting.model.close()


def person(site: Site, path: str, text: str) -> str:
    site.page(path, f"<main><h1>People</h1><p>{text}</p></main>")
    return site.url(path)


async def test_an_extract_puts_pages_together(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    oracle.knows("Ada works", {"names": ["Ada"]})
    oracle.knows("Bob works", {"names": ["Bob"]})
    urls = (person(site, "/a", "Ada works here."), person(site, "/b", "Bob works there."))
    status = await extracting.run(urls=urls, prompt="Who?", schema=NAMES)
    assert status.state == "completed"
    assert sorted(status.data["names"]) == ["Ada", "Bob"]
    assert sorted(status.sources["names"]) == sorted(urls)
    assert status.tokens == 20


async def test_pages_that_overlap_are_merged_once_and_kept(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    oracle.knows("You merge it", {"boss": "Ada King"})
    oracle.knows("Ada leads", {"boss": "Ada"})
    oracle.knows("A. King leads", {"boss": "A. King"})
    crawl = await extracting.start(
        urls=(person(site, "/a", "Ada leads."), person(site, "/b", "A. King leads.")), prompt="Who leads?"
    )
    await extracting.lab.client.run(crawl.uid)
    first = await extracting.extracts.status(crawl.uid)
    again = await extracting.anew().status(crawl.uid)
    assert first.data == {"boss": "Ada King"}
    assert again == first
    assert len(oracle.questions) == 3


async def test_a_merge_that_takes_long_goes_on_while_its_status_is_told(
    site: Site, oracle: Oracle, extracting: Extracting
) -> None:
    oracle.knows("You merge it", {"boss": "Ada King"})
    oracle.knows("Ada leads", {"boss": "Ada"})
    oracle.knows("A. King leads", {"boss": "A. King"})
    crawl = await extracting.start(
        urls=(person(site, "/a", "Ada leads."), person(site, "/b", "A. King leads.")), prompt="Who leads?"
    )
    await extracting.lab.client.run(crawl.uid)
    hasty = extracting.anew(patience_s=0)
    assert (await hasty.status(crawl.uid)).state == "processing"
    await extracting.lab.until(lambda: ended(hasty, crawl.uid))
    assert len(oracle.questions) == 3


async def ended(extracts: Extracts, uid: str) -> bool:
    return (await extracts.status(uid)).state == "completed"


async def test_a_model_that_can_not_merge_loses_nothing(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    oracle.knows("You merge it", Answer(status=401))
    oracle.knows("Ada leads", {"boss": "Ada"})
    oracle.knows("A. King leads", {"boss": "A. King"})
    urls = (person(site, "/a", "Ada leads."), person(site, "/b", "A. King leads."))
    status = await extracting.run(urls=urls, prompt="Who leads?")
    assert status.state == "completed"
    assert status.data["boss"] in {"Ada", "A. King"}
    assert "without the language model" in status.warnings[-1]


async def test_an_extract_of_nothing_says_why(site: Site, extracting: Extracting) -> None:
    status = await extracting.run(urls=(site.url("/missing"),), prompt="Who?")
    assert (status.state, status.data) == ("failed", None)
    assert "http_404" in status.error


async def test_what_the_model_could_not_read_is_told(site: Site, extracting: Extracting) -> None:
    status = await extracting.run(urls=(person(site, "/a", "Nobody is here."),), prompt="Who?", schema=NAMES)
    assert status.state == "failed"
    assert "no usable JSON" in status.error


async def test_a_star_stands_for_pages_that_the_prompt_speaks_of(
    site: Site, oracle: Oracle, extracting: Extracting
) -> None:
    for path in ("/x", "/team", "/y"):
        person(site, path, "Ada works here.")
    oracle.knows("Ada works", {"names": ["Ada"]})
    extracting.mapped = [site.url("/x"), site.url("/team"), site.url("/y")]
    await extracting.run(urls=(site.url("/*"),), prompt="The team", limit=1)
    assert [path for path in site.counts() if path != "/robots.txt"] == ["/team"]


async def test_a_star_stands_for_pages_below_it_only(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    paths = ("/", "/guide/a", "/guide/b", "/guidelines", "/blog/a")
    for path in paths:
        person(site, path, "Ada works here.")
    oracle.knows("Ada works", {"names": ["Ada"]})
    extracting.mapped = [site.url(path) for path in paths]
    await extracting.run(urls=(site.url("/guide/*"),), prompt="Who?")
    assert {path for path in site.counts() if path != "/robots.txt"} == {"/guide/a", "/guide/b"}


async def test_a_star_whose_map_fails_is_its_own_page(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    person(site, "/", "Ada works here.")
    oracle.knows("Ada works", {"names": ["Ada"]})
    extracting.mapped = ScrapeFailed(site.url("/"), "timeout", "no answer")
    assert (await extracting.run(urls=(site.url("/*"),), prompt="Who?")).data == {"names": ["Ada"]}


async def test_without_urls_the_web_is_searched(site: Site, oracle: Oracle, extracting: Extracting) -> None:
    found = person(site, "/found", "Ada works here.")
    oracle.knows("Ada works", {"names": ["Ada"]})

    class Search:
        async def search(self, query: SearchQuery) -> list[Hit]:
            assert query.query == "Who works at Stones?"
            return [Hit(found, "", "")]

    extracting.search = Search()
    assert (await extracting.run(prompt="Who works at Stones?")).data == {"names": ["Ada"]}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"prompt": "Who?"}, Unavailable),
        ({"urls": ("http://e/",)}, ConfigError),
        ({"urls": ("http://e/",) * 11, "prompt": "Who?"}, ConfigError),
        ({"schema": {"type": "object"}}, InvalidURL),
    ],
)
async def test_an_extract_that_can_not_be_is_refused(
    extracting: Extracting, request_: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await extracting.start(**request_)


async def test_a_cancelled_extract_says_so(site: Site, extracting: Extracting) -> None:
    crawl = await extracting.start(urls=(site.url("/a"),), prompt="Who?")
    await extracting.lab.client.cancel(crawl.uid)
    assert (await extracting.extracts.status(crawl.uid)).state == "cancelled"


async def test_a_batch_that_is_no_extract_is_not_found_as_one(site: Site, extracting: Extracting) -> None:
    crawl = await extracting.lab.client.start_batch([site.url("/a")])
    with pytest.raises(NotFound, match="no extract"):
        await extracting.extracts.status(crawl.uid)
