"""Pages on the wire: only what was asked for, and nothing that would cost a client the whole page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.wire.document import page_id, wire_document
from perseid.model.document import AttributeValues, Document

UID = "01936a2b-7c00-7000-8000-000000000000"


def told(asked: Asked | None = None, *, of_job: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    basics = {"url": "https://example.org/end", "source_url": "https://example.org/start", "status": 200}
    document = Document(**(basics | fields))
    return wire_document(document, asked or Asked(), scrape_id="x", warnings=of_job)


def test_formats_that_were_not_asked_for_are_absent() -> None:
    assert set(told(markdown="# A")) == {"markdown", "metadata"}


def test_each_format_has_its_name() -> None:
    page = told(markdown="m", html="h", raw_html="r", raw_base64="b", links=["l"], images=["i"])
    del page["metadata"]
    assert page == {"markdown": "m", "html": "h", "rawHtml": "r", "rawBase64": "b", "links": ["l"], "images": ["i"]}


def test_who_asks_for_no_format_gets_metadata() -> None:
    assert set(told(Asked(nothing=True), markdown="# A")) == {"metadata"}


def test_answers_of_a_model_stand_under_their_own_names() -> None:
    page = told(answers={"json": {"a": 1}, "summary": "short", "answer": None})
    assert (page["json"], page["summary"], "answer" in page) == ({"a": 1}, "short", False)


def test_attributes_and_changes() -> None:
    page = told(attributes=[AttributeValues("a", "rel", ["x"])], change_tracking={"changeStatus": "new"})
    assert page["attributes"] == [{"selector": "a", "attribute": "rel", "values": ["x"]}]
    assert page["changeTracking"] == {"changeStatus": "new"}


def test_warnings_of_the_job_come_before_those_of_the_page() -> None:
    assert told(of_job=("No camera.",), warnings=["No text."])["warning"] == "No camera. No text."


def test_metadata_of_the_fetch() -> None:
    metadata = told(content_type="text/html; charset=utf-8")["metadata"]
    assert metadata == {
        "sourceURL": "https://example.org/start",
        "url": "https://example.org/end",
        "statusCode": 200,
        "contentType": "text/html; charset=utf-8",
        "proxyUsed": "basic",
        "scrapeId": "x",
        "creditsUsed": 1,
    }


def test_source_url_is_the_spelling_of_the_caller() -> None:
    page = told(Asked(schemeless=("example.org",)), source_url="http://example.org")
    assert page["metadata"]["sourceURL"] == "example.org"


def test_a_page_that_is_not_there_is_a_page_with_an_error() -> None:
    metadata = told(status=404, markdown="gone")["metadata"]
    assert (metadata["statusCode"], metadata["error"]) == (404, "Not Found")


@pytest.mark.parametrize(
    ("cached", "state", "at"),
    [(None, None, None), (False, "miss", None), (True, "hit", "2023-11-14T22:13:20.000Z")],
)
def test_cache(cached: bool | None, state: str | None, at: str | None) -> None:
    metadata = told(cached=cached, fetched_at=1_700_000_000_000_000)["metadata"]
    assert (metadata.get("cacheState"), metadata.get("cachedAt")) == (state, at)


def test_pages_of_a_pdf_count() -> None:
    metadata = told(metadata={"numPages": 12})["metadata"]
    assert (metadata["numPages"], metadata["creditsUsed"]) == (12, 12)


def test_what_the_page_says_stays() -> None:
    metadata = told(metadata={"title": "T", "og:title": "O", "viewport": ["a", "b"]})["metadata"]
    assert (metadata["title"], metadata["og:title"], metadata["viewport"]) == ("T", "O", ["a", "b"])


@pytest.mark.parametrize(
    "name",
    ["statusCode", "status_code", "proxyUsed", "proxy_used", "cacheState", "credits_used", "error", "timezone", "url"],
)
def test_a_page_has_no_say_in_what_is_ours(name: str) -> None:
    honest, hostile = told()["metadata"], told(metadata={name: ["a", "b"]})["metadata"]
    assert hostile == honest


def test_ids_of_pages_are_stable_and_differ() -> None:
    assert page_id(UID, 1) == page_id(UID, 1) != page_id(UID, 2)


_types = pytest.importorskip("firecrawl.v2.types", reason="the published client is not installed")
_normalize = pytest.importorskip("firecrawl.v2.utils.normalize", reason="the published client is not installed")
_SNAKE = list(_types.DocumentMetadata.model_fields)
_NAMES = sorted({*_SNAKE, *map(to_camel, _SNAKE), "sourceURL", "og:title", "viewport", "description"})
_VALUES = st.text() | st.lists(st.text(), min_size=1, max_size=3)


@given(said=st.dictionaries(st.sampled_from(_NAMES) | st.text(min_size=1), _VALUES, max_size=8))
def test_the_published_client_reads_whatever_a_page_says_of_itself(said: dict[str, Any]) -> None:
    page = told(markdown="x", metadata=said)
    document = _types.Document(**_normalize.normalize_document_input(page))
    assert document.metadata.status_code == 200
