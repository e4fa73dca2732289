"""Options of a page as ours, and what is said of those that can't be met."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.api.firecrawl.body.scrape import ScrapeV1, ScrapeV2
from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.translate.page import PagePlan, accept_language, plan_page
from perseid.config.settings import Settings
from perseid.model.options import Ask, AttributeQuery, CachePolicy, ChangeTracking

from .conftest import reads

URL = "https://example.org/"


def v1(**sent: Any) -> PagePlan:
    return plan_page(reads(ScrapeV1, url=URL, **sent), Settings())


def v2(**sent: Any) -> PagePlan:
    return plan_page(reads(ScrapeV2, url=URL, **sent), Settings())


def test_formats_of_a_fetch_keep_their_names() -> None:
    asked = ["markdown", "html", "rawHtml", "links", "images"]
    assert v2(formats=asked).options.formats == tuple(asked)


@pytest.mark.parametrize(
    ("asked", "ask"),
    [
        ("summary", Ask(kind="summary", output="summary")),
        ({"type": "json", "prompt": "who"}, Ask(kind="json", output="json", prompt="who")),
        ({"type": "deterministicJson", "prompt": "who"}, Ask(kind="json", output="json", prompt="who")),
        ({"type": "question", "question": "who"}, Ask(kind="question", output="answer", prompt="who")),
        ({"type": "highlights", "query": "who"}, Ask(kind="highlights", output="highlights", prompt="who")),
        ({"type": "query", "prompt": "who"}, Ask(kind="question", output="answer", prompt="who")),
        (
            {"type": "query", "prompt": "who", "mode": "directQuote"},
            Ask(kind="highlights", output="answer", prompt="who"),
        ),
    ],
)
def test_questions_for_a_language_model(asked: object, ask: Ask) -> None:
    assert v2(formats=[asked]).options.asks == (ask,)


def test_extract_of_version_1_answers_under_its_own_name() -> None:
    found = v1(formats=["extract"], extract={"schema": {"type": "object", "properties": {"a": {}}}})
    assert found.options.asks[0].output == "extract"


def test_clean_content_is_a_question_too() -> None:
    assert v2(onlyCleanContent=True).options.asks == (Ask(kind="clean", output="markdown"),)


def test_attributes_and_changes() -> None:
    found = v2(
        formats=[
            "markdown",
            {"type": "attributes", "selectors": [{"selector": "a", "attribute": "rel"}]},
            {"type": "changeTracking", "modes": ["git-diff"], "tag": "x"},
        ]
    ).options
    assert found.attributes == (AttributeQuery("a", "rel"),)
    assert found.change_tracking == ChangeTracking(modes=("git-diff",), tag="x")


def test_no_formats_are_remembered_as_none() -> None:
    assert v2(formats=[]).nothing


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ({"formats": ["markdown", "screenshot"]}, "screenshot"),
        ({"formats": ["markdown", "branding"]}, "branding"),
        ({"formats": ["audio"]}, "audio"),
        ({"mobile": True}, "mobile"),
        ({"location": {"country": "DE"}}, "location.country de"),
        ({"proxy": "stealth"}, "proxy stealth"),
        ({"profile": {"name": "x"}}, "profile"),
        ({"parsers": [{"type": "pdf", "mode": "ocr"}]}, "parsers.mode ocr"),
        ({"waitFor": 100}, "waitFor"),
    ],
)
def test_what_can_not_be_had_is_named(sent: dict[str, object], name: str) -> None:
    assert name in " ".join(v2(**sent).warnings)


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"proxy": "auto", "fastMode": True, "blockAds": False, "mobile": False},
        {"location": {"languages": ["de"]}},
        {"maxAge": 14_400_000, "storeInCache": True, "removeBase64Images": True},
    ],
)
def test_no_warning_without_a_loss(sent: dict[str, object]) -> None:
    assert v2(**sent).warnings == ()


def test_actions_are_refused_by_their_code() -> None:
    with pytest.raises(WireError) as caught:
        v2(actions=[{"type": "wait", "milliseconds": 10}])
    assert (caught.value.status, caught.value.code) == (400, "SCRAPE_ACTIONS_NOT_SUPPORTED")


def test_text_does_not_pass_for_redacted() -> None:
    with pytest.raises(WireError) as caught:
        v2(redactPII=True)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("sent", "verified"),
    [
        ({}, False),
        ({"skipTlsVerification": False}, True),
        ({"skipTlsVerification": True}, False),
        ({"headers": {"Cookie": "a=b"}}, True),
        ({"headers": {}}, False),
        ({"headers": {"Cookie": "a=b"}, "skipTlsVerification": True}, False),
    ],
)
def test_certificates_count_where_credentials_are_at_stake(sent: dict[str, object], verified: bool) -> None:
    assert (v1(**sent).options.verify_tls, v2(**sent).options.verify_tls) == (verified, verified)


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        ({}, None),
        ({"timeout": 5000}, 5.0),
        ({"timeout": 30_000}, 120.0),
        ({"timeout": 30_000, "proxy": "basic"}, 30.0),
        ({"timeout": 30_000, "proxy": "basic", "formats": ["json"]}, 60.0),
        ({"timeout": 30_001, "formats": ["json"]}, 30.001),
    ],
)
def test_time_limit_of_version_2(sent: dict[str, object], seconds: float | None) -> None:
    assert v2(**sent).timeout_s == seconds


def test_time_limit_of_version_1() -> None:
    assert v1().timeout_s == 30.0


@pytest.mark.parametrize(
    ("sent", "policy"),
    [
        ({}, CachePolicy(store=True)),
        ({"maxAge": 0}, CachePolicy(max_age_s=0.0, store=True)),
        ({"maxAge": 60_000, "storeInCache": False}, CachePolicy(max_age_s=60.0)),
        ({"minAge": 1000}, CachePolicy(min_age_s=1.0, store=True)),
        ({"lockdown": True}, CachePolicy(max_age_s=2 * 365 * 86_400.0, only=True)),
        ({"lockdown": True, "maxAge": 5000}, CachePolicy(max_age_s=5.0, only=True)),
    ],
)
def test_cache(sent: dict[str, object], policy: CachePolicy) -> None:
    assert v2(**sent).options.cache == policy


def test_pages_of_a_crawl_are_kept_only_where_somebody_speaks_of_it() -> None:
    body = reads(ScrapeV2, url=URL)
    named = reads(ScrapeV2, url=URL, storeInCache=True)
    kept = [plan_page(each, Settings(), keep=False).options.cache.store for each in (body, named)]
    assert kept == [False, True]


def test_lockdown_keeps_nothing() -> None:
    assert v2(lockdown=True).zero_retention


def test_headers_are_sent_and_the_agent_is_a_field_of_its_own() -> None:
    options = v2(headers={"X-One": "1", "user-agent": "Mine/1"}).options
    assert (options.headers, options.user_agent) == ((("X-One", "1"),), "Mine/1")


def test_languages_become_a_header_unless_there_is_one() -> None:
    location = {"languages": ["de-DE", "en"]}
    assert v2(location=location).options.headers == (("Accept-Language", "de-DE, en;q=0.9"),)
    assert v2(location=location, headers={"accept-language": "fr"}).options.headers == (("accept-language", "fr"),)


def test_weights_of_languages_never_fall_to_nothing() -> None:
    assert accept_language([f"x{place}" for place in range(12)]).endswith("x11;q=0.1")


def test_credits_of_a_page() -> None:
    assert (v2().credits, v2(formats=["json"]).credits) == (1, 5)
