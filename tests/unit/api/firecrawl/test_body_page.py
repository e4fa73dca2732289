"""Options of a page: rules that hold between fields, and what the versions have in common."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl.body import action, formats, page
from perseid.api.firecrawl.body.scrape import ScrapeV1, ScrapeV2

from .conftest import reads, refusal

URL = "https://example.org/"
WAIT = {"type": "wait", "milliseconds": 1000}


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"timeout": 2000, "waitFor": 1001}, page.WAIT_TOO_LONG),
        ({"waitFor": 60_000, "actions": [WAIT]}, page.WAIT_TOTAL),
        ({"actions": [{"type": "wait", "selector": "a"}] * 50, "waitFor": 10_001}, page.WAIT_TOTAL),
        ({"actions": [{"type": "scrape"}] * 51}, page.TOO_MANY_ACTIONS),
        ({"actions": [{"type": "wait"}]}, action.EITHER),
        ({"actions": [{"type": "wait", "milliseconds": 1, "selector": "a"}]}, action.EITHER),
        ({"formats": ["screenshot", {"type": "screenshot"}]}, formats.ONE_SCREENSHOT),
        ({"formats": ["changeTracking"]}, formats.TRACKING_NEEDS_MARKDOWN),
        ({"formats": ["json", "deterministicJson"]}, formats.TWO_JSON),
        ({"formats": ["rawBase64", "html"]}, formats.RAW_ALONE),
    ],
)
def test_rules_between_fields(sent: dict[str, object], sentence: str) -> None:
    assert refusal(ScrapeV2, url=URL, **sent).error == sentence


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"formats": ["extract"]}, page.EXTRACT_PAIR),
        ({"formats": ["json"]}, page.EXTRACT_PAIR),
        ({"jsonOptions": {"prompt": "x"}}, page.EXTRACT_PAIR),
        ({"extract": {"prompt": "x"}, "formats": ["json"]}, page.EXTRACT_PAIR),
        ({"formats": ["screenshot", "screenshot@fullPage"]}, formats.ONE_SCREENSHOT),
        ({"formats": ["changeTracking"]}, formats.TRACKING_NEEDS_MARKDOWN),
        ({"waitFor": 15_001}, page.WAIT_TOO_LONG),
    ],
)
def test_rules_between_fields_of_version_1(sent: dict[str, object], sentence: str) -> None:
    assert refusal(ScrapeV1, url=URL, **sent).error == sentence


def test_the_rule_names_the_field_to_blame() -> None:
    assert refusal(ScrapeV2, url=URL, timeout=2000, waitFor=1500).details[0]["path"] == ["waitFor"]


def test_a_wait_of_half_the_timeout_passes() -> None:
    assert reads(ScrapeV2, url=URL, timeout=2000, waitFor=1000).wait_for == 1000


def test_no_formats_pass() -> None:
    assert reads(ScrapeV2, url=URL, formats=[]).formats_wanted == []


def test_markdown_is_what_nobody_needs_to_ask_for() -> None:
    assert reads(ScrapeV2, url=URL).formats_wanted == reads(ScrapeV1, url=URL).formats_wanted


def test_names_and_options_of_version_1_are_the_objects_of_version_2() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    old = reads(
        ScrapeV1,
        url=URL,
        formats=["markdown", "json", "changeTracking"],
        jsonOptions={"schema": schema, "prompt": "who"},
        changeTrackingOptions={"modes": ["git-diff"], "tag": "daily"},
    )
    new = reads(
        ScrapeV2,
        url=URL,
        formats=[
            "markdown",
            {"type": "json", "schema": schema, "prompt": "who"},
            {"type": "changeTracking", "modes": ["git-diff"], "tag": "daily"},
        ],
    )
    assert old.formats_wanted == new.formats_wanted


def test_an_object_that_takes_anything_is_no_schema() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": True}}}
    assert refusal(ScrapeV2, url=URL, formats=[{"type": "json", "schema": schema}]).details[0]["code"] == "custom"


def test_geolocation_is_an_older_name_of_location() -> None:
    place = reads(ScrapeV1, url=URL, geolocation={"country": "de"}).place
    assert place is not None
    assert place.country == "de"


@pytest.mark.parametrize(
    ("parsers", "parsed", "pages"),
    [(["pdf"], True, None), ([], False, None), ([{"type": "pdf", "maxPages": 3}], True, 3), (["image"], False, None)],
)
def test_parsers_say_whether_a_pdf_is_read(parsers: list[object], parsed: bool, pages: int | None) -> None:
    found = reads(ScrapeV2, url=URL, parsers=parsers).parsing
    assert (found.pdf, found.max_pages) == (parsed, pages)


def test_parse_pdf_says_it_in_version_1() -> None:
    assert reads(ScrapeV1, url=URL, parsePDF=False).parsing.pdf is False


def test_version_1_has_a_timeout_of_its_own() -> None:
    assert (reads(ScrapeV1, url=URL).timeout, reads(ScrapeV2, url=URL).timeout) == (30_000, None)
