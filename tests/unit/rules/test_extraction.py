"""Items from pages: each kind of source, what is done to values, and what is said when something is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.dom.tree import parse
from perseid.model.item import Extraction, Item, Problem
from perseid.rules.extracting import extract
from perseid.rules.loading import from_value
from perseid.rules.page import Page

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
HTML = """<!doctype html><html lang="de"><head><title>T</title>
<meta name="author" content="Ada"><meta property="og:title" content="Schuh OG"><meta property="og:image" content="/i.png">
<script type="application/ld+json">
// <![CDATA[
{"@context": "https://schema.org", "@graph": [{"@type": ["Product", "Thing"], "name": "Schuh LD", "offers": [
  {"@type": "Offer", "price": 12.5}, {"@type": "Offer", "price": "13,50"},]}, {"@type": "Person", "name": "Eva"}]}
// ]]>
</script><script type="application/ld+json">{broken</script>
<script id="data" type="application/json">{"a": {"b": [1, 2, {"c": "deep"}]}}</script></head>
<body><h1 class="t">  Schuh  <b>rot</b>
</h1><p class="x">eins</p><p class="x"> zwei </p><p class="x"></p><a href="/p?a=1&amp;b=2#c">Link</a>
<div class="lines">A<br>B<p>C</p><script>var x</script></div>
<div itemscope itemtype="http://schema.org/Recipe" itemref="extra"><span itemprop="name">Suppe</span>
 <a itemprop="url" href="r">r</a><time itemprop="cookTime" datetime="PT1H">eine Stunde</time>
 <div itemprop="author" itemscope><i itemprop="name">Kurt</i></div>
 <span itemprop="keywords">a</span><span itemprop="keywords">b</span></div><p id="extra"><b itemprop="yield">4</b></p>
<script>window.state = {"n": 7};</script></body></html>"""


def page(body: str | bytes = HTML, **options: Any) -> Page:
    return Page(options.pop("url", "https://shop.example/p/1?x=y"), body, fetched_at=NOW, **options)


def run(rule: dict[str, Any], on: Page | None = None) -> Extraction:
    return extract(from_value({"site_id": "shop", **rule}).rule, on or page())


def one(field: Any, on: Page | None = None) -> Any:
    """The value of the one field of the one item."""
    (item,) = run({"fields": {"f": field}}, on).items
    return item.fields["f"]


def problems(field: Any, on: Page | None = None) -> tuple[Problem, ...]:
    (item,) = run({"fields": {"f": field}}, on).items
    return item.problems


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("h1", "Schuh rot"),
        ("h1::own_text", "Schuh"),
        ({"css": "h1::html", "type": "html"}, '<h1 class="t">  Schuh  <b>rot</b>\n</h1>'),
        ({"css": "h1 b::inner_html", "type": "html"}, "rot"),
        ("h1::attr(class)", "t"),
        ("h1::attr(absent)", None),
        (".absent", None),
        ({"css": "p.x", "many": True}, ["eins", "zwei"]),
        ({"css": ".lines", "type": "lines"}, "A\nB\nC"),
        ({"css": "a::attr(href)", "type": "url"}, "https://shop.example/p?a=1&b=2#c"),
        ("//h1/b", "rot"),
        ("//h1/@class", "t"),
        ("string(//p[2])", "zwei"),
        ({"xpath": "count(//p[@class])", "type": "integer"}, 3),
        ({"xpath": "//h1/b/text()"}, "rot"),
        ({"jsonld": "name"}, "Schuh LD"),
        ({"jsonld": "name", "kind": "Person"}, "Eva"),
        ({"jsonld": "name", "kind": "thing"}, "Schuh LD"),
        ({"jsonld": "offers.price", "type": "number"}, 12.5),
        ({"jsonld": "offers.price", "type": "number", "many": True}, [12.5, 13.5]),
        ({"jsonld": "price", "kind": "Offer", "type": "number"}, 12.5),
        ({"jsonld": "offers", "type": "json"}, {"@type": "Offer", "price": 12.5}),
        ({"microdata": "name"}, "Suppe"),
        ({"microdata": "url", "type": "url"}, "https://shop.example/p/r"),
        ({"microdata": "cookTime"}, "PT1H"),
        ({"microdata": "author.name", "kind": "Recipe"}, "Kurt"),
        ({"microdata": "keywords", "many": True}, ["a", "b"]),
        ({"microdata": "yield", "type": "integer"}, 4),
        ({"opengraph": "title"}, "Schuh OG"),
        ({"opengraph": "og:image", "type": "url"}, "https://shop.example/i.png"),
        ({"meta": "Author"}, "Ada"),
        ({"url": True}, "https://shop.example/p/1?x=y"),
        ({"url": True, "regex": r"/p/(\d+)"}, "1"),
        ({"regex": r"window\.state = (\{.*?\});", "jsonpath": "$.n", "type": "integer"}, 7),
        ({"css": "script#data", "jsonpath": "$.a.b[2].c"}, "deep"),
        ({"css": "script#data", "jsonpath": "$.a.b", "type": "json"}, [1, 2, {"c": "deep"}]),
        ({"css": "h1", "regex": r"(?<first>\w+)\s+(?P<second>\w+)", "group": "second"}, "rot"),
        ({"css": "p.x", "regex": "[a-z]", "many": True}, list("einszwei")),
        ({"const": "shop"}, "shop"),
        ({"const": 0, "type": "integer"}, 0),
        ({"const": False, "type": "boolean"}, False),
        ([".absent", "//absent", "h1 b"], "rot"),
        ({"from": [".absent"], "default": "none"}, "none"),
        ({"from": [{"jsonpath": "$.a"}, "h1"]}, "Schuh rot"),
    ],
)
def test_sources(field: Any, value: Any) -> None:
    assert one(field) == value


def by_fallback() -> Page:
    """The page as the second parser reads it."""
    on = page()
    on.__dict__["tree"] = parse(on.text, backend="lexbor")
    return on


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("h1", "Schuh rot"),
        ("h1::own_text", "Schuh"),
        ({"css": "p.x", "many": True}, ["eins", "zwei"]),
        ({"css": ".lines", "type": "lines"}, "A\nB\nC"),
        ({"css": "a::attr(href)", "type": "url"}, "https://shop.example/p?a=1&b=2#c"),
        ({"jsonld": "name"}, "Schuh LD"),
        ({"microdata": "author.name", "kind": "Recipe"}, "Kurt"),
        ({"opengraph": "title"}, "Schuh OG"),
        ({"css": "script#data", "jsonpath": "$.a.b[2].c"}, "deep"),
    ],
)
def test_sources_on_the_fallback_parser(field: Any, value: Any) -> None:
    assert one(field, by_fallback()) == value


def test_the_fallback_parser_has_no_xpath_and_says_so() -> None:
    (found,) = problems("//h1", by_fallback())
    assert (found.kind, found.fatal) == ("source", False)
    assert "fallback parser" in found.message
    assert one(["//h1", "h1"], by_fallback()) == "Schuh rot"


def test_headers_are_a_source() -> None:
    on = page(headers={"X-Total": "12", "Content-Type": "text/html"})
    assert one({"header": "x-total", "type": "integer"}, on) == 12


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ({"remove": "[aeiou]"}, "Schh rt"),
        ({"replace": [r"(\w+) (\w+)", r"\2 \1"]}, "rot Schuh"),
        ({"keep": r"\b(r\w+)"}, "rot"),
        ({"keep": "x+"}, None),
        ({"before": " "}, "Schuh"),
        ({"after": "uh "}, "rot"),
        ({"after": "absent"}, "Schuh rot"),
        ({"prefix": "<"}, "<Schuh rot"),
        ({"suffix": ">"}, "Schuh rot>"),
        ({"case": "upper"}, "SCHUH ROT"),
        ({"map": {"Schuh rot": "red shoe"}}, "red shoe"),
        ([{"before": " "}, {"case": "lower"}, {"prefix": "a"}], "aschuh"),
    ],
)
def test_steps(steps: Any, value: str | None) -> None:
    on = page("<h1>Schuh rot</h1>")
    assert one({"css": "h1", "steps": steps}, on) == value


def test_a_text_is_split_into_several() -> None:
    on = page("<p>a, b,, c</p>")
    assert one({"css": "p", "many": True, "steps": [{"split": ","}]}, on) == ["a", "b", "c"]


def test_objects_nest_and_repeat() -> None:
    on = page("<ul><li><b>A</b><i>1</i><u>x</u><u>y</u><li><b>B</b><li></ul>")
    field = {
        "type": "object",
        "css": "li",
        "many": True,
        "fields": {
            "name": "b",
            "size": {"css": "i", "type": "integer"},
            "more": {"type": "object", "fields": {"tags": {"css": "u", "many": True}}},
        },
    }
    assert one(field, on) == [
        {"name": "A", "size": 1, "more": {"tags": ["x", "y"]}},
        {"name": "B", "size": None, "more": None},
    ]
    assert one({**field, "many": False, "css": ".absent"}, on) is None


def test_fields_of_objects_are_core_within_what_is_there() -> None:
    on = page("<div class=o><b>A</b></div><div class=o><i>x</i></div>")
    field = {"type": "object", "css": ".o", "many": True, "fields": {"b": {"css": "b", "required": True}, "i": "i"}}
    (found,) = problems(field, on)
    assert (found.field, found.kind, found.fatal) == ("f[1].b", "missing", True)


def test_a_core_field_that_is_missing_is_fatal() -> None:
    (found,) = problems({"css": ".absent", "required": True})
    assert found == Problem(
        field="f", kind="missing", message="no source of this core field yields anything", fatal=True
    )
    assert problems(".absent") == ()


def test_what_can_not_be_read_is_told_with_what_the_page_says() -> None:
    (found,) = problems({"css": "h1", "type": "price"})
    assert (found.field, found.kind, found.raw, found.fatal) == ("f", "unreadable", "Schuh rot", False)
    (found,) = problems({"css": "h1", "type": "price", "required": True})
    assert (found.kind, found.fatal) == ("unreadable", True)
    assert problems({"css": "h1", "type": "price", "default": 0}) == ()
    assert problems({"from": ["h1", {"const": "5 €"}], "type": "price", "required": True}) == ()


def test_of_a_list_what_can_be_read_is_kept() -> None:
    on = page("<p>1<p>x<p>3")
    field = {"css": "p", "many": True, "type": "integer"}
    assert one(field, on) == [1, 3]
    (found,) = problems(field, on)
    assert (found.kind, found.raw, found.fatal) == ("unreadable", "x", False)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"css": "h1", "check": {"pattern": "^[A-Z]+$"}}, "doesn't match"),
        ({"css": "h1", "check": {"min_length": 20}}, "fewer than 20"),
        ({"css": "h1", "check": {"max_length": 3}}, "more than 3"),
        ({"css": "h1", "check": {"one_of": ["a", "b"]}}, "none of a, b"),
        ({"css": "h1", "check": {"none_of": ["Schuh rot"]}}, "not allowed"),
        ({"css": "p.x", "many": True, "check": {"min_items": 3}}, "fewer than 3"),
        ({"css": "p.x", "many": True, "check": {"max_items": 1}}, "more than 1"),
        ({"const": "5 €", "type": "price", "check": {"min": 6}}, "5 is below 6"),
        ({"const": "5 €", "type": "price", "check": {"max": 4.5}}, "5 is above 4.5"),
        ({"const": 7, "type": "integer", "check": {"max": 4}}, "7 is above 4"),
        ({"const": "2024-03-05", "type": "date", "check": {"min": "2024-03-06"}}, "below 2024-03-06"),
        ({"const": "2024-03-05", "type": "datetime", "check": {"max": "2024-03-04"}}, "above 2024-03-04"),
        ({"const": True, "type": "boolean", "check": {"one_of": [1]}}, "none of 1"),
    ],
)
def test_a_value_that_fails_a_check_is_fatal_and_kept(field: Any, said: str) -> None:
    (item,) = run({"fields": {"f": field}}).items
    (found,) = item.problems
    assert (found.kind, found.fatal) == ("invalid", True)
    assert said in found.message
    assert item.fields["f"] is not None
    assert not item.sound


@pytest.mark.parametrize(
    "field",
    [
        {"css": "h1", "check": {"pattern": "rot$", "min_length": 3, "max_length": 9, "one_of": ["Schuh rot"]}},
        {"const": "5 €", "type": "price", "check": {"min": 5, "max": 5}},
        {"const": "2024-03-05", "type": "date", "check": {"min": "2024-03-05", "max": "2024-03-05"}},
        {"css": ".absent", "check": {"min_length": 3}},
    ],
)
def test_a_value_that_satisfies_its_checks(field: Any) -> None:
    assert problems(field) == ()


def keys(rule: dict[str, Any], on: Page) -> list[str]:
    return [item.key for item in run(rule, on).items]


def test_keys() -> None:
    on = page("<li><b>A</b><i>1</i><li><b>B</b><i>1</i><li><i>2</i>")
    fields = {"b": {"css": "b", "required": True}, "i": {"css": "i", "type": "integer", "required": True}}
    assert keys({"fields": {"b": "b"}}, on) == ["https://shop.example/p/1?x=y"]
    assert keys({"each": "li", "fields": fields, "unique_key": ["b"]}, on) == ["A", "B", ""]
    assert keys({"each": "li", "fields": fields, "unique_key": ["i"]}, on) == ["1", "1", "2"]
    both = keys({"each": "li", "fields": fields, "unique_key": ["b", "i"]}, on)
    assert [len(key) for key in both] == [64, 64, 0]
    content = keys({"each": "li", "fields": fields, "unique_key": "content"}, on)
    assert len(set(content)) == 3
    assert content == keys({"each": "li", "fields": fields, "unique_key": "content"}, on)


def test_an_item_without_key_is_not_sound() -> None:
    (item,) = run({"fields": {"b": {"css": ".absent"}}, "unique_key": ["b"]}).items
    assert item.key == ""
    assert [(each.field, each.fatal) for each in item.problems] == [("unique_key", True)]


def test_only_pages_that_match_hold_items() -> None:
    assert len(run({"fields": {"t": "h1"}, "match": "/p/\\d+"}).items) == 1
    assert run({"fields": {"t": "h1"}, "match": "/q/"}).items == ()


def test_a_list_that_only_leads_to_details_holds_no_items() -> None:
    rule = {"fields": {"t": "h1"}, "follow": "a"}
    assert run(rule).items == ()
    assert len(extract(from_value({"site_id": "a", **rule}).rule, page(), "detail").items) == 1
    assert len(run({**rule, "items_on": ["list"]}).items) == 1


def test_a_page_without_any_match_of_each_says_so() -> None:
    found = run({"each": ".absent", "fields": {"t": "b"}, "unique_key": "content"})
    assert found.items == ()
    assert found.notes == ("`each` finds nothing on the page",)


def test_selectors_on_json_say_what_is_wrong() -> None:
    on = page('{"a": 1}', content_type="application/json")
    (found,) = problems({"css": "h1", "required": True}, on)
    assert (found.kind, found.fatal) == ("source", True)
    assert "the page is JSON" in found.message
    assert one({"jsonpath": "$.a", "type": "text"}, on) == "1"
    assert one({"jsonld": "name"}, on) is None


def test_json_that_is_none_says_so() -> None:
    (found,) = problems({"jsonpath": "$.a"}, page("<p>no json</p>"))
    assert "no JSON" in found.message


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<r><a>x</a></r>", "application/xml"),
        ("<?xml version='1.0'?><r><a>x</a></r>", None),
        ("<r><a>x</a", "text/xml"),
    ],
)
def test_xml_is_read_with_its_own_names(body: str, content_type: str | None) -> None:
    assert one("r > a", page(body, content_type=content_type)) == "x"


def test_xml_defines_no_entities() -> None:
    bomb = "<!DOCTYPE a [<!ENTITY b 'x'><!ENTITY c '&b;&b;&b;'>]><a><t>&c;</t></a>"
    assert one("t", page(bomb, content_type="application/xml")) in ("&c;", None)


def test_the_page_decides_on_charset_and_language() -> None:
    body = '<html lang="fr"><meta charset="iso-8859-1"><p>caf\xe9 le 1 ao\xfbt 2024</p>'.encode("latin-1")
    assert one("p", page(body)) == "café le 1 août 2024"
    assert one({"css": "p", "type": "date"}, page(body)) == "2024-08-01"


def test_a_base_element_counts() -> None:
    on = page('<base href="https://cdn.example/x/"><a href="y">z</a>')
    assert one({"css": "a::attr(href)", "type": "url"}, on) == "https://cdn.example/x/y"


def test_numbers_are_those_that_64_bits_hold() -> None:
    rule = {"site_id": "s", "fields": {"id": {"css": "b", "type": "integer"}, "n": {"css": "b", "type": "number"}}}
    found = {}
    for said in ("9223372036854775807", "9223372036854775808"):
        (item,) = extract(
            from_value({**rule, "unique_key": "content"}).rule, Page("https://x.example/", f"<b>{said}")
        ).items
        found[said] = item
    assert found["9223372036854775807"].fields == {"id": 9223372036854775807, "n": 9223372036854775807}
    large = found["9223372036854775808"]
    assert large.fields == {"id": None, "n": 9.223372036854775808e18}
    assert "read it as text" in large.problems[0].message


def test_json_that_nests_too_deeply_to_be_written_is_not_read() -> None:
    rule = {"site_id": "s", "fields": {"a": {"jsonpath": "$.a", "type": "json"}, "b": {"jsonpath": "$.b"}}}
    body = json.dumps({"b": "x", "a": 0}).replace("0", "[" * 500 + "]" * 500)
    found = Page("https://x.example/", body, content_type="application/json")
    (item,) = extract(from_value({**rule, "unique_key": "content"}).rule, found).items
    assert item.fields == {"a": None, "b": "x"}
    assert [(problem.field, problem.kind) for problem in item.problems] == [("a", "unreadable")]


def test_items_are_json() -> None:
    found = run({"fields": {"a": {"jsonld": "offers", "type": "json", "many": True}, "b": "h1"}})
    json.dumps([item.fields for item in found.items])
    assert isinstance(found.items[0], Item)


EVERYTHING = {
    "site_id": "all",
    "each": "*",
    "fields": {
        "text": {"css": "*", "type": "lines"},
        "many": {"css": "*::attr(class)", "many": True},
        "html": {"css": "*::html", "type": "html"},
        "xpath": "//*[@id]/text()",
        "json": {"jsonpath": "$..a", "type": "json"},
        "in_json": {"css": "script", "jsonpath": "$.a"},
        "regex": {"regex": "<(\\w+)", "many": True},
        "ld": {"jsonld": "name", "many": True},
        "micro": {"microdata": "name", "kind": "Thing"},
        "price": {"css": "*", "type": "price", "required": True, "check": {"min": 1}},
        "date": {"css": "*", "type": "datetime"},
        "number": {"xpath": "string(.)", "type": "number"},
        "object": {"type": "object", "css": "*", "many": True, "fields": {"x": "*", "y": "./@href"}},
    },
    "unique_key": "content",
    "follow": [{"css": "*"}, {"xpath": "//@href"}, {"jsonpath": "$..url"}],
    "next": "auto",
}
ALL = from_value(EVERYTHING).rule
ALONE = from_value({**EVERYTHING, "each": None, "unique_key": "url"}).rule
MARKUP = st.lists(
    st.sampled_from(
        ['<p class="a">', "</p>", "<a href='/x?y=1'>", "</a>", "<div itemscope itemtype=Thing>", "<i itemprop=name>", "<script>",
         '<script type="application/ld+json">', '{"@type":"x","name":[{"a":1}]}', "</script>", "5 €", "1.234,5", "<table>", "<td>",
         "2024-03-05", "<template>", "<svg>", "<title>", "&amp;", "<!--", "-->", "<base href=//h>", "<link rel=next href=?2>", "\x00"]
    ) | st.text(max_size=8),
    max_size=25,
)  # fmt: skip


@given(MARKUP, st.sampled_from([None, "text/html", "application/xml", "application/json", "text/plain", "image/png"]))
def test_no_page_is_too_strange(parts: list[str], content_type: str | None) -> None:
    for rule in (ALL, ALONE):
        found = extract(rule, page("".join(parts), content_type=content_type))
        json.dumps([item.fields for item in found.items])
        assert all(each.url.startswith("http") for each in found.follow)


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "application/xml", "application/json"]))
def test_no_bytes_are_too_strange(body: bytes, content_type: str | None) -> None:
    for rule in (ALL, ALONE):
        extract(rule, page(body, content_type=content_type))


def test_different_items_under_one_key_are_told() -> None:
    rule = {"site_id": "s", "each": "li", "fields": {"sku": "i", "title": "b"}, "unique_key": ["sku"]}
    two = "<li><i>1</i><b>A</b></li><li><i>1</i><b>B</b></li><li><i>1</i><b>B</b></li><li><i>2</i><b>C</b></li>"
    found = extract(from_value(rule).rule, page(two))
    assert [note for note in found.notes if note.startswith("1 of 4 items have the `unique_key`")]
