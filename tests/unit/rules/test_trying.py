"""Saved pages, what changes between versions of a rule, and selectors proposed from examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.errors import ConfigError
from perseid.model.rule import Rule
from perseid.rules.difference import difference
from perseid.rules.extracting import extract
from perseid.rules.loading import from_value
from perseid.rules.page import Page
from perseid.rules.propose import propose, short
from perseid.rules.secrets import filled, names
from perseid.rules.trying import compare, run_tests


def rule(**parts: Any) -> Rule:
    return from_value({"site_id": "a", "fields": {"t": {"css": "h1", "required": True}}, **parts}).rule


def tried(tmp_path: Path, **test: Any) -> list[str]:
    (outcome,) = run_tests(rule(tests=[{"page": "a.html", **test}]), tmp_path)
    return [str(miss) for miss in outcome.misses]


def test_saved_pages_tell_what_is_not_as_expected(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>A</h1>")
    assert tried(tmp_path, expect={"t": "A"}) == []
    assert tried(tmp_path, expect={"t": "B"}) == ['items[0].t: expected "B", found "A"']
    assert tried(tmp_path, expect=[{"t": "A"}, {}]) == ["items: expected 2, found 1"]
    assert tried(tmp_path, expect={}, follow=["https://h/"]) == ['follow: expected ["https://h/"], found []']
    assert tried(tmp_path, next="https://h/2") == ['next: expected "https://h/2", found null']


def test_one_is_not_true(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 1}')
    value = {
        "fields": {"n": {"jsonpath": "$.n", "type": "integer"}},
        "tests": {"page": "a.json", "expect": {"n": True}},
    }
    (outcome,) = run_tests(from_value({"site_id": "a", **value}).rule, tmp_path)
    assert not outcome.passed


def test_pages_lie_beside_the_rule(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "secret.html").write_text("x")
    for page, said in (("../secret.html", "outside"), ("none.html", "can't be read")):
        with pytest.raises(ConfigError, match=said):
            run_tests(rule(tests=[{"page": page, "expect": {}}]), tmp_path / "rules")


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [str(each) for each in difference(rule(**before), rule(**after))]


def test_differences_are_told_part_by_part() -> None:
    assert changes({}, {}) == []
    assert changes({"fetch": {"rate": 2}}, {"fetch": {"rate": 3}}) == ["~ fetch.rate.per_s: 2.0 → 3.0"]
    assert changes({}, {"sinks": ["db"]}) == ['+ sinks: ["db"]']
    assert changes({"sinks": ["db", "csv"]}, {"sinks": ["db"]}) == ['~ sinks: ["db","csv"] → ["db"]']
    assert changes({"fields": {"t": "h1"}}, {"fields": {"t": ["h1", "h2"]}}) == ['+ fields.t.from[1]: {"css":"h2"}']
    assert changes({"fields": {"t": "h1", "u": "b"}}, {"fields": {"t": "h2"}}) == [
        '~ fields.t.from[0].css: "h1" → "h2"',
        '- fields.u: {"from":[{"css":"b"}]}',
    ]


def test_short_and_full_forms_do_not_differ() -> None:
    full = {"fields": {"t": {"from": [{"css": "a", "attr": "href"}], "type": "text"}}, "fetch": {"timeout": 10}}
    assert changes({"fields": {"t": "a::attr(href)"}}, full) == []


def test_two_versions_are_compared_on_pages() -> None:
    pages = [
        (Page("https://h.example/1", "<h1>A</h1><h2>B</h2>"), None),
        (Page("https://h.example/2", "<h1>A</h1>"), None),
        (Page("https://h.example/3", "<h1>S</h1><h2>S</h2>"), None),
    ]
    after = from_value({"site_id": "a", "fields": {"t": {"css": "h2", "required": True}}}).rule
    one, two = compare(rule(), after, pages)
    assert (one.url, one.fields) == ("https://h.example/1", {"t": ("A", "B")})
    assert (two.fields, two.broken, two.mended) == ({"t": ("A", None)}, 1, 0)
    assert next(iter(compare(after, rule(), pages[1:]))).mended == 1


def test_items_that_come_and_go_are_counted() -> None:
    page = Page("https://h.example/", "<li class=a>1<li>2<li class=b>3")
    before = from_value({"site_id": "a", "each": "li", "fields": {"t": ":scope"}, "unique_key": "t"}).rule
    after = from_value({"site_id": "a", "each": "li[class]", "fields": {"t": ":scope"}, "unique_key": "t"}).rule
    (found,) = compare(before, after, [(page, None)])
    assert (found.lost, found.gained, found.fields) == (1, 0, {})


def test_secrets_are_named_and_filled_in() -> None:
    found = rule(fetch={"headers": {"Authorization": "Bearer ${secret:TOKEN}", "X": "${secret:A}${secret:TOKEN}"}})
    assert names(found) == ["A", "TOKEN"]
    known = {"TOKEN": "t", "A": "a"}
    assert filled(found.fetch.headers, known.get) == {"Authorization": "Bearer t", "X": "at"}
    with pytest.raises(ConfigError, match="'A' is not defined"):
        filled(found.fetch.headers, {"TOKEN": "t"}.get)


SHOP = """<!doctype html><html lang="de"><head><meta property="og:title" content="Schuh OG">
<script type="application/ld+json">{"@type": "Product", "sku": "A-17", "brand": {"name": "Marke"}}</script></head>
<body><nav><a href="/">Start</a></nav><div id="product-4711"><h1 class="css-1x2y3Z name">Blauer Schuh</h1>
<div class="box"><span class="price now">1.299,00 €</span><span class="price old">1.499,00 €</span></div>
<p class="desc">Sehr <b>bequem</b> und leicht</p><time datetime="2024-01-02">2. Januar 2024</time>
<img class="photo" src="/i/1.jpg"><a class="brand" href="/marke/x">Marke X</a><ul><li>36<li>37<li>38</ul></div></body></html>"""
SEEN = {
    "title": "Blauer  Schuh",
    "price": "1.299,00 €",
    "old": "1.499,00 €",
    "sku": "A-17",
    "day": "2. Januar 2024",
    "text": "Sehr bequem und leicht",
    "photo": "https://shop.example/i/1.jpg",
    "brand": "Marke X",
    "second": "37",
    "og": "Schuh OG",
}


def test_proposed_selectors_find_the_examples() -> None:
    page = Page("https://shop.example/p/4711", SHOP)
    proposals, missing = propose(page, {**SEEN, "never": "gibt es nicht"})
    assert missing == ["never"]
    assert {each.name: each.field.type for each in proposals} == {
        "title": "text", "price": "price", "old": "price", "sku": "text", "day": "date", "text": "text", "photo": "url",
        "brand": "text", "second": "integer", "og": "text",
    }  # fmt: skip
    fields = {each.name: short(each.field) for each in proposals}
    (item,) = extract(from_value({"site_id": "shop", "fields": fields}).rule, page).items
    assert item.problems == ()
    assert item.fields == {
        "title": "Blauer Schuh",
        "price": {"amount": "1299.00", "currency": "EUR"},
        "old": {"amount": "1499.00", "currency": "EUR"},
        "sku": "A-17",
        "day": "2024-01-02",
        "text": "Sehr bequem und leicht",
        "photo": "https://shop.example/i/1.jpg",
        "brand": "Marke X",
        "second": 37,
        "og": "Schuh OG",
    }


def test_proposals_avoid_what_programs_named() -> None:
    page = Page("https://shop.example/p/4711", SHOP)
    proposals, _ = propose(page, SEEN)
    written = str([short(each.field) for each in proposals])
    assert "css-1x2y3Z" not in written
    assert "product-4711" not in written


def test_proposals_for_json() -> None:
    page = Page("https://h.example/", '{"data": [{"na me": "X"}, {"n": 7}]}', content_type="application/json")
    proposals, _ = propose(page, {"name": "X", "n": "7"})
    assert [short(each.field) for each in proposals] == [
        "$.data[0]['na me']",
        {"from": ["$.data[1].n"], "type": "integer"},
    ]


@given(st.text(max_size=200), st.text(max_size=30))
def test_no_example_is_too_strange(body: str, value: str) -> None:
    page = Page("https://h.example/", f"<p class=a>{body}</p>")
    proposals, missing = propose(page, {"f": value})
    assert len(proposals) + len(missing) == 1
    for each in proposals:
        from_value({"site_id": "a", "fields": {"f": short(each.field)}})
