"""Bodies that are refused: each field of each body, with the words and the details of the refusal."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Server
from .refusal import BODIES, URL, pointed, refused

UNKNOWN = "Unrecognized key in body -- please review the v2 API documentation for request body changes"
SCREENSHOTS = "You may only specify one screenshot format"
TRACKING = "The changeTracking format requires the markdown format to be specified as well"
JSONS = "Cannot specify both json and deterministicJson formats"
BASE64 = "The rawBase64 format cannot be combined with other formats"
WAIT = "waitFor must not exceed half of timeout"
PAIRED = "When 'extract' or 'json' format is specified, corresponding options must be provided, and vice versa"
EITHER = "Either 'milliseconds' or 'selector' must be provided, but not both."
SCHEME = "URL uses unsupported protocol"
DOMAIN = "URL must have a valid top-level domain or be an IP address"


@pytest.mark.parametrize("path", BODIES)
def test_an_unknown_key_is_refused_by_the_same_words_in_both_versions(idle: Server, path: str) -> None:
    told = refused(idle, path, {**BODIES[path], "nonsense": 1})
    assert (told["code"], told["error"]) == ("BAD_REQUEST", UNKNOWN)
    assert pointed(told) == {""}
    [issue] = told["details"]
    assert (issue["code"], issue["keys"]) == ("unrecognized_keys", ["nonsense"])


@pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl"])
def test_an_unknown_key_of_scrape_options_is_refused(idle: Server, path: str) -> None:
    told = refused(idle, path, {"url": URL, "scrapeOptions": {"nonsense": 1}})
    assert told["error"] == UNKNOWN
    assert pointed(told) == {"scrapeOptions"}


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("/v2/crawl", "maxDepth", 3),
        ("/v2/crawl", "ignoreSitemap", True),
        ("/v2/crawl", "allowBackwardLinks", True),
        ("/v1/crawl", "sitemap", "skip"),
        ("/v1/crawl", "prompt", "all"),
        ("/v1/crawl", "robotsUserAgent", "me"),
        ("/v1/map", "sitemap", "only"),
        ("/v2/map", "sitemapOnly", True),
        ("/v2/map", "ignoreSitemap", True),
        ("/v1/scrape", "minAge", 1),
        ("/v1/scrape", "lockdown", True),
        ("/v1/scrape", "redactPII", True),
        ("/v1/scrape", "profile", {"name": "x"}),
        ("/v1/scrape", "parsers", ["pdf"]),
        ("/v2/scrape", "parsePDF", True),
        ("/v2/scrape", "jsonOptions", {"prompt": "x"}),
        ("/v2/scrape", "extract", {"prompt": "x"}),
        ("/v2/scrape", "geolocation", {"country": "US"}),
        ("/v2/scrape", "pageOptions", {}),
        ("/v1/scrape", "crawlerOptions", {}),
    ],
)
def test_keys_of_the_other_version_are_unknown(idle: Server, path: str, key: str, value: Any) -> None:
    assert refused(idle, path, {**BODIES[path], key: value})["error"] == UNKNOWN


SCRAPE_FAULTS: list[tuple[str, Any]] = [
    ("formats", "markdown"),
    ("formats", ["nonsense"]),
    ("formats", [7]),
    ("headers", ["x"]),
    ("headers", {"x": 1}),
    ("includeTags", "main"),
    ("includeTags", [1]),
    ("excludeTags", "nav"),
    ("onlyMainContent", "yes"),
    ("timeout", 999),
    ("timeout", "1000"),
    ("timeout", 1000.5),
    ("timeout", -1),
    ("waitFor", -1),
    ("waitFor", 60_001),
    ("waitFor", "1"),
    ("mobile", 1),
    ("actions", {}),
    ("actions", [{"type": "nonsense"}]),
    ("actions", [{"type": "click"}]),
    ("location", "US"),
    ("location", {"country": "ZZZ"}),
    ("location", {"languages": "de"}),
    ("skipTlsVerification", "no"),
    ("removeBase64Images", "no"),
    ("fastMode", 1),
    ("blockAds", "x"),
    ("proxy", "nonsense"),
    ("proxy", None),
    ("maxAge", -1),
    ("maxAge", "1"),
    ("storeInCache", "x"),
    ("origin", 1),
    ("zeroDataRetention", "x"),
]
SCRAPE_2_FAULTS: list[tuple[str, Any]] = [
    ("onlyCleanContent", "x"),
    ("minAge", -1),
    ("lockdown", "x"),
    ("parsers", "pdf"),
    ("parsers", ["docx"]),
    ("parsers", [{"type": "pdf", "mode": "nonsense"}]),
    ("parsers", [{"type": "pdf", "maxPages": 0}]),
    ("parsers", [{"type": "pdf", "maxPages": 10_001}]),
    ("parsers", [{"type": "pdf", "nonsense": 1}]),
    ("redactPII", "yes"),
    ("redactPII", {"mode": "nonsense"}),
    ("profile", {"name": ""}),
    ("profile", {"name": "x" * 129}),
]
SCRAPE_1_FAULTS: list[tuple[str, Any]] = [
    ("formats", [{"type": "markdown"}]),
    ("formats", ["images"]),
    ("formats", ["attributes"]),
    ("parsePDF", "x"),
    ("geolocation", "US"),
    ("changeTrackingOptions", {"nonsense": 1}),
]


@pytest.mark.parametrize(
    ("version", "key", "value"),
    [
        *(("v1", *fault) for fault in SCRAPE_FAULTS + SCRAPE_1_FAULTS),
        *(("v2", *fault) for fault in SCRAPE_FAULTS + SCRAPE_2_FAULTS),
    ],
)
def test_each_scrape_option_has_its_type_and_its_bounds(idle: Server, version: str, key: str, value: Any) -> None:
    for path, body in (
        (f"/{version}/scrape", {"url": URL, key: value}),
        (f"/{version}/batch/scrape", {"urls": [URL], key: value}),
    ):
        told = refused(idle, path, body)
        assert told["code"] == "BAD_REQUEST"
        assert {place.partition(".")[0] for place in pointed(told)} == {key}
    if key not in {"origin", "zeroDataRetention"}:
        told = refused(idle, f"/{version}/crawl", {"url": URL, "scrapeOptions": {key: value}})
        assert all(place.startswith(f"scrapeOptions.{key}") for place in pointed(told)), told


@pytest.mark.parametrize(
    ("key", "value"),
    [("timeout", 500), ("formats", "markdown"), ("formats", [1]), ("url", 7), ("onlyMainContent", "x")],
)
def test_what_needs_no_words_of_its_own_is_a_bad_request(idle: Server, key: str, value: Any) -> None:
    assert refused(idle, "/v2/scrape", {"url": URL, key: value})["error"] == "Bad Request"


@pytest.mark.parametrize(
    ("formats", "words"),
    [
        (["screenshot", {"type": "screenshot", "fullPage": True}], SCREENSHOTS),
        (["changeTracking"], TRACKING),
        ([{"type": "changeTracking", "modes": ["git-diff"]}, "html"], TRACKING),
        (["json", "deterministicJson"], JSONS),
        (["rawBase64", "markdown"], BASE64),
    ],
)
def test_formats_that_do_not_go_together(idle: Server, formats: list[Any], words: str) -> None:
    assert refused(idle, "/v2/scrape", {"url": URL, "formats": formats})["error"] == words


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "markdown", "nonsense": 1},
        {"type": "json", "nonsense": 1},
        {"type": "changeTracking", "nonsense": 1},
        {"type": "attributes", "selectors": [{"selector": "a", "attribute": "href", "nonsense": 1}]},
        {"type": "question", "question": "why", "nonsense": 1},
    ],
)
def test_objects_of_formats_are_strict(idle: Server, wanted: dict[str, Any]) -> None:
    told = refused(idle, "/v2/scrape", {"url": URL, "formats": ["markdown", wanted]})
    assert told["error"] == UNKNOWN
    assert {place.partition(".")[0] for place in pointed(told)} == {"formats"}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"type": "nonsense"},
        {"type": "json", "prompt": "x" * 10_001},
        {"type": "json", "prompt": 7},
        {"type": "json", "prompt": "x", "schema": {"type": "object", "additionalProperties": True}},
        {"type": "changeTracking", "modes": ["nonsense"]},
        {"type": "changeTracking", "tag": 7},
        {"type": "screenshot", "quality": 0},
        {"type": "screenshot", "quality": 101},
        {"type": "screenshot", "viewport": {"width": 0, "height": 10}},
        {"type": "screenshot", "viewport": {"width": 7681, "height": 10}},
        {"type": "screenshot", "viewport": {"width": 10, "height": 4321}},
        {"type": "screenshot", "viewport": {"width": 10}},
        {"type": "attributes"},
        {"type": "attributes", "selectors": [{"selector": "a"}]},
        {"type": "question"},
        {"type": "question", "question": ""},
        {"type": "question", "question": "x" * 10_001},
        {"type": "highlights"},
        {"type": "highlights", "query": ""},
        {"type": "query", "prompt": "x" * 10_001},
        {"type": "query", "prompt": "x", "mode": "nonsense"},
    ],
)
def test_objects_of_formats_have_their_fields_and_bounds(idle: Server, wanted: dict[str, Any]) -> None:
    told = refused(idle, "/v2/scrape", {"url": URL, "formats": ["markdown", wanted]})
    assert {place.partition(".")[0] for place in pointed(told)} == {"formats"}


def test_screenshots_of_version_1_exclude_one_another(idle: Server) -> None:
    refused(idle, "/v1/scrape", {"url": URL, "formats": ["screenshot", "screenshot@fullPage"]})


@pytest.mark.parametrize(
    "body",
    [
        {"formats": ["json"]},
        {"formats": ["extract"]},
        {"formats": ["markdown"], "jsonOptions": {"prompt": "x"}},
        {"extract": {"prompt": "x"}},
        {"formats": ["extract"], "jsonOptions": {"prompt": "x"}},
    ],
)
def test_formats_and_options_of_version_1_belong_together(idle: Server, body: dict[str, Any]) -> None:
    assert refused(idle, "/v1/scrape", {"url": URL, **body})["error"] == PAIRED


@pytest.mark.parametrize("key", ["jsonOptions", "extract"])
@pytest.mark.parametrize(
    "fault", [{"prompt": "x" * 10_001}, {"systemPrompt": "x" * 10_001}, {"mode": "nonsense"}, {"prompt": 7}]
)
def test_options_of_extraction_in_version_1_have_bounds(idle: Server, key: str, fault: dict[str, Any]) -> None:
    wanted = "json" if key == "jsonOptions" else "extract"
    told = refused(idle, "/v1/scrape", {"url": URL, "formats": [wanted], key: fault})
    assert {place.partition(".")[0] for place in pointed(told)} == {key}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_waiting_may_take_half_of_the_time(idle: Server, version: str) -> None:
    told = refused(idle, f"/{version}/scrape", {"url": URL, "waitFor": 1001, "timeout": 2000})
    assert told["error"] == WAIT
    assert pointed(told) == {"waitFor"}


@pytest.mark.parametrize(
    "action",
    [
        {"type": "wait"},
        {"type": "wait", "milliseconds": 1, "selector": "a"},
    ],
)
def test_an_action_waits_for_one_thing(idle: Server, action: dict[str, Any]) -> None:
    assert refused(idle, "/v2/scrape", {"url": URL, "actions": [action]})["error"] == EITHER


@pytest.mark.parametrize(
    "actions",
    [
        [{"type": "wait", "milliseconds": 0}],
        [{"type": "write"}],
        [{"type": "press"}],
        [{"type": "executeJavascript"}],
        [{"type": "scroll", "direction": "left"}],
        [{"type": "screenshot", "quality": 101}],
        [{"type": "pdf", "format": "B5"}],
        [{"type": "scrape"}] * 51,
        [{"type": "wait", "milliseconds": 60_001}],
        [{"type": "wait", "milliseconds": 40_000}, {"type": "wait", "milliseconds": 20_001}],
    ],
)
def test_actions_have_their_fields_and_bounds(idle: Server, actions: list[dict[str, Any]]) -> None:
    told = refused(idle, "/v2/scrape", {"url": URL, "actions": actions})
    assert told["code"] == "BAD_REQUEST"
    assert {place.partition(".")[0] for place in pointed(told)} <= {"actions", "waitFor"}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://a.example/", SCHEME),
        ("file:///etc/passwd", SCHEME),
        ("javascript:alert(1)", SCHEME),
        ("nonsense", None),
        ("nonsense/path", None),
        ("https://a.b/", DOMAIN),
        ("", None),
        ("http://", None),
        ("http://exa mple.com/", None),
        (None, None),
        (7, None),
        ([], None),
    ],
)
@pytest.mark.parametrize("path", ["/v1/scrape", "/v2/scrape", "/v1/crawl", "/v2/crawl", "/v1/map", "/v2/map"])
def test_addresses_that_are_none(locked: Server, path: str, url: Any, words: str | None) -> None:
    answer = locked.ask("POST", path, {"url": url}, Authorization="Bearer fc-first")
    told = answer.json()
    assert (answer.status_code, told["code"]) == (400, "BAD_REQUEST")
    assert pointed(told) == {"url"}
    if words is not None:
        assert told["error"] == words


def test_several_faults_are_told_at_once(idle: Server) -> None:
    told = refused(idle, "/v2/scrape", {"url": URL, "timeout": 1, "formats": [1], "mobile": "x"})
    assert {place.partition(".")[0] for place in pointed(told)} == {"timeout", "formats", "mobile"}


def test_an_unknown_key_outweighs_other_faults(idle: Server) -> None:
    told = refused(idle, "/v2/scrape", {"url": URL, "formats": ["changeTracking"], "nonsense": 1, "timeout": 1})
    assert told["error"] == UNKNOWN


LENIENT = [
    {"formats": ["markdown", {"type": "screenshot", "nonsense": 1}]},
    {"location": {"country": "us", "nonsense": 1}},
    {"location": {"country": "us-generic"}},
    {"location": {"country": "DE", "languages": ["de", "en"]}},
    {"profile": {"name": "x", "nonsense": 1}},
    {"formats": []},
    {"formats": ["json"]},
    {"formats": [{"type": "rawBase64"}]},
    {"formats": ["markdown", {"type": "changeTracking", "modes": ["git-diff", "json"], "tag": None}]},
    {"parsers": []},
    {"parsers": ["pdf"]},
    {"parsers": [{"type": "pdf", "mode": "fast", "maxPages": 3, "pages": True, "blocks": True, "pageMarkers": True}]},
    {"parsers": [{"type": "pdf", "pageMarkdown": True}]},
    {"origin": "python-sdk@4.38.0", "integration": "langchain"},
    {"integration": "_mine"},
    {"threatProtection": {"mode": "x"}, "auditMetadata": {"username": "x"}},
    {"redactPII": False},
    {"onlyCleanContent": False, "fastMode": True, "blockAds": False, "mobile": False},
    {"proxy": "auto"},
    {"proxy": "enhanced"},
    {"waitFor": 1000, "timeout": 2000},
    {"maxAge": 0, "storeInCache": False},
    {"useMock": "x"},
    {"lockdown": False},
    {"zeroDataRetention": False},
]


@pytest.mark.parametrize("options", LENIENT)
def test_what_clients_may_send(idle: Server, options: dict[str, Any]) -> None:
    answer = idle.ask("POST", "/v2/batch/scrape", {"urls": [URL], **options})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "options",
    [
        {"formats": ["markdown", "screenshot@fullPage"]},
        {"formats": ["json"], "jsonOptions": {"prompt": "x", "mode": "llm", "temperature": 0.1}},
        {"formats": ["extract"], "extract": {"schema": {"type": "object"}, "systemPrompt": "x"}},
        {"formats": ["markdown", "changeTracking"], "changeTrackingOptions": {"modes": ["json"], "tag": "x"}},
        {"parsePDF": False},
        {"geolocation": {"country": "US"}},
        {"location": {"country": "US", "nonsense": 1}},
        {"formats": ["summary", "branding"]},
    ],
)
def test_what_clients_of_version_1_may_send(idle: Server, options: dict[str, Any]) -> None:
    answer = idle.ask("POST", "/v1/batch/scrape", {"urls": [URL], **options})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("action", [{"type": "click", "selector": "a", "nonsense": 1}, {"type": "scroll"}])
def test_items_of_actions_are_lenient(idle: Server, action: dict[str, Any]) -> None:
    answer = idle.post("/v2/scrape", url=URL, actions=[action])
    assert (answer.status_code, answer.json()["code"]) == (400, "SCRAPE_ACTIONS_NOT_SUPPORTED")


def test_an_integration_that_is_null_is_refused(idle: Server) -> None:
    assert pointed(refused(idle, "/v2/scrape", {"url": URL, "integration": None})) == {"integration"}


@pytest.mark.parametrize("wanted", [True, {"mode": "fast", "entities": ["EMAIL"], "replaceStyle": "mask"}])
def test_text_never_passes_for_redacted(idle: Server, wanted: Any) -> None:
    answer = idle.post("/v2/scrape", url=URL, redactPII=wanted)
    assert answer.status_code == 400
    assert "redactPII" in answer.json()["error"]
