"""Keys that nobody knows, and types that are none: what is refused, and in which words."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl.body.base import Reading
from perseid.api.firecrawl.body.batch import BatchV2
from perseid.api.firecrawl.body.crawl import CrawlV1, CrawlV2
from perseid.api.firecrawl.body.issues import PLAIN, UNRECOGNIZED
from perseid.api.firecrawl.body.map import MapV1, MapV2
from perseid.api.firecrawl.body.scrape import ScrapeV1, ScrapeV2
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.reading import parsed, validated

from .conftest import refusal

URL = "https://example.org/"


@pytest.mark.parametrize(
    ("model", "key"),
    [
        (ScrapeV2, "foo"),
        (ScrapeV1, "foo"),
        (ScrapeV2, "parsePDF"),
        (ScrapeV2, "jsonOptions"),
        (ScrapeV1, "parsers"),
        (ScrapeV1, "minAge"),
        (ScrapeV1, "lockdown"),
        (CrawlV2, "maxDepth"),
        (CrawlV2, "ignoreSitemap"),
        (CrawlV2, "allowBackwardLinks"),
        (CrawlV1, "sitemap"),
        (CrawlV1, "prompt"),
        (CrawlV1, "robotsUserAgent"),
        (MapV2, "ignoreSitemap"),
        (MapV1, "sitemap"),
        (ScrapeV2, "only_main_content"),
    ],
)
def test_key_of_no_field_is_refused(model: type, key: str) -> None:
    error = refusal(model, url=URL, **{key: True})
    assert (error.status, error.code, error.error) == (400, "BAD_REQUEST", UNRECOGNIZED)


@pytest.mark.parametrize(
    "sent",
    [
        {"scrapeOptions": {"foo": 1}},
        {"scrapeOptions": {"formats": [{"type": "json", "foo": 1}]}},
        {"webhook": {"url": URL, "foo": 1}},
    ],
)
def test_key_of_no_field_is_refused_at_any_depth(sent: dict[str, object]) -> None:
    assert refusal(CrawlV2, url=URL, **sent).error == UNRECOGNIZED


def test_details_name_the_key_and_the_way_to_it() -> None:
    error = refusal(CrawlV2, url=URL, scrapeOptions={"formats": ["html", {"type": "json", "foo": 1}]})
    assert error.details == [
        {
            "code": "unrecognized_keys",
            "keys": ["foo"],
            "path": ["scrapeOptions", "formats", 1],
            "message": "Unrecognized key: foo",
        }
    ]


@pytest.mark.parametrize(
    "sent",
    [
        {"actions": [{"type": "click", "selector": "a", "foo": 1}]},
        {"location": {"country": "de", "foo": 1}},
        {"profile": {"name": "x", "foo": 1}},
        {"formats": [{"type": "screenshot", "foo": 1}]},
    ],
)
def test_objects_that_are_not_strict_drop_such_keys(sent: dict[str, object]) -> None:
    assert validated(ScrapeV2, {"url": URL, **sent}, Reading()).reading.ignored == {}


def test_keys_of_newer_clients_are_ignored_and_named() -> None:
    body = validated(ScrapeV2, {"url": URL, "domainTools": True}, Reading(strictness="known"))
    assert list(body.reading.ignored) == ["domainTools"]


def test_keys_of_newer_clients_are_refused_where_the_contract_is_kept_to_the_letter() -> None:
    assert refusal(ScrapeV2, Reading(strictness="exact"), url=URL, domainTools=True).error == UNRECOGNIZED


def test_any_key_is_ignored_and_named_where_nothing_is_strict() -> None:
    reading = Reading(strictness="off")
    body = validated(CrawlV2, {"url": URL, "foo": 1, "scrapeOptions": {"bar": 2}}, reading)
    assert list(body.reading.ignored) == ["foo", "bar"]


def test_internal_keys_are_dropped_without_a_word() -> None:
    body = validated(ScrapeV2, {"url": URL, "__agentInterop": {}}, Reading(strictness="exact"))
    assert body.reading.ignored == {}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"url": 7},
        {"url": URL, "timeout": "3000"},
        {"url": URL, "timeout": 999},
        {"url": URL, "timeout": 1000.5},
        {"url": URL, "waitFor": 60_001},
        {"url": URL, "onlyMainContent": "yes"},
        {"url": URL, "onlyMainContent": None},
        {"url": URL, "formats": "markdown"},
        {"url": URL, "formats": ["nonsense"]},
        {"url": URL, "formats": [{"type": "attributes"}]},
        {"url": URL, "formats": ["attributes"]},
        {"url": URL, "headers": {"a": 1}},
        {"url": URL, "location": {"country": "Germany"}},
        {"url": URL, "parsers": [{"type": "pdf", "maxPages": 0}]},
        {"url": URL, "proxy": "tor"},
        {"url": URL, "maxAge": -1},
    ],
)
def test_wrong_type_or_value_is_a_plain_bad_request(sent: dict[str, object]) -> None:
    error = refusal(ScrapeV2, **sent)
    assert (error.status, error.code, error.error) == (400, "BAD_REQUEST", PLAIN)


def test_a_broken_rule_gives_the_sentence_even_beside_other_faults() -> None:
    error = refusal(BatchV2, urls=[URL, "localhost"], timeout="x")
    assert error.error == "URL must have a valid top-level domain or be an IP address"


def test_no_name_of_ours_stands_in_the_details() -> None:
    assert refusal(ScrapeV2, url=URL, formats=[3]).details[0]["message"] == "Input should be an object"


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert validated(ScrapeV2, {"url": URL, "timeout": 5000.0}, Reading()).timeout == 5000


@pytest.mark.parametrize("data", [b"{nope", b'"text"', b"3", b'{"a": NaN}', b"\xff\xfe", b'{"a": 1}}'])
def test_what_is_no_json_object_is_told_apart(data: bytes) -> None:
    with pytest.raises(WireError) as caught:
        parsed(data)
    assert (caught.value.status, caught.value.code) == (400, "BAD_REQUEST_INVALID_JSON")


def test_no_body_is_an_empty_one() -> None:
    assert parsed(b" ") == {}


def test_an_array_is_a_bad_request() -> None:
    with pytest.raises(WireError) as caught:
        validated(ScrapeV2, parsed(b"[]"), Reading())
    assert (caught.value.code, caught.value.error) == ("BAD_REQUEST", PLAIN)
