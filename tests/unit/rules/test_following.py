"""Where a rule goes on: links to details, the next page of a list."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.model.item import Onward
from perseid.rules.extracting import extract
from perseid.rules.loading import from_value
from perseid.rules.page import Page

URL = "https://h.example/list?page=2&q=a%20b"


def onward(rule: dict[str, Any], body: str, **options: Any) -> tuple[Onward, ...]:
    number = options.pop("list_page", 1)
    kind = options.pop("kind", None)
    page = Page(options.pop("url", URL), body, **options)
    value = {"site_id": "a", "fields": {"t": "h1"}, **rule}
    return extract(from_value(value).rule, page, kind, list_page=number).follow


def following(body: str, rule: Any = "auto", **options: Any) -> str | None:
    found = onward({"next": rule, "start": "list"}, body, **options)
    return found[0].url if found else None


def test_links_are_followed_once_in_their_order_as_what_they_lead_to() -> None:
    body = (
        "<h2><a href='/p/2#x'>b</a></h2><h2><a href='/p/1'>a</a></h2><a href='/p/2'><h2>again</h2></a>"
        "<h2><a href='mailto:x@y'>m</a><a href='/never'>n</a></h2><h2>none</h2>"
    )
    found = onward({"follow": "h2"}, body)
    assert found == (
        Onward(url="https://h.example/p/2", kind="detail"),
        Onward(url="https://h.example/p/1", kind="detail"),
    )


def test_matches_exclusions_and_limits() -> None:
    body = "".join(f"<a href='/p/{n}'>x</a>" for n in range(9)) + "<a href='/q/1'>y</a>"
    follow = {"css": "a", "match": "/p/", "exclude": ["[135]$"], "limit": 3}
    assert [each.url[-3:] for each in onward({"follow": follow}, body)] == ["p/0", "p/2", "p/4"]


def test_links_are_looked_for_on_their_kind_of_page() -> None:
    rule = {"follow": [{"css": "a", "to": "detail"}, {"css": "b a", "to": "list", "on": ["detail"]}]}
    body = "<a href=1>x</a><b><a href=2>y</a></b>"
    assert [(each.url[-1], each.kind) for each in onward(rule, body)] == [("1", "detail"), ("2", "detail")]
    assert [(each.url[-1], each.kind) for each in onward(rule, body, kind="detail")] == [("2", "list")]


def test_other_sources_of_addresses() -> None:
    assert onward({"follow": {"jsonpath": "$[*].u"}}, '[{"u": "/a"}, {"u": "/b"}]', content_type="application/json")[
        1
    ].url == ("https://h.example/b")
    assert onward({"follow": {"regex": r'data-u="([^"]+)"'}}, '<i data-u="/r">')[0].url == "https://h.example/r"
    assert onward({"follow": "//i/@data-u"}, '<i data-u="/x">')[0].url == "https://h.example/x"
    assert onward({"follow": "loc"}, "<u><loc>https://h.example/l</loc></u>", content_type="text/xml")[0].url == (
        "https://h.example/l"
    )


def test_a_parameter_is_counted_while_pages_bring_something() -> None:
    rule = {"follow": "a", "next": {"parameter": "page", "start": 1}}
    found = onward(rule, "<a href=x>x</a>", list_page=2)
    assert found[-1] == Onward(url="https://h.example/list?page=3&q=a%20b", kind="list", list_page=3)
    assert onward(rule, "<p>nothing", list_page=2) == ()
    by_items = {"follow": "a", "next": {"parameter": "from", "start": 0, "step": 20}}
    assert onward(by_items, "<a href=x>x</a>")[-1].url == "https://h.example/list?page=2&q=a%20b&from=20"
    last = {"follow": "a", "next": {"parameter": "page", "limit": 5}}
    assert all(each.kind == "detail" for each in onward(last, "<a href=x>x</a>", list_page=5))


def test_the_next_page_by_selectors_in_order() -> None:
    body = "<a class=n href=?page=3>x</a><link rel=next href=/other>"
    assert following(body, ["a.absent", "a.n"]) == "https://h.example/list?page=3"
    assert following(body, "a.absent") is None
    assert following(f"<a class=n href='{URL}'>here</a>", "a.n") is None


@pytest.mark.parametrize(
    "body",
    [
        '<link rel="next" href="?page=3">',
        '<a rel="nofollow NEXT" href="?page=3">7</a>',
        '<a href="?page=1">1</a><a href="?page=3">Next ›</a>',
        '<a href="?page=3" aria-label="Next page"><svg></svg></a>',
        '<a href="?page=3" title="Nächste Seite">&gt;</a>',
        '<a href="?page=3">下一页</a>',
        '<a href="?page=3">Suivant</a>',
        '<a href="?page=3">Следующая →</a>',
        '<a class="pager-next btn" href="?page=3"><i></i></a>',
        '<ul class="pagination"><li><a href="?page=1">1</a><li class="active"><span>2</span><li><a href="?page=3">3</a></ul>',
        '<nav><a href="?page=1">1</a> <b>2</b> <a href="?page=3">3</a> <a href="?page=4">4</a></nav>',
        '<div class="pages"><a href="?page=2" aria-current="page">2</a><a href="?page=3">3</a></div>',
        '<p><a href="/news">next</a></p><nav class=pagination><a href="?page=3">Next</a></nav>',
    ],
)
def test_the_next_page_is_discovered(body: str) -> None:
    assert following(body) == "https://h.example/list?page=3"


def test_the_next_page_is_discovered_in_a_header() -> None:
    link = '<https://h.example/list?page=1>; rel="prev", <?page=3>; rel="next"'
    assert following("{}", headers={"Link": link}, content_type="application/json") == "https://h.example/list?page=3"


@pytest.mark.parametrize(
    "body",
    [
        "<p>no links</p>",
        '<a href="#">Next</a>',
        '<a class="next disabled" href="?page=3">Next</a>',
        '<li class="disabled"><a href="?page=3">Next</a></li>',
        '<a href="?page=3" aria-disabled="true">Next</a>',
        '<a href="/blog/what-comes-next">What comes next for cities</a>',
        '<a href="javascript:more()">Next</a>',
        '<ul class="pagination"><li><a href="?page=1">1</a><li class="active"><span>2</span></ul>',
    ],
)
def test_where_there_is_none_none_is_discovered(body: str) -> None:
    assert following(body) is None


def test_details_have_no_next_page() -> None:
    assert onward({"next": "auto"}, '<link rel="next" href="?page=3">', kind="detail") == ()
