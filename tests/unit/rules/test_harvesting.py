"""What is written down of a page: items, those that are held back, and pages that gave nothing where they should."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.model.rule import PageKind
from perseid.rules.extracting import extract
from perseid.rules.harvesting import Origin, harvest
from perseid.rules.loading import from_value
from perseid.rules.page import Page

FIELDS = {"title": {"css": "h1", "required": True}}
LISTS = {"follow": "h2 a", "next": "a.next"}


def reasons(html: str, kind: PageKind = "detail", *, list_page: int = 1, **rule: Any) -> tuple[list[str], bool]:
    """Why items were held back, and whether the page counts as empty."""
    made = from_value({"site_id": "s", "fields": FIELDS, **rule}).rule
    url = "https://s.example/"
    found = extract(made, Page(url, html), kind, list_page=list_page)
    origin = Origin(1, 1, 1, "seed", url, url, kind, 0, list_page)
    written = harvest(made, found, origin)
    return [each.reason for each in written.exceptions], written.empty


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<h2><a href="/1">x</a></h2>', ([], False)),
        ('<a class=next href="/2">x</a>', ([], False)),
        ('<h3><a href="/1">x</a></h3>', (["missing:follow"], True)),
        ("", (["missing:follow"], True)),
    ],
)
def test_a_list_that_leads_nowhere_is_kept_for_a_better_rule(html: str, expected: tuple[list[str], bool]) -> None:
    assert reasons(html, "list", **LISTS) == expected


def test_the_end_of_a_list_is_no_fault() -> None:
    assert reasons("", "list", list_page=2, **LISTS) == ([], False)


def test_a_list_that_holds_items_is_judged_by_them() -> None:
    each = {"each": "li", "unique_key": "content", "follow": "h2 a", "items_on": ["list"]}
    assert reasons("<li><h1>x</h1></li>", "list", **each) == ([], False)
    assert reasons("<li>x</li>", "list", **each) == (["missing:title,missing:unique_key"], False)
    assert reasons("", "list", **each) == (["missing:*"], True)


def test_a_detail_leads_nowhere_by_right() -> None:
    assert reasons("<h1>x</h1>", **LISTS) == ([], False)
    assert reasons("", **LISTS) == (["missing:title"], False)
