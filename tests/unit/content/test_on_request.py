"""What a page gives only to those who ask for it."""

from __future__ import annotations

from base64 import b64encode

import pytest

from perseid.content.pipeline import Built, Page, build
from perseid.model.document import AttributeValues, Document
from perseid.model.options import AttributeQuery, ScrapeOptions

PIXEL = "data:image/png;base64,iVBORw0KGgo="
ARTICLE = "<h1>Bridges</h1>" + "".join(
    f"<p>{text}</p>"
    for text in (
        "The history of bridges shows how stone and iron were joined by people who knew their rivers well.",
        "They built for floods that came once in a century, and most of what they built is standing today.",
        "Arches carry their load to the banks; beams carry it to piers, and ropes to towers on both sides.",
        "What none of them was built for is the weight of traffic that crosses them from morning to night.",
    )
)


def document(body: str | bytes, content_type: str = "text/html", **options: object) -> Document:
    data = body.encode() if isinstance(body, str) else body
    page = Page("https://x.example/a/b", "https://x.example/a/b", 200, (("content-type", content_type),), data, 7)
    made = build(page, ScrapeOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, Built)
    return made.document


@pytest.mark.parametrize(
    ("body", "label"), [(b"<p>caf\xe9</p>", "text/html"), (b"\x89PNG\r\n\x1a\n\0", "image/png"), (b"%PDF-1.7", "x/y")]
)
def test_the_bytes_of_any_body(body: bytes, label: str) -> None:
    got = document(body, label, formats=("rawBase64",))
    assert (got.raw_base64, got.markdown) == (b64encode(body).decode(), None)
    assert got.metadata["contentType"] == label


def test_no_format_at_all_leaves_the_metadata() -> None:
    got = document("<title>T</title><p>x</p>", formats=())
    assert got.metadata["title"] == "T"
    assert (got.markdown, got.html, got.links) == (None, None, None)


def test_attributes_of_what_selectors_match_anywhere_on_the_page() -> None:
    got = document(
        f'<nav><a href="/n" data-id="1">n</a></nav><main>{ARTICLE}<a DATA-ID="2">m</a><a>none</a></main>',
        attributes=(AttributeQuery("a", "data-id"), AttributeQuery("nav > a", "href"), AttributeQuery("b", "x")),
        exclude_tags=("nav",),
    )
    assert got.attributes == [
        AttributeValues("a", "data-id", ["1", "2"]),
        AttributeValues("nav > a", "href", ["/n"]),
        AttributeValues("b", "x", []),
    ]
    assert document("{}", "application/json", attributes=(AttributeQuery("a", "b"),)).attributes == [
        AttributeValues("a", "b", [])
    ]
    assert document("<p>x").attributes is None


def links(html: str, **options: object) -> list[str] | None:
    return document(html, formats=("links",), links_of_content=True, **options).links


def test_links_of_the_content_alone() -> None:
    html = (
        f'<nav><a href="/n">n</a></nav><main>{ARTICLE}<p>More is in <a href="../m?x">the archive</a> of the town, which is open all day; '
        f'write to <a href="mailto:a@b.c">the keeper</a> before you come.</p></main>'
    )
    assert links(html) == ["https://x.example/m?x", "mailto:a@b.c"]
    assert links(html, only_main_content=False) == ["https://x.example/n", "https://x.example/m?x", "mailto:a@b.c"]
    assert links(html, include_tags=("nav a",)) == ["https://x.example/n"]
    assert links(html, only_main_content=False, exclude_tags=("main",)) == ["https://x.example/n"]
    assert document(html, formats=("links",)).links == links(html, only_main_content=False)


def test_links_of_the_content_beside_other_formats() -> None:
    got = document(
        f'<nav><a href="/n">n</a></nav><main>{ARTICLE}<p>Read on in <a href="/m">the book</a> about it.</p></main>',
        formats=("markdown", "html", "links"),
        links_of_content=True,
    )
    assert got.links == ["https://x.example/m"]
    assert "[the book](https://x.example/m)" in (got.markdown or "")


IMAGES = (
    f'<p>before <img alt="A [b]" src="{PIXEL}" title="T"> after</p>'
    f'<p><img alt="lazy" src="{PIXEL}" data-src="/l.png"></p>'
    f'<picture><source srcset="/p.webp 2x"><img alt="pick" src="{PIXEL}"></picture>'
    f'<table><tr><th>x</th><th>y</th></tr><tr><td><img src="{PIXEL}"></td><td>z</td></tr></table>'
)


def test_images_in_the_page_are_placeholders_in_markdown_and_stay_in_html() -> None:
    got = document(IMAGES, formats=("markdown", "html"), only_main_content=False, remove_base64_images=True)
    markdown = got.markdown or ""
    assert '![A \\[b\\]](<Base64-Image-Removed> "T")' in markdown
    assert "![lazy](https://x.example/l.png)" in markdown
    assert "![pick](https://x.example/p.webp)" in markdown
    assert "| ![](<Base64-Image-Removed>) | z |" in markdown
    assert "base64" not in markdown
    assert (got.html or "").count(PIXEL) == 4
    assert got.warnings == []


def test_images_in_the_page_are_kept_on_request() -> None:
    markdown = document(IMAGES, only_main_content=False, remove_base64_images=False).markdown or ""
    assert f'![A \\[b\\]]({PIXEL} "T")' in markdown
    assert markdown.count(PIXEL) == 2


def test_what_would_end_a_link_target_is_encoded_in_an_image() -> None:
    svg = "data:image/svg+xml,<svg a='(1)'> </svg>"
    markdown = document(
        f'<p>x <img alt=s src="{svg}"></p>', only_main_content=False, remove_base64_images=False
    ).markdown
    assert markdown == "x ![s](data:image/svg+xml,%3Csvg%20a='%281%29'%3E%20%3C/svg%3E)"


def test_images_in_the_page_are_left_out_by_default() -> None:
    markdown = document(f'<p>x <img alt=s src="{PIXEL}"> y</p>', only_main_content=False).markdown
    assert markdown == "x s y"


FRAMES = (
    "<p>outside</p>"
    '<iframe id=one srcdoc="<html><body><h2>Inside</h2><a href=q>link</a></body></html>">no frames</iframe>'
    '<iframe src="data:text/html,<p>from data</p>"></iframe>'
    '<iframe src="/video" title="A film"></iframe>'
)


def test_frames_are_what_they_hold_to_selectors_that_name_them() -> None:
    got = document(FRAMES, formats=("markdown", "html"), include_tags=("iframe",))
    assert got.markdown == (
        "## Inside\n\n[link](https://x.example/a/q)\n\nfrom data\n\n[A film](https://x.example/video)"
    )
    assert (got.html or "").count('data-original-tag="iframe"') == 3


def test_a_frame_among_others_can_be_named() -> None:
    assert document(FRAMES, include_tags=("iframe#one h2",)).markdown == "## Inside"
    assert document(FRAMES, include_tags=("body",), exclude_tags=("iframe",)).markdown == "outside"


def test_a_page_of_many_frames_is_read_all_the_same() -> None:
    body = "<p>x</p>" + "<iframe srcdoc='<b>y</b>'>" * 1000
    assert "y" in (document(body, include_tags=("iframe",)).markdown or "")
    assert document("<p>x<iframe '" * 1000, include_tags=("p, iframe",)).markdown


def test_attributes_are_those_of_the_page_as_it_was_sent_with_frames_too() -> None:
    got = document(FRAMES, include_tags=("iframe",), attributes=(AttributeQuery("iframe", "title"),))
    assert got.attributes == [AttributeValues("iframe", "title", ["A film"])]
