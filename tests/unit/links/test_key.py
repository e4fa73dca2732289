from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perseid.links.key import normalize, url_key

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("https://example.org/A/b", "https://example.org/A/b"),
        ("https://example.org/a%2Fb", "https://example.org/a%2Fb"),
        ("https://example.org/a%2fb", "https://example.org/a%2Fb"),
        ("https://example.org/%7euser/%41", "https://example.org/~user/A"),
        ("https://example.org/%257e", "https://example.org/%257e"),
        ("https://example.org/a/./b/../c", "https://example.org/a/c"),
        ("https://example.org/é", "https://example.org/%C3%A9"),
        ("https://example.org/%c3%a9", "https://example.org/%C3%A9"),
        ("https://example.org/?", "https://example.org/"),
        ("https://example.org/?b=2&a=1", "https://example.org/?b=2&a=1"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://example.org.:8443/a", "https://example.org:8443/a"),
        ("https://example.org/a./b", "https://example.org/a./b"),
        ("https://example.org/a#", "https://example.org/a"),
        ("https://example.org/a?x#top", "https://example.org/a?x"),
        ("https://example.org/#/users", "https://example.org/#/users"),
        ("https://example.org/#!/users/2", "https://example.org/#!/users/2"),
        ("https://example.org/a#!bang", "https://example.org/a"),
        ("https://example.org/a//b/", "https://example.org/a//b/"),
        ("no url", "no url"),
    ],
)
def test_only_what_cannot_change_the_page_is_folded(url: str, expected: str) -> None:
    assert normalize(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a?x=1", "https://example.org/a"),
        ("https://example.org/a?x=1#top", "https://example.org/a"),
        ("https://example.org/a?x=1#/users?tab=2", "https://example.org/a#/users?tab=2"),
        ("https://example.org/#/a?b", "https://example.org/#/a?b"),
    ],
)
def test_the_query_goes_on_request_and_a_route_keeps_its_own(url: str, expected: str) -> None:
    assert normalize(url, ignore_query=True) == expected


def test_section_anchors_fold_and_hash_routes_are_pages(shared: Path) -> None:
    case = published(shared, "U03")
    assert list(dict.fromkeys(map(normalize, case["input"]["urls"]))) == case["expected"]["distinct"]


def published(shared: Path, case_id: str) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(case for case in map(json.loads, lines) if case["id"] == case_id)


def test_only_an_empty_query_is_dropped() -> None:
    assert normalize("https://example.org/a?") == "https://example.org/a"
    assert normalize("https://example.org/a??") == "https://example.org/a??"
    assert normalize("https://example.org/a?b?") == "https://example.org/a?b?"


@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
@example(path="", query="?", ignore=False)
def test_normalising_twice_changes_nothing_more(path: str, query: str, ignore: bool) -> None:
    once = normalize(f"https://example.org/{path}?{query}", ignore_query=ignore)
    assert normalize(once, ignore_query=ignore) == once


@given(st.text(), st.integers())
def test_a_key_fits_a_signed_64_bit_column(text: str, seed: int) -> None:
    key = url_key(text, seed)
    assert -(2**63) <= key < 2**63


def test_keys_of_both_signs_come_back_from_sqlite() -> None:
    keys = [url_key(f"https://example.org/{n}", 7) for n in range(50)]
    assert min(keys) < 0 < max(keys)
    connection = sqlite3.connect(":memory:")
    try:
        assert [connection.execute("SELECT ?", (key,)).fetchone()[0] for key in keys] == keys
    finally:
        connection.close()


def test_the_seed_decides_the_key() -> None:
    assert url_key("https://example.org/", 1) != url_key("https://example.org/", 2)
    assert url_key("https://example.org/", 1) == url_key("https://example.org/", 1)
    assert url_key("https://example.org/", -1) == url_key("https://example.org/", 2**64 - 1)


def test_a_known_key_stays_what_it_is() -> None:
    """Stored crawls are resumed by these numbers."""
    assert url_key("", 0) == 3244421341483603138
    assert url_key("https://example.org/", 42) == -9020198965129992747
