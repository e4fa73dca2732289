"""Files sent instead of addresses."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from .conftest import Server
from .file import docx, pdf

HTML = b"<title>Report</title><nav>Menu</nav><main><h1>Report</h1><p>All about <b>stones</b>.</p></main>"


def send(server: Server, name: str, data: bytes, options: dict[str, Any] | None = None) -> httpx.Response:
    form = {} if options is None else {"options": json.dumps(options)}
    return server.http.post("/v2/parse", files={"file": (name, data)}, data=form)


@pytest.mark.parametrize("name", ["a.html", "a.htm", "a.xhtml", "A.HTML"])
def test_a_page_is_read(idle: Server, name: str) -> None:
    told = send(idle, name, HTML).json()
    assert told["success"] is True
    assert set(told["data"]) == {"markdown", "metadata"}
    assert told["data"]["markdown"] == "# Report\n\nAll about **stones**."
    metadata = told["data"]["metadata"]
    assert (metadata["sourceURL"], metadata["statusCode"], metadata["title"]) == (name, 200, "Report")
    assert metadata["proxyUsed"] == "basic"
    assert isinstance(metadata["url"], str)


def test_options_are_those_of_scrapes(idle: Server) -> None:
    told = send(idle, "a.html", HTML, {"formats": ["rawHtml", "html"], "onlyMainContent": False, "origin": "js-sdk@4"})
    assert set(told.json()["data"]) == {"rawHtml", "html", "metadata"}
    assert told.json()["data"]["rawHtml"] == HTML.decode()


def test_a_pdf_is_read(idle: Server) -> None:
    told = send(idle, "a.pdf", pdf("Of stones", pages=2)).json()["data"]
    assert ("Of stones" in told["markdown"], told["metadata"]["numPages"]) == (True, 2)


def test_a_word_document_is_read(idle: Server) -> None:
    assert "Of stones" in send(idle, "a.docx", docx("Of stones")).json()["data"]["markdown"]


@pytest.mark.parametrize(("name", "part"), [("a.xlsx", b"xl/"), ("a.pptx", b"ppt/")])
def test_kinds_that_can_not_be_read_yet(idle: Server, name: str, part: bytes) -> None:
    answer = send(idle, name, b"PK\x03\x04[Content_Types].xml " + part)
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (400, False, "UNSUPPORTED_FILE_TYPE")
    assert name[2:] in told["error"]


@pytest.mark.parametrize("name", ["a.mp3", "a.png", "a.exe", "a.zip", "noname", "a."])
def test_kinds_that_are_not_taken(idle: Server, name: str) -> None:
    answer = send(idle, name, b"x")
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (400, False, "UNSUPPORTED_FILE_TYPE")


@pytest.mark.parametrize(
    "options",
    [
        {"actions": [{"type": "scrape"}]},
        {"formats": ["screenshot"]},
        {"formats": ["branding"]},
        {"formats": ["markdown", "changeTracking"]},
        {"waitFor": 1},
        {"location": {"country": "DE"}},
        {"mobile": True},
        {"proxy": "stealth"},
        {"proxy": "enhanced"},
    ],
)
def test_what_only_a_site_can_do_is_refused(idle: Server, options: dict[str, Any]) -> None:
    answer = send(idle, "a.html", HTML, options)
    told = answer.json()
    assert (answer.status_code, told["success"], told["code"]) == (400, False, "PARSE_UNSUPPORTED_OPTIONS")


@pytest.mark.parametrize(
    "options", [{"proxy": "auto"}, {"proxy": "basic"}, {"waitFor": 0}, {"mobile": False}, {"actions": []}]
)
def test_what_asks_for_nothing_is_accepted(idle: Server, options: dict[str, Any]) -> None:
    assert send(idle, "a.html", HTML, options).status_code == 200


@pytest.mark.parametrize("options", [{"nonsense": 1}, {"formats": ["rawBase64"]}, {"timeout": 1}])
def test_options_are_validated(idle: Server, options: dict[str, Any]) -> None:
    answer = send(idle, "a.html", HTML, options)
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_options_that_are_no_json(idle: Server) -> None:
    answer = idle.http.post("/v2/parse", files={"file": ("a.html", HTML)}, data={"options": "{"})
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_a_form_without_a_file(idle: Server) -> None:
    answer = idle.http.post("/v2/parse", files={"other": ("a.html", HTML)})
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_a_file_may_be_uploaded_first(idle: Server) -> None:
    told = idle.told("/v2/parse/upload-url", filename="a.html")
    place = told.get("data", told)
    put = idle.http.put(place["uploadUrl"], content=HTML)
    assert put.status_code in {200, 201, 204}
    document = idle.told("/v2/parse", uploadRef=place["uploadRef"], formats=["markdown"])["data"]
    assert "**stones**" in document["markdown"]
    assert document["metadata"]["sourceURL"] == "a.html"


def test_an_upload_that_nobody_made(idle: Server) -> None:
    answer = idle.post("/v2/parse", uploadRef="nonsense")
    assert answer.status_code in {400, 404}
    assert answer.json()["success"] is False


def test_there_is_no_parse_in_version_1(idle: Server) -> None:
    assert idle.http.post("/v1/parse", files={"file": ("a.html", HTML)}).status_code == 404
