"""What strangers and careless analysts write ends in bounded time, with a sentence about it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from perseid.model.item import Problem
from perseid.rules import jsonpath, xpath
from perseid.rules.extracting import extract
from perseid.rules.loading import from_value
from perseid.rules.page import Page
from perseid.rules.regexes import Overrun, search

SECONDS = 20
"""Far above what is allowed, far below what the same would take without a bound."""


def problem(field: Any, body: str, content_type: str = "text/html") -> Problem:
    begun = time.monotonic()
    rule = from_value({"site_id": "a", "fields": {"f": field}}).rule
    (item,) = extract(rule, Page("https://h.example/", body, content_type=content_type)).items
    assert time.monotonic() - begun < SECONDS
    return item.problems[0]


HOSTILE = "<p>" + "a" * 40 + "!</p>"


@pytest.mark.parametrize(
    "field",
    [
        {"css": "p", "regex": "^(a|aa)+$"},
        {"regex": "(a|aa)+$"},
        {"css": "p", "steps": [{"remove": "(a|aa)+$"}]},
        {"css": "p", "steps": [{"replace": ["(a|aa)+$", "x"]}]},
        {"css": "p", "steps": [{"keep": "(a|aa)+$"}]},
    ],
)
def test_a_pattern_that_backtracks_is_stopped(field: Any) -> None:
    found = problem(field, HOSTILE)
    assert found.kind == "source"
    assert "nested repeats" in found.message


def test_a_check_that_backtracks_fails() -> None:
    found = problem({"css": "p", "check": {"pattern": "^(a|aa)+$"}}, HOSTILE)
    assert (found.kind, found.fatal) == ("invalid", True)
    assert "nested repeats" in found.message


def test_plain_patterns_get_through_large_pages() -> None:
    assert search(r"needle-(\d+)", "x " * 4_000_000 + "needle-7")[1] == "7"


BIG = "<html><body>" + "".join(f"<p id=p{n}>x <b>{n}</b></p>" for n in range(5_000))


@pytest.mark.parametrize(
    "expression",
    [
        "//p[count(preceding::p) > 4000]",
        "//p[count(//p[count(//b) > 3]) > 5]",
        "//p/preceding::b",
        "//p[.//b = //p//b[. = //p]]",
        "//b[../../p = 'zz']",
        "//b[ancestor::body/p = 'zz']",
        "//p[../p = 'zz']",
    ],
)
def test_an_xpath_that_would_take_too_long_is_refused(expression: str) -> None:
    found = problem({"xpath": expression}, BIG)
    assert found.kind == "source"
    assert "elements on this page" in found.message


@pytest.mark.parametrize(
    "expression",
    [
        "//p[last()]/b",
        "//p[@id='p7']/following-sibling::p[1]/b",
        "//b[. = '42']/ancestor::p/@id",
        "//p[contains(., '99')][b]",
        "(//p)[5]//b | //p[1]/@id",
        "string(//p[@id = 'p3'])",
        "//p[count(b) = 1]",
        "//b[../b = '42']",
        "//p[../@lang or parent::body]/b",
    ],
)
def test_what_people_write_is_not(expression: str) -> None:
    rule = from_value({"site_id": "a", "fields": {"f": {"xpath": expression}}}).rule
    (item,) = extract(rule, Page("https://h.example/", BIG)).items
    assert item.problems == ()
    assert item.fields["f"]


def test_what_begins_at_the_root_is_looked_for_once_for_all_items(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    evaluate = xpath.evaluate
    monkeypatch.setattr(
        xpath, "evaluate", lambda tree, text, within: asked.append(text) or evaluate(tree, text, within)
    )
    fields = {"first": {"xpath": "//b[1]"}, "own": {"xpath": ".//b"}}
    rule = from_value({"site_id": "a", "each": "p", "unique_key": ["own"], "fields": fields}).rule
    items = extract(rule, Page("https://h.example/", BIG)).items
    assert [item.fields for item in items[:2]] == [{"first": "0", "own": "0"}, {"first": "0", "own": "1"}]
    assert asked.count("//b[1]") == 1
    assert asked.count(".//b") == len(items)


def test_costs_of_xpath() -> None:
    assert [xpath.cost(each) for each in ("//p", "//a[b]/c", "//p[//b]", "//p/preceding::b", "//a[//b[//c]]")] == [
        1, 1, 2, 3, 3,
    ]  # fmt: skip
    texts = ("//p[contains(string(/), 'x')]", "//p[.. = 'x']", "//p[../@a = 'x']", "//p[count(..) = 1]")
    assert [xpath.cost(each) for each in texts] == [2, 2, 1, 1]


def test_names_with_a_prefix_are_found_as_they_are_written() -> None:
    body = "<r xmlns:dc='http://d/'><dc:a dc:id='7'>x</dc:a><a>y</a></r>"
    page = Page("https://h.example/", body, content_type="application/xml")
    for expression, value in (("//dc:a", "x"), ("//dc:a/@dc:id", "7"), ("//a", "y"), ("//*[name()='dc:a']", "x")):
        rule = from_value({"site_id": "a", "fields": {"f": {"xpath": expression}}}).rule
        assert extract(rule, page).items[0].fields["f"] == value


DEEP = json.dumps({"items": [{"id": n, "s": "a" * (n % 40) + "!", "n": {"a": [1, 2, 3]}} for n in range(3_000)]})


@pytest.mark.parametrize("path", ["$..[?$..[?@.id > 3]]", "$.items[?match(@.s, '(a|aa)+b')].id"])
def test_a_jsonpath_that_looks_at_too_much_is_stopped(path: str) -> None:
    found = problem({"jsonpath": path}, DEEP, "application/json")
    assert found.kind == "source"
    assert "begin nearer" in found.message or "nested repeats" in found.message


def test_jsonpath_of_the_standard() -> None:
    value = json.loads(DEEP)
    assert jsonpath.evaluate("$.items[2].id", value) == [2]
    assert jsonpath.evaluate("$.items[-1].id", value) == [2999]
    assert jsonpath.evaluate("$.items[?@.id < 3].n.a[0]", value) == [1, 1, 1]
    assert len(jsonpath.evaluate("$..id", value)) == 3_000
    assert jsonpath.evaluate("$.items[?search(@.s, '^a{39}!$')].id", value)[:2] == [39, 79]
    assert jsonpath.evaluate("$.absent.a", value) == []


def test_deep_json_is_no_crash() -> None:
    text = "[" * 100_000 + "]" * 100_000
    assert problem({"jsonpath": "$..a"}, text, "application/json").kind == "source"
    deep: Any = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises((Overrun, ValueError)):
        jsonpath.evaluate("$..a", deep)


def test_deep_and_wide_pages_are_no_crash() -> None:
    fields = {"t": {"css": "div", "type": "lines"}, "m": {"microdata": "a"}, "x": "string(//div)"}
    rule = from_value({"site_id": "a", "fields": fields}).rule
    begun = time.monotonic()
    for body in (
        "<div itemscope itemprop=a>" * 20_000,
        "<div>" * 3_000 + "x",
        "<div itemscope>" + "<i itemprop=a>b</i>" * 50_000,
    ):
        extract(rule, Page("https://h.example/", body))
    assert time.monotonic() - begun < SECONDS


def test_a_page_has_no_more_items_than_can_be_used() -> None:
    rule = from_value({"site_id": "a", "each": "i", "fields": {"t": ":scope"}, "unique_key": "content"}).rule
    found = extract(rule, Page("https://h.example/", "<i>x</i>" * 6_000))
    assert len(found.items) == 5_000
    assert "6000" in found.notes[0]
