from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.dom import tree, url
from perseid.links.discover import Discovered, Refresh, discover

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "https://e.example/d/page.html"

backends = pytest.fixture(params=["turbohtml", "lexbor"])


@backends
def backend(request: pytest.FixtureRequest) -> Any:
    return request.param


def found(html: str, backend: Any = "auto", page: str = PAGE) -> Discovered:
    return discover(tree.parse(html, backend=backend), page)


def links(html: str, page: str = PAGE, backend: Any = "auto") -> list[str | None]:
    each = found(html, backend, page)
    return url.Base(each.base).join_all(each.hrefs)


def test_anchors_are_found_in_document_order_each_once(backend: Any) -> None:
    html = '<a href="b">1</a><p><A HREF=a>2</A><a href="b">3</a><a name=x>4</a><a href>5</a>'
    assert found(html, backend).hrefs == ["b", "a", ""]


def test_links_of_all_kinds_keep_the_order_of_the_document(backend: Any) -> None:
    html = (
        "<a href=1>x</a><map><area href=2></map><iframe src=3></iframe><a href=4>x</a>"
        "<table><tr data-href=5><td><a href=# data-url=6>x</a></td></tr></table><div data-url=7></div>"
    )
    assert found(html, backend).hrefs == ["1", "2", "3", "4", "5", "#", "6", "7"]


def test_an_href_on_another_element_means_nothing(backend: Any) -> None:
    assert found("<div href=no data-href=yes></div><li href=no data-url=too>", backend).hrefs == ["yes", "too"]


def test_embedded_documents_are_links(backend: Any) -> None:
    html = "<embed src=a.pdf><object data=b.pdf></object><object type=x></object><embed>"
    assert found(html, backend).hrefs == ["a.pdf", "b.pdf"]


def test_frames_of_a_frameset_are_links(backend: Any) -> None:
    assert found("<frameset cols=2><frame src=menu.html><frame src=main.html></frameset>", backend).hrefs == [
        "menu.html",
        "main.html",
    ]


@pytest.mark.parametrize("rel", ["next", "prev", "canonical", "NEXT", "first up", "alternate", "alternate next"])
def test_link_elements_that_name_pages_are_followed(rel: str, backend: Any) -> None:
    assert found(f'<link rel="{rel}" href="p2">', backend).hrefs == ["p2"]


@pytest.mark.parametrize(
    "link",
    [
        "rel=stylesheet href=x",
        "rel=icon href=x",
        "rel='alternate stylesheet' href=x",
        "rel=alternate type='application/rss+xml' href=x",
        "rel=alternate type='application/atom+xml; charset=utf-8' href=x",
        "rel=alternate type='application/json+oembed' href=x",
        "rel=preload href=x",
        "rel=dns-prefetch href=x",
        "rel=next",
        "rel=next href=''",
        "href=x",
        "rel='' href=x",
    ],
)
def test_feeds_styles_and_hints_are_not(link: str, backend: Any) -> None:
    assert found(f"<link {link}>", backend).hrefs == []


def test_other_languages_are_followed(backend: Any) -> None:
    html = '<link rel=alternate hreflang=de type="text/html" href="/de/"><link rel=alternate hreflang=fr href="/fr/">'
    assert found(html, backend).hrefs == ["/de/", "/fr/"]


def test_the_canonical_url_is_absolute_and_the_first(backend: Any) -> None:
    html = '<base href="/b/"><link rel=canonical href="c"><link rel=canonical href="other">'
    assert found(html, backend).canonical == "https://e.example/b/c"
    assert found("<link rel=canonical href='http://['>", backend).canonical is None
    assert found("<p>", backend).canonical is None


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("5; url=next.html", (5, "https://e.example/d/next.html")),
        ("0;URL='/x'", (0, "https://e.example/x")),
        ('0; url="https://o.test/"', (0, "https://o.test/")),
        (" 3.5 , x", (3, "https://e.example/d/x")),
        ("1 url = y", (1, "https://e.example/d/y")),
        ("0;url=a?b=c;d", (0, "https://e.example/d/a?b=c;d")),
        ("5", None),
        ("5;", None),
        ("5; url=", None),
        ("url=x", None),
        ("", None),
        ("0; url=http://[", None),
        ("9" * 5000 + ";x", None),
    ],
)
def test_a_meta_refresh_is_read_as_browsers_do(content: str, refresh: tuple[int, str] | None) -> None:
    each = found(
        f"<meta http-equiv=Refresh content='{content}'>"
        if "'" not in content
        else f'<meta http-equiv="refresh" content="{content}">'
    )
    assert each.refresh == (refresh and Refresh(*refresh))
    assert len(each.hrefs) == (1 if refresh else 0)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ('<base href="/">', "https://e.example/"),
        ('<base href="sub/">', "https://e.example/d/sub/"),
        ('<base href="//o.test/x/">', "https://o.test/x/"),
        ('<BASE HREF="/q/">', "https://e.example/q/"),
        ('<base target=_top><base href="/1/"><base href="/2/">', "https://e.example/1/"),
        ('<base href="http://[">', PAGE),
        ('<base href="data:text/plain,x">', PAGE),
        ('<base href="javascript:x">', PAGE),
        ('<base href="">', PAGE),
        ("<base>", PAGE),
        ("", PAGE),
    ],
)
def test_the_base_is_resolved_against_the_page(base: str, expected: str, backend: Any) -> None:
    assert found(f"<head>{base}</head><a href=x>", backend).base == expected


def test_a_base_far_down_the_page_counts(backend: Any) -> None:
    html = f"<!-- {'x' * 6000} --><p>{'y' * 6000}</p><base href=/far/><a href=a>a</a>"
    assert links(html, backend=backend) == ["https://e.example/far/a"]


INNER = '<a href="in">1</a><a href="https://o.test/é">2</a>'


@pytest.mark.parametrize(
    "src",
    [
        "data:text/html," + quote(INNER),
        "data:text/html," + INNER.replace('"', "'"),
        "DATA:Text/HTML;charset=utf-8," + quote(INNER),
        "data:text/html;base64," + base64.b64encode(INNER.encode()).decode(),
        "data:text/html;charset=utf-8;base64," + quote(base64.b64encode(INNER.encode()).decode().rstrip("=")),
        "  data:application/xhtml+xml," + quote(INNER),
    ],
)
def test_an_inline_frame_is_read_for_its_links(src: str, backend: Any) -> None:
    assert found(f'<a href=0></a><iframe src="{src}"></iframe><a href=9></a>', backend).hrefs == [
        "0",
        "in",
        "https://o.test/é",
        "9",
    ]


def test_a_srcdoc_beats_src_and_may_have_a_base_of_its_own(backend: Any) -> None:
    html = '<iframe src="no" srcdoc="<base href=/own/><a href=x>x</a>"></iframe><iframe srcdoc="<a href=y>"></iframe>'
    assert links(html, backend=backend) == ["https://e.example/own/x", "https://e.example/d/y"]


def test_an_inline_frame_in_the_old_code_page_is_read(backend: Any) -> None:
    assert found('<iframe src="data:text/html,<a href=caf%E9>x</a>">', backend).hrefs == ["café"]


@pytest.mark.parametrize(
    "src", ["data:image/png;base64,xx", "data:text/html;base64,%%%", "data:text/html,", "data:text/html", "data:,x"]
)
def test_broken_or_other_data_frames_do_no_harm(src: str, backend: Any) -> None:
    assert not [href for href in found(f'<iframe src="{src}"></iframe>', backend).hrefs if not href.startswith("data:")]


def test_nested_inline_frames_are_read_to_a_bound() -> None:
    html = '<a href="deepest">x</a>'
    for n in range(20):
        html = f'<a href="{20 - n}">x</a><iframe src="data:text/html,{quote(html)}"></iframe>'
    assert found(html).hrefs == ["1", "2", "3", "4"]


def test_nofollow_is_no_ban() -> None:
    assert found('<meta name=robots content=nofollow><a rel="nofollow" href=a>a</a>').hrefs == ["a"]


def test_entities_in_links_are_decoded(backend: Any) -> None:
    assert found('<a href="?a=1&amp;b=2&copy=3">x</a>', backend).hrefs == ["?a=1&b=2&copy=3"]


@pytest.mark.parametrize(
    "html",
    ["", "\0", "<a href='\ud800'>", "<a href=" + "x" * 100_000, "<div>" * 20_000 + "<a href=x>", "<iframe src=" + "data:text/html," * 1000, "<base href='" + "/" * 50_000 + "'><a href=x>"],
)  # fmt: skip
def test_hostile_pages_do_no_harm(html: str, backend: Any) -> None:
    found(html, backend)


@given(st.text(alphabet=st.sampled_from(list("<>ahref= '\"/%#;:,b64data:text/html\0\ud800é")), max_size=120))
def test_no_text_makes_it_raise(html: str) -> None:
    links(f"<iframe src='data:text/html;base64,{html}'></iframe><a href='{html}'>{html}")


def published(shared: Path, case_id: str) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(case for case in map(json.loads, lines) if case["id"] == case_id)


@pytest.mark.parametrize("case_id", ["S01", "S03"])
def test_links_of_the_published_cases(shared: Path, case_id: str, backend: Any) -> None:
    case = published(shared, case_id)
    assert links(case["input"]["html"], case["input"]["page_url"], backend) == case["expected"]["links"]


def test_the_base_far_down_of_the_published_case(shared: Path, backend: Any) -> None:
    case = published(shared, "E07")
    html = case["input"]["html"].replace("6000 filler characters", "x" * 6000)
    assert links(html, case["input"]["page_url"], backend) == case["expected"]["links"]


def test_the_base_after_a_redirect_of_the_published_case(shared: Path, backend: Any) -> None:
    case = published(shared, "S02")
    final = case["input"]["redirects"][-1][1]
    assert links(case["input"]["html"], final, backend) == case["expected"]["links"]
