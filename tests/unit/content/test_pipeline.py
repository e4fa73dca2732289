from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perseid.content.pipeline import HEAVY_BYTES, Built, Convert, Failed, Page, build
from perseid.content.sniff import Kind
from perseid.model.options import FORMATS, ScrapeOptions

if TYPE_CHECKING:
    from pathlib import Path

    from perseid.model.document import Document

HTML = b"""<html lang=en><title>T</title><body><nav><a href=/nav>n</a></nav><main><h1>Head</h1>
<p>Some text that is long enough to count as a paragraph, <a href="../b?x=1">with a link</a>.</p>
<p class=ad>Buy this now, it is the very best thing that money can buy.</p>
<p><img src=i.png alt=I><img data-src=/lazy.png src="data:image/gif;base64,R0" alt=L></p></main>
<footer>Foot of the page</footer>"""


def page(
    body: bytes, content_type: str | None = "text/html", *headers: tuple[str, str], url: str = "https://x.example/a/b"
) -> Page:
    first = (("content-type", content_type),) if content_type else ()
    return Page(url, "http://x.example/a/b#c", 200, (*first, *headers), body, 7)


def built(body: bytes, content_type: str | None = "text/html", *headers: tuple[str, str], **options: object) -> Built:
    made = build(page(body, content_type, *headers), ScrapeOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, Built)
    return made


def document(body: bytes, content_type: str | None = "text/html", **options: object) -> Document:
    return built(body, content_type, **options).document


def test_a_page_becomes_a_document_with_all_formats() -> None:
    got = document(HTML, formats=FORMATS)
    assert "[with a link](https://x.example/b?x=1)" in (got.markdown or "")
    assert "![L](https://x.example/lazy.png)" in (got.markdown or "")
    assert "Foot" not in (got.markdown or "")
    assert 'href="https://x.example/b?x=1"' in (got.html or "")
    assert got.raw_html == HTML.decode()
    assert got.links == ["https://x.example/nav", "https://x.example/b?x=1"]
    assert got.images == ["https://x.example/a/i.png", "https://x.example/lazy.png"]
    assert "with a link" in (got.text or "")
    assert got.title == "T"
    assert got.fetched_at == 7


def test_formats_that_were_not_asked_for_are_absent() -> None:
    got = document(HTML, formats=("links",))
    assert (got.markdown, got.html, got.raw_html, got.images, got.text) == (None,) * 5


def test_facts_of_the_exchange_win_over_meta_tags() -> None:
    got = document(b"<meta name=statusCode content=1><meta name=url content=u><meta name=contentType content=x>")
    assert got.metadata == {
        "statusCode": 200, "url": "https://x.example/a/b", "sourceURL": "http://x.example/a/b#c", "contentType": "text/html",
    }  # fmt: skip


def test_the_whole_page_on_request() -> None:
    got = document(HTML, only_main_content=False)
    assert "[n](https://x.example/nav)" in (got.markdown or "")
    assert "Foot of the page" in (got.markdown or "")


def test_excluded_tags_go_and_only_included_ones_stay() -> None:
    assert "Buy this" not in (document(HTML, exclude_tags=(".ad",)).markdown or "")
    assert document(HTML, include_tags=("footer", "h1")).markdown == "# Head\n\nFoot of the page"
    assert document(HTML, include_tags=("main", "h1"), exclude_tags=("p",)).markdown == "# Head"


def test_a_selector_that_is_no_css_is_a_warning() -> None:
    got = document(HTML, exclude_tags=("p[", ".ad"))
    assert "Buy this" not in (got.markdown or "")
    assert any(warning.startswith("selector:") for warning in got.warnings)


def test_hidden_parts_are_no_content() -> None:
    body = b"<p>seen text of some length</p><div hidden>no</div><div style='display: none'>no</div><script>no</script>"
    assert document(body, only_main_content=False).markdown == "seen text of some length"


def test_a_late_base_counts(shared: Path) -> None:
    records = (json.loads(line) for line in (shared / "cases" / "cases.jsonl").read_text().splitlines())
    record = next(record for record in records if record["id"] == "E07")
    html = record["input"]["html"].replace("6000 filler characters", "x" * 6000)
    made = build(page(html.encode(), url=record["input"]["page_url"]), ScrapeOptions(formats=("links",)))
    assert isinstance(made, Built)
    assert made.document.links == record["expected"]["links"]


def test_hrefs_are_as_written_and_the_base_comes_along() -> None:
    got = built(
        b"<base href=/z/><a href='q?1#f'>a</a><a href='javascript:x'>b</a><a href='q?1#f'>c</a>", formats=("links",)
    )
    assert got.base == "https://x.example/z/"
    assert got.hrefs == ["q?1#f", "javascript:x"]
    assert got.document.links == ["https://x.example/z/q?1#f"]


@pytest.mark.parametrize(
    ("html", "headers", "flags"),
    [
        (b"<meta name=robots content='noindex,nofollow'>x", (), (True, True)),
        (b"x", (("x-robots-tag", "noindex"),), (True, False)),
        (b"x", (("x-robots-tag", "otherbot: noindex"),), (False, False)),
    ],
)
def test_robots_flags_of_page_and_header(
    html: bytes, headers: tuple[tuple[str, str], ...], flags: tuple[bool, bool]
) -> None:
    got = built(html, "text/html", *headers)
    assert (got.noindex, got.nofollow) == flags


def test_formulas_in_scripts_survive_the_main_content_step() -> None:
    body = (
        b"<main><p>The sum of all parts of the whole is said to be "
        b"<span class=MathJax_Preview>x</span><script type='math/tex'>\\sum_{i<n} x_i * y</script> by those who know.</p></main>"
    )
    assert "$\\sum_{i<n} x_i * y$" in (document(body).markdown or "")


@pytest.mark.parametrize(
    ("body", "label", "markdown"),
    [
        (b'{"a":1}', "application/json", '```json\n{\n  "a": 1\n}\n```'),
        (b"<?xml version='1.0'?><a>b</a>", "text/xml", "```xml\n<?xml version='1.0'?><a>b</a>\n```"),
        (b"plain *text*", "text/plain", "plain *text*"),
        (b"# T\n\n[a](b)", "text/markdown", "# T\n\n[a](b)"),
    ],
)
def test_text_that_is_no_html(body: bytes, label: str, markdown: str) -> None:
    assert document(body, label).markdown == markdown


def test_links_in_markdown_bodies_are_found() -> None:
    got = built(b"# T\n\n[a](b) <https://y.example/>", "text/markdown", formats=("links",))
    assert got.document.links == ["https://x.example/a/b", "https://y.example/"]
    assert got.document.title == "T"


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n", b"PK\x03\x04xl/[Content_Types].xml", b"\x1f\x8b\x08"])
def test_files_without_a_converter_fail_by_name(body: bytes) -> None:
    made = build(page(body), ScrapeOptions())
    assert isinstance(made, Failed)
    assert made.code == "unsupported_file"
    assert any(kind in made.message for kind in ("image", "xlsx", "archive"))


def test_a_word_document_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    word = page(b"PK\x03\x04word/[Content_Types].xml")
    assert build(word, ScrapeOptions()) == Convert(Kind.DOCX)
    monkeypatch.setattr("perseid.content.pipeline.office_installed", lambda: False)
    made = build(word, ScrapeOptions())
    assert isinstance(made, Failed)
    assert (made.code, 'pip install "perseid[office]"' in made.message) == ("unsupported_file", True)


def test_pdf_and_heavy_html_ask_for_a_process_of_their_own() -> None:
    assert build(page(b"%PDF-1.7"), ScrapeOptions()) == Convert(Kind.PDF)
    assert build(page(b"<p>x" * HEAVY_BYTES), ScrapeOptions()) == Convert(Kind.HTML)


def test_an_empty_body_is_an_empty_document_with_a_warning() -> None:
    got = document(b" \n")
    assert got.markdown == ""
    assert got.warnings


def test_an_error_page_is_built_too() -> None:
    made = build(page(HTML)._replace(status=404), ScrapeOptions())
    assert isinstance(made, Built)
    assert (made.document.metadata["statusCode"], made.document.metadata["error"]) == (404, "Not Found")
    assert "error" not in document(HTML).metadata


@given(
    st.binary(max_size=400)
    | st.text(alphabet="<>/=\"' abdipthrefulmx&#;!-[]`*_|\n\ud800\0é", max_size=400).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_become_something_encodable(body: bytes) -> None:
    made = build(page(b"<main>" + body), ScrapeOptions(formats=FORMATS))
    if isinstance(made, Built):
        for text in (made.document.markdown, made.document.html, made.document.text, *(made.document.links or [])):
            assert "\0" not in (text or "")
            (text or "").encode()


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<span class=t-lines><span>begin</span><span>cbegin</span><span></span></span>", "begin  \ncbegin"),
        ("<span class=lines><span>a</span> <span>b</span></span>", "a b"),
        ("<span class=lines><span>a </span><span>b</span></span>", "a b"),
        ("<span class=word><span>a</span><span>b</span></span>", "ab"),
    ],
)
def test_lines_that_only_a_style_sheet_breaks_are_not_fused(html: str, markdown: str) -> None:
    assert document(f"<p>{html}</p>".encode(), only_main_content=False).markdown == markdown


def test_hidden_parts_are_left_out() -> None:
    html = "<p>seen, all of it</p><p hidden>a</p><p style='color:red;display: none'>b</p><p style='color:red'>c</p>"
    assert document(html.encode(), only_main_content=False).markdown == "seen, all of it\n\nc"
