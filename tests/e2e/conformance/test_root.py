"""What holds for all routes: probes, bodies that can't be read, CORS, deprecation."""

from __future__ import annotations

import pytest

from .conftest import Server

_NOBODY = "01936a2b-7c00-7000-8000-000000000000"

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
BODIES = ["scrape", "crawl", "batch/scrape", "map", "search", "extract"]


def test_the_root_says_what_it_is_and_where_its_documentation_is(idle: Server) -> None:
    answer = idle.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    told = answer.json()
    assert set(told) == {"message", "documentation_url"}
    assert all(isinstance(value, str) and value for value in told.values())


def test_the_end_to_end_probe_is_plain_text(idle: Server) -> None:
    answer = idle.get("/e2e-test")
    assert (answer.status_code, answer.text) == (200, "OK")
    assert not answer.headers["content-type"].startswith("application/json")


def test_whether_it_is_production_is_a_boolean(idle: Server) -> None:
    told = idle.told("/is-production")
    assert set(told) == {"isProduction"}
    assert isinstance(told["isProduction"], bool)


@pytest.mark.parametrize("probe", ["liveness", "readiness"])
def test_health_is_told(idle: Server, probe: str) -> None:
    assert idle.get(f"/v0/health/{probe}").status_code == 200


@VERSIONS
@pytest.mark.parametrize("path", BODIES)
def test_malformed_json_has_a_code_of_its_own(idle: Server, version: str, path: str) -> None:
    answer = idle.http.post(
        f"/{version}/{path}", content=b'{"url": "https://a.example"', headers={"Content-Type": "application/json"}
    )
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (400, False, "BAD_REQUEST_INVALID_JSON")
    assert "JSON" in told["error"]


@pytest.mark.parametrize("sent", [b"", b"{}", b"[]", b'"text"', b"null", b"7"])
@VERSIONS
def test_a_body_that_holds_no_request_is_bad(idle: Server, version: str, sent: bytes) -> None:
    answer = idle.http.post(f"/{version}/scrape", content=sent, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert answer.json()["code"] in {"BAD_REQUEST", "BAD_REQUEST_INVALID_JSON"}


@VERSIONS
def test_ten_megabytes_are_enough(idle: Server, version: str) -> None:
    body = b'{"url": "' + b"x" * (10 * 1024 * 1024) + b'"}'
    answer = idle.http.post(f"/{version}/scrape", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (413, {"success": False, "error": "Request body is too large"})


def test_a_body_just_below_ten_megabytes_is_read(idle: Server) -> None:
    answer = idle.post("/v2/scrape", url="https://a.example", nonsense="x" * (9 * 1024 * 1024))
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")


def test_any_web_page_may_ask(idle: Server) -> None:
    asked = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-idempotency-key",
    }
    before = idle.http.options("/v2/scrape", headers=asked)
    assert before.status_code in {200, 204}
    assert before.headers["access-control-allow-origin"] == "*"
    assert "POST" in before.headers["access-control-allow-methods"]
    allowed = before.headers["access-control-allow-headers"].lower()
    assert allowed == "*" or all(name in allowed for name in ("authorization", "content-type", "x-idempotency-key"))
    answer = idle.http.get("/v2/concurrency-check", headers={"Origin": "https://app.example"})
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_every_method_may_be_asked_for_by_a_web_page(idle: Server, method: str) -> None:
    before = idle.http.options(
        "/v2/crawl/x", headers={"Origin": "https://app.example", "Access-Control-Request-Method": method}
    )
    assert method in before.headers["access-control-allow-methods"]


def test_errors_too_may_be_read_by_a_web_page(idle: Server) -> None:
    answer = idle.http.post("/v2/scrape", json={}, headers={"Origin": "https://app.example"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (400, "*")


@pytest.mark.parametrize("path", ["/v2/nothing", "/v1/nothing", "/v3/scrape", "/nothing"])
def test_a_route_that_is_none_is_not_found(idle: Server, path: str) -> None:
    assert idle.get(path).status_code == 404
    assert idle.post(path, url="https://a.example").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/v1/extract", "/v2/extract", "/v1/llmstxt", "/v1/deep-research"],
)
def test_deprecated_routes_say_so(idle: Server, path: str) -> None:
    answer = idle.post(path, url="https://a.example")
    assert answer.headers.get("deprecation") == "true"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v0/scrape"),
        ("POST", "/v0/crawl"),
        ("GET", "/v0/crawl/status/x"),
        ("POST", "/v2/agent"),
        ("POST", "/v2/browser"),
        ("POST", "/v2/interact"),
        ("POST", "/v2/monitor"),
        ("GET", "/v2/monitor"),
        ("POST", f"/v2/scrape/{_NOBODY}/interact"),
        ("GET", "/v2/team/activity"),
        ("GET", "/v2/team/siem"),
        ("POST", "/v1/llmstxt"),
        ("POST", "/v1/deep-research"),
        ("POST", "/v2/support/ask"),
        ("POST", "/v2/feedback"),
    ],
)
def test_what_only_the_hosted_service_has_is_missing_in_words(idle: Server, method: str, path: str) -> None:
    answer = idle.ask(method, path, {"url": "https://a.example"} if method == "POST" else None)
    assert answer.status_code in {404, 501}
    assert answer.json()["success"] is False
    assert answer.json()["error"]


def test_paths_ending_in_a_slash_are_the_same_routes(idle: Server) -> None:
    assert idle.get("/v2/concurrency-check/").status_code == 200
