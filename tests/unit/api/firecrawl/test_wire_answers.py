"""Failures, lists of errors, maps, and the address under which we are reached."""

from __future__ import annotations

import json

import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.errors import WireError, wire_error
from perseid.api.firecrawl.origin import base_url
from perseid.api.firecrawl.routes.ws import _reason
from perseid.api.firecrawl.wire.errors import Missed, error_list
from perseid.api.firecrawl.wire.failure import scrape_error
from perseid.api.firecrawl.wire.mapping import as_objects, without_queries
from perseid.config.settings import ApiSettings
from perseid.crawls.mapping import MapLink
from perseid.errors import (
    Busy,
    ConfigError,
    InvalidURL,
    KeyUsed,
    NotFound,
    QuotaExceeded,
    StoreUnavailable,
    Unavailable,
)
from perseid.model.ids import JobId
from perseid.model.verdict import DenialReason, FailureCode
from perseid.ports.inspect import DeniedRow, FailureRow

from .test_wire_status import job


@pytest.mark.parametrize(
    ("code", "status", "name"),
    [
        ("timeout", 408, "SCRAPE_TIMEOUT"),
        ("dns_error", 200, "SCRAPE_DNS_RESOLUTION_ERROR"),
        ("tls_error", 500, "SCRAPE_SSL_ERROR"),
        ("unsupported_file", 500, "SCRAPE_UNSUPPORTED_FILE_ERROR"),
        ("not_cached", 404, "SCRAPE_NO_CACHED_DATA"),
        ("blocked_address", 403, None),
        ("robots_txt", 403, None),
        ("blocked_host", 403, None),
        ("connection_error", 500, "SCRAPE_SITE_ERROR"),
        ("conversion_error", 500, "SCRAPE_ALL_ENGINES_FAILED"),
    ],
)
def test_failures_of_a_scrape(code: str, status: int, name: str | None) -> None:
    error = scrape_error(code, "it is so")
    assert (error.status, error.code) == (status, name)


@pytest.mark.parametrize("code", [*FailureCode, *(reason.lower() for reason in DenialReason), "new_in_a_later_version"])
def test_every_failure_has_an_answer(code: str) -> None:
    assert scrape_error(code, "").status in {200, 403, 404, 408, 500}


def test_a_miss_under_lockdown_has_its_own_code() -> None:
    assert scrape_error("not_cached", "", lockdown=True).code == "SCRAPE_LOCKDOWN_CACHE_MISS"


@pytest.mark.parametrize(
    ("error", "status", "header"),
    [
        (InvalidURL("x"), 400, None),
        (ConfigError("x"), 400, None),
        (QuotaExceeded("x"), 402, None),
        (NotFound("x"), 404, None),
        (KeyUsed("x"), 409, None),
        (Busy("x", retry_after_s=2.2), 429, "3"),
        (StoreUnavailable("x"), 503, "5"),
        (Unavailable("x"), 501, None),
        (Unavailable("x", retryable=True), 503, "5"),
        (HTTPException(405), 405, None),
        (RuntimeError("x"), 500, None),
    ],
)
def test_our_errors_have_their_status(error: Exception, status: int, header: str | None) -> None:
    found = wire_error(error, "/v2/crawl")
    assert (found.status, (found.headers or {}).get("Retry-After")) == (status, header)


def test_a_fault_of_ours_tells_its_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    body = json.loads(wire_error(RuntimeError("the secret"), "/v2/crawl").response().body)
    assert (body["success"], body["code"]) == (False, "UNKNOWN_ERROR")
    assert "secret" not in body["error"]


def test_some_errors_are_told_without_success() -> None:
    assert json.loads(WireError(404, "no", bare=True).response().body) == {"error": "no"}


def failure(code: str) -> FailureRow:
    return FailureRow(JobId(3), "https://example.org/x", code, "it was slow", None, 1, 1_700_000_000_000_000, None)


def test_pages_that_failed_are_listed_with_their_reason() -> None:
    [entry] = error_list(job(), Asked(), Missed([failure("timeout")], [], []))["errors"]
    assert entry | {"id": ""} == {
        "id": "",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "url": "https://example.org/x",
        "code": "SCRAPE_TIMEOUT",
        "error": "it was slow (timeout)",
    }


def test_answers_of_4xx_are_pages_and_no_errors() -> None:
    assert error_list(job(), Asked(), Missed([failure("http_404")], [], []))["errors"] == []


def test_links_that_were_refused_are_listed_too() -> None:
    rows = [
        DeniedRow(1, "https://example.org/p", "ROBOTS_TXT", "robots.txt forbids it", None),
        DeniedRow(2, "https://other.example/", "EXTERNAL_LINK", "it is elsewhere", None),
    ]
    found = error_list(job(), Asked(), Missed([], [], rows))
    assert [(each["code"], each["error"]) for each in found["errors"]] == [
        ("CRAWL_DENIAL", "robots.txt forbids it"),
        ("CRAWL_DENIAL", "it is elsewhere"),
    ]
    assert (found["success"], found["robotsBlocked"]) == (True, ["https://example.org/p"])


def test_queries_of_a_map_that_don_t_count_make_no_further_pages() -> None:
    links = [
        MapLink(url=url) for url in ("https://e.org/a?x=1", "https://e.org/a", "https://e.org/b/?y", "https://e.org/b")
    ]
    assert [link.url for link in without_queries(links)] == ["https://e.org/a", "https://e.org/b/", "https://e.org/b"]


def test_links_of_a_map_have_what_is_known() -> None:
    assert as_objects([MapLink(url="u", title="T"), MapLink(url="v")]) == [{"url": "u", "title": "T"}, {"url": "v"}]


def request(*headers: tuple[str, str], scheme: str = "http") -> HTTPConnection:
    raw = [(name.encode(), value.encode()) for name, value in headers]
    return HTTPConnection(
        {"type": "http", "scheme": scheme, "path": "/", "query_string": b"", "headers": raw, "server": ("127.0.0.1", 1)}
    )


FORWARDED = (
    ("host", "inside:3002"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "spoofed.example, outside.example"),
)


@pytest.mark.parametrize(
    ("headers", "settings", "base"),
    [
        ((("host", "127.0.0.1:3002"),), {}, "http://127.0.0.1:3002"),
        (FORWARDED, {}, "http://inside:3002"),
        (FORWARDED, {"trust_proxy": 1}, "https://outside.example"),
        (FORWARDED, {"trust_proxy": 2}, "https://spoofed.example"),
        ((("host", "inside"),), {"trust_proxy": 1}, "http://inside"),
        (FORWARDED, {"public_url": "https://crawl.example/"}, "https://crawl.example"),
        ((("host", 'evil"/><x'),), {}, "http://127.0.0.1:3002"),
        ((), {}, "http://127.0.0.1:3002"),
    ],
)
def test_address_under_which_we_are_reached(
    headers: tuple[tuple[str, str], ...], settings: dict[str, object], base: str
) -> None:
    assert base_url(request(*headers), msgspec.structs.replace(ApiSettings(), **settings)) == base


@pytest.mark.parametrize("error", ["short", "ä" * 200, "💥" * 99, '"' * 300])
def test_a_reason_fits_into_a_close_frame(error: str) -> None:
    reason = _reason("error", error)
    assert len(reason.encode()) <= 123
    assert json.loads(reason)["type"] == "error"
