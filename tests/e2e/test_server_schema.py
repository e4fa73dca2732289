"""The description of the interface and the server it describes, held against each other by requests made from it.

PERSEID_SCHEMA_EXAMPLES says how many requests each operation is sent (of each kind: valid, and broken on purpose).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from perseid.api.app import create_app
from perseid.config.settings import Settings
from perseid.testing import in_thread
from perseid.testing.service import serving
from perseid.testing.site import Site

EXAMPLES = int(os.environ.get("PERSEID_SCHEMA_EXAMPLES", "6"))
DOCUMENT = create_app(lambda: contextlib.nullcontext(None), Settings()).openapi()  # type: ignore[arg-type, return-value]  # described, never entered
OPERATIONS = [found.ok() for found in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]
UNKNOWN = "4a6f1b0e-3c7e-4b57-9f4e-0d6a3a0f1c11"
# Uploads go to an address that was handed out to somebody with a key, and that nobody can guess.
_KEYLESS = re.compile(r"GET /($|health|v0/health|e2e-test|is-production)|PUT /v2/parse/upload/")
_STREAMS = "GET /api/crawls/{crawl_id}/events"
# A page that can't be read is a 500 with a code of its own in Firecrawl's contract.
_UNREAD = re.compile(r"(POST|GET) /v[12]/scrape")

load_all_checks()
_CONFORMANCE = CHECKS.get_by_names(
    [
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    ]
)


class Api(NamedTuple):
    url: str
    site: str
    uids: list[str]
    """Of a crawl, a batch and a scrape that are there."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    pages = Site()
    with in_thread(pages):
        pages.links({"/": ["/a", "/b"], "/a": ["/gone"]})
        pages.respond("/gone", 404, body="<title>Gone</title>")
        yield pages.url("/")


@pytest.fixture(scope="module")
def api(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("schema"), environment={"PERSEID_TEAM__REQUESTS_PER_MINUTE": "0"}) as (url, _):
        uids = [
            _post(url, "/v2/crawl", {"url": site})["id"],
            _post(url, "/v2/batch/scrape", {"urls": [site, f"{site}gone"]})["id"],
            _post(url, "/v2/scrape", {"url": site})["data"]["metadata"]["scrapeId"],
        ]
        yield Api(url, site, uids)


def test_the_server_hands_out_the_description_that_is_tested_here(api: Api) -> None:
    with urlopen(f"{api.url}/openapi.json", timeout=30) as answer:
        assert json.load(answer) == DOCUMENT


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_whatever_is_asked_the_answer_is_one_that_is_described(api: Api, operation: Any, mode: GenerationMode) -> None:
    if mode is GenerationMode.NEGATIVE and not _can_be_wrong(operation):
        pytest.skip("nothing in it can be wrong")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), known=st.sampled_from([*api.uids, UNKNOWN, None]))
    def asked(case: Case, known: str | None) -> None:
        _aim(case, api, known if mode is GenerationMode.POSITIVE else None)
        _check(case, case.call(base_url=api.url, timeout=60))

    asked()


def _can_be_wrong(operation: Any) -> bool:
    bodies = [body for body in operation.body if body.media_type != "application/octet-stream"]
    texts = (place.definition["schema"].get("type") == "string" for place in operation.path_parameters)
    return bool(bodies or operation.query or not all(texts))


def _aim(case: Case, api: Api, known: str | None) -> None:
    """At what is there: the site instead of the examples' hosts, and jobs that exist beside those that don't."""
    case.body = _at_site(case.body, api.site)
    for name in ("job_id", "crawl_id"):
        if known is not None and name in case.path_parameters:
            case.path_parameters[name] = known


def _at_site(value: Any, site: str) -> Any:
    match value:
        case str() if "example" in value:
            return re.sub(r"https?://[\w.]*example\.\w+/", site, value)
        case dict():
            return {name: _at_site(inner, site) for name, inner in value.items()}
        case list():
            return [_at_site(inner, site) for inner in value]
    return value


def _check(case: Case, response: Any) -> None:
    label = case.operation.label
    if response.status_code >= 500:
        assert response.status_code in {500, 501, 503}, response.text
        if response.status_code == 500:
            assert _UNREAD.match(label), response.text
            assert response.json()["code"] != "UNKNOWN_ERROR", response.text
    if not (label == _STREAMS and response.status_code == 200):
        case.validate_response(response, checks=_CONFORMANCE)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    environment = {"PERSEID_API__KEYS": "fc-the-only-one"}
    with serving(tmp_path_factory.mktemp("locked"), workers=0, environment=environment) as (url, _process):
        yield url


@pytest.mark.parametrize("token", [None, "fc-of-nobody"], ids=["no key", "an unknown key"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_without_a_key_there_is_a_401_that_is_described_and_nothing_else(
    locked: str, operation: Any, token: str | None
) -> None:
    case = operation.Case(
        path_parameters={name: "1" if name in {"job", "number"} else UNKNOWN for name in _path_names(operation)},
        headers={} if token is None else {"Authorization": f"Bearer {token}"},
        query={"url": "https://example.org/"} if operation.path == "/api/explain" else {},
    )
    if operation.method.upper() in {"POST", "PATCH", "PUT"}:
        case.body, case.media_type = {}, "application/json"
    response = case.call(base_url=locked, timeout=30)
    if _KEYLESS.match(operation.label):
        assert response.status_code in {200, 404}
    else:
        assert response.status_code == 401, response.text
        assert response.headers["www-authenticate"][0].startswith("Bearer")
    case.validate_response(response, checks=_CONFORMANCE)


def _path_names(operation: Any) -> list[str]:
    return re.findall(r"\{(\w+)\}", operation.path)


def test_methods_and_paths_that_are_not_described_are_refused_in_the_form_of_their_kind(locked: str) -> None:
    described = {(path, method.upper()) for path, item in DOCUMENT["paths"].items() for method in item}
    for path in DOCUMENT["paths"]:
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - {
            method for known, method in described if known == path
        }:
            status, content_type = _ask(locked, method, re.sub(r"\{\w+\}", UNKNOWN, path))
            assert status in {401, 405}, (method, path)
            wanted = "application/json" if path.startswith(("/v0/", "/v1/", "/v2/")) else "application/problem+json"
            assert content_type == wanted, (method, path)


def _ask(url: str, method: str, path: str) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("content-type")


def _post(url: str, path: str, body: Any) -> Any:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.load(connection.getresponse())
