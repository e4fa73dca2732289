"""What a document holds: the formats that were asked for, made as the contract says, and nothing else."""

from __future__ import annotations

import base64
import re

import pytest

from perseid.testing import Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
PAGE = """<!doctype html><html lang="en"><head><title>Stones</title></head><body>
<nav><a href="/nav">Navigation</a></nav>
<main><h1>Stones</h1><p>All about <b>stones</b> and <a href="deep/er">more</a> of them, at length and in detail.</p>
<p class="odd" data-odd="1">Something odd <a href="https://else.example/x#y">elsewhere</a>.</p>
<img src="/i.png" alt="A stone"><img src="data:image/png;base64,AAAA" alt="Inline"></main>
<footer>Imprint</footer><script>var x = 1;</script></body></html>"""


@pytest.fixture(scope="module")
def stones(web: Site) -> str:
    web.page("/formats/stones", PAGE)
    return web.url("/formats/stones")


@VERSIONS
@pytest.mark.parametrize("wanted", ["markdown", "html", "rawHtml", "links"])
def test_only_what_was_asked_for_is_there(server: Server, stones: str, version: str, wanted: str) -> None:
    assert set(server.page(stones, version=version, formats=[wanted])) == {wanted, "metadata"}


@VERSIONS
def test_markdown_is_what_is_made_unasked(server: Server, stones: str, version: str) -> None:
    assert set(server.page(stones, version=version)) == {"markdown", "metadata"}


@VERSIONS
def test_no_formats_leave_metadata(server: Server, stones: str, version: str) -> None:
    assert set(server.page(stones, version=version, formats=[])) == {"metadata"}


def test_a_format_is_a_name_or_an_object(server: Server, stones: str) -> None:
    assert server.page(stones, formats=[{"type": "html"}])["html"] == server.page(stones, formats=["html"])["html"]


def test_a_format_asked_for_twice_is_there_once(server: Server, stones: str) -> None:
    assert set(server.page(stones, formats=["markdown", "markdown"])) == {"markdown", "metadata"}


@VERSIONS
def test_markdown_is_of_the_main_content_with_absolute_links(
    server: Server, web: Site, stones: str, version: str
) -> None:
    told = server.page(stones, version=version)["markdown"]
    assert told.startswith("# Stones\n\nAll about **stones** and")
    assert f"[more]({web.url('/formats/deep/er')})" in told
    assert "Navigation" not in told
    assert "Imprint" not in told


def test_the_whole_page_can_be_had(server: Server, stones: str) -> None:
    told = server.page(stones, onlyMainContent=False)["markdown"]
    assert "Navigation" in told
    assert "Imprint" in told
    assert "var x" not in told


def test_inline_images_leave_their_description(server: Server, stones: str) -> None:
    assert "![Inline](<Base64-Image-Removed>)" in server.page(stones)["markdown"]
    assert "data:image/png;base64,AAAA" in server.page(stones, removeBase64Images=False)["markdown"]


def test_html_keeps_inline_images(server: Server, stones: str) -> None:
    assert "data:image/png;base64,AAAA" in server.page(stones, formats=["html"])["html"]


def test_html_is_cleaned_and_its_addresses_are_absolute(server: Server, web: Site, stones: str) -> None:
    told = server.page(stones, formats=["html"])["html"]
    assert f'href="{web.url("/formats/deep/er")}"' in told
    assert f'src="{web.url("/i.png")}"' in told
    assert "Navigation" not in told
    assert "<script" not in told


@VERSIONS
def test_raw_html_is_the_body_untouched(server: Server, stones: str, version: str) -> None:
    assert server.page(stones, version=version, formats=["rawHtml"])["rawHtml"] == PAGE


@VERSIONS
def test_raw_base64_is_the_body_for_machines(server: Server, stones: str, version: str) -> None:
    told = server.page(stones, version=version, formats=["rawBase64"])
    assert base64.b64decode(told["rawBase64"]).decode() == PAGE


def test_links_are_those_of_the_cleaned_page(server: Server, web: Site, stones: str) -> None:
    main = server.page(stones, formats=["links"])["links"]
    assert main == [web.url("/formats/deep/er"), "https://else.example/x#y"]
    assert web.url("/nav") in server.page(stones, formats=["links"], onlyMainContent=False)["links"]


def test_images_are_absolute(server: Server, web: Site, stones: str) -> None:
    assert web.url("/i.png") in server.page(stones, formats=["images"])["images"]


def test_attributes_come_by_selector(server: Server, stones: str) -> None:
    asked = {"type": "attributes", "selectors": [{"selector": "p.odd", "attribute": "data-odd"}]}
    assert server.page(stones, formats=[asked])["attributes"] == [
        {"selector": "p.odd", "attribute": "data-odd", "values": ["1"]}
    ]


@VERSIONS
def test_tags_are_kept_or_left_out(server: Server, stones: str, version: str) -> None:
    only = server.page(stones, version=version, includeTags=[".odd"])["markdown"]
    assert "Something odd" in only
    assert "All about" not in only
    assert "Something odd" not in server.page(stones, version=version, excludeTags=[".odd"])["markdown"]


@VERSIONS
@pytest.mark.parametrize("wanted", ["summary", "branding"])
def test_what_can_not_be_made_is_missing_with_a_warning(server: Server, stones: str, version: str, wanted: str) -> None:
    told = server.page(stones, version=version, formats=["markdown", wanted])
    assert set(told) == {"markdown", "metadata", "warning"}
    assert wanted in told["warning"]


@pytest.mark.parametrize("wanted", ["screenshot", {"type": "screenshot", "fullPage": True, "quality": 80}])
def test_screenshots_are_missing_with_a_warning(server: Server, stones: str, wanted: object) -> None:
    told = server.page(stones, formats=["markdown", wanted])
    assert set(told) == {"markdown", "metadata", "warning"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "json", "prompt": "What is it?"},
        {"type": "question", "question": "What is it?"},
        {"type": "highlights", "query": "stones"},
        {"type": "query", "prompt": "What is it?"},
    ],
)
def test_what_needs_a_model_is_missing_with_a_warning_where_there_is_none(
    server: Server, stones: str, wanted: object
) -> None:
    told = server.page(stones, formats=["markdown", wanted])
    assert set(told) == {"markdown", "metadata", "warning"}


def test_json_of_version_1_is_missing_with_a_warning_where_there_is_no_model(server: Server, stones: str) -> None:
    told = server.page(stones, version="v1", formats=["json"], jsonOptions={"prompt": "What is it?"})
    assert set(told) == {"metadata", "warning"}


@VERSIONS
def test_json_becomes_a_fenced_block(server: Server, web: Site, version: str) -> None:
    web.respond("/formats/data.json", headers={"Content-Type": "application/json"}, body='{"a": 1}')
    told = server.page(web.url("/formats/data.json"), version=version, formats=["markdown", "rawHtml"])
    assert re.fullmatch(r'```json\n\{\s*"a": 1\s*\}\n```', told["markdown"].strip())
    assert told["rawHtml"] == '{"a": 1}'


@VERSIONS
def test_plain_text_passes_as_it_is(server: Server, web: Site, version: str) -> None:
    text = "# Not *markup*\n  but <text>\n"
    web.respond("/formats/plain.txt", headers={"Content-Type": "text/plain"}, body=text)
    assert server.page(web.url("/formats/plain.txt"), version=version)["markdown"].rstrip() == text.rstrip()


def test_a_page_whose_main_content_is_blank_is_taken_whole(server: Server, web: Site) -> None:
    web.page("/formats/blank", "<body><nav><p>Only this navigation has any text on it.</p></nav><main></main></body>")
    assert "Only this navigation" in server.page(web.url("/formats/blank"))["markdown"]


def test_changes_are_told_from_one_scrape_to_the_next(server: Server, web: Site) -> None:
    path = "/formats/changes"
    asked = ["markdown", {"type": "changeTracking", "modes": ["git-diff"]}]
    found = []
    for text in ("One stone lies here.", "One  stone lies here.", "Two stones lie here."):
        web.page(path, f"<main><h1>Stones</h1><p>{text}</p></main>")
        found.append(server.page(web.url(path), formats=asked, maxAge=0)["changeTracking"])
    assert [each["changeStatus"] for each in found] == ["new", "same", "changed"]
    assert found[0]["previousScrapeAt"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found[1]["previousScrapeAt"])
    assert {each["visibility"] for each in found} == {"visible"}
    assert ["diff" in each for each in found] == [False, False, True]
    assert "+Two stones lie here." in found[2]["diff"]["text"]
    [file] = found[2]["diff"]["json"]["files"]
    kinds = {change["type"] for chunk in file["chunks"] for change in chunk["changes"]}
    assert {"add", "del"} <= kinds


def test_a_page_that_is_gone_is_removed(server: Server, web: Site) -> None:
    path = "/formats/going"
    web.page(path, "<main><h1>Here</h1><p>Still here.</p></main>")
    server.page(web.url(path), formats=["markdown", "changeTracking"], maxAge=0)
    web.respond(path, 404, body="<h1>Gone</h1>")
    told = server.page(web.url(path), formats=["markdown", "changeTracking"], maxAge=0)
    assert told["changeTracking"]["changeStatus"] == "removed"


def test_tags_of_changes_are_apart(server: Server, web: Site) -> None:
    web.page("/formats/tagged", "<main><h1>Tagged</h1></main>")
    states = [
        server.page(web.url("/formats/tagged"), formats=["markdown", {"type": "changeTracking", "tag": tag}], maxAge=0)[
            "changeTracking"
        ]["changeStatus"]
        for tag in ("a", "b", "a")
    ]
    assert states == ["new", "new", "same"]


def test_an_empty_file_of_markdown_keys_is_never_null(server: Server, stones: str) -> None:
    told = server.page(stones, formats=["markdown", "html", "rawHtml", "links", "images"])
    assert None not in told.values()
    assert None not in told["metadata"].values()
