"""Files sent over HTTP."""

from __future__ import annotations

import json

import pytest

from .conftest import Api

HTML = b"<title>Report</title><main><h1>Report</h1><p>All is well with the <b>stones</b>.</p></main>"


def send(api: Api, name: str = "report.html", data: bytes = HTML, kind: str = "text/html", **options: object):
    return api.http.post("/v2/parse", files={"file": (name, data, kind)}, data={"options": json.dumps(options)})


def test_a_file_becomes_a_page(idle: Api) -> None:
    told = send(idle, formats=["markdown", "html"], origin="test").json()
    assert told["success"] is True
    assert "**stones**" in told["data"]["markdown"]
    assert (told["data"]["metadata"]["sourceURL"], told["data"]["metadata"]["statusCode"]) == ("report.html", 200)


def test_a_file_needs_no_options(idle: Api) -> None:
    answer = idle.http.post("/v2/parse", files={"file": ("a.html", HTML, "text/html")})
    assert "**stones**" in answer.json()["data"]["markdown"]


def test_a_file_may_be_uploaded_first(idle: Api) -> None:
    place = idle.told("/v2/parse/upload-url", filename="report.html")
    assert idle.http.put(place["uploadUrl"].removeprefix(idle.base), content=HTML).status_code == 200
    told = idle.told("/v2/parse", uploadRef=place["uploadRef"], formats=["markdown"])
    assert "**stones**" in told["data"]["markdown"]
    assert idle.post("/v2/parse", uploadRef=place["uploadRef"]).status_code == 404


def test_nobody_uploads_to_an_address_of_nobody(idle: Api) -> None:
    assert idle.http.put("/v2/parse/upload/none", content=b"x").status_code == 404


@pytest.mark.parametrize(("name", "kind"), [("song.mp3", "audio/mpeg"), ("noname", "application/octet-stream")])
def test_kinds_of_files_that_are_not_taken(idle: Api, name: str, kind: str) -> None:
    answer = send(idle, name, b"x", kind)
    assert (answer.status_code, answer.json()["code"]) == (400, "UNSUPPORTED_FILE_TYPE")


@pytest.mark.parametrize(
    "options",
    [
        {"actions": [{"type": "scrape"}]},
        {"waitFor": 1},
        {"location": {"country": "de"}},
        {"mobile": True},
        {"proxy": "stealth"},
        {"formats": ["screenshot"]},
        {"formats": ["branding"]},
        {"formats": ["markdown", "changeTracking"]},
    ],
)
def test_options_that_only_a_site_can_answer_to(idle: Api, options: dict[str, object]) -> None:
    answer = send(idle, **options)
    assert (answer.status_code, answer.json()["code"]) == (400, "PARSE_UNSUPPORTED_OPTIONS")


def test_a_form_without_a_file(idle: Api) -> None:
    answer = idle.http.post("/v2/parse", files={"other": ("a.html", HTML, "text/html")})
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")


def test_options_that_are_no_json(idle: Api) -> None:
    answer = idle.http.post("/v2/parse", files={"file": ("a.html", HTML, "text/html")}, data={"options": "{nope"})
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST_INVALID_JSON")


def test_the_formats_that_are_read_are_listed(idle: Api) -> None:
    formats = {each["format"]: each["available"] for each in idle.told("/v2/parse/formats")["data"]["formats"]}
    assert (formats["pdf"], formats["xls"]) == (True, False)
