from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.key import normalize
from perseid.links.similar import canonical, canonical_form, permutations

if TYPE_CHECKING:
    from pathlib import Path

segments = st.sampled_from(["", "a", "b", "index.html", "index.php", "index.html.bak", "www.", "%41", "%2F"])
hosts = st.sampled_from(
    [
        "d.example", "www.d.example", "www.www.d.example", "www.www.www.d.example", "www.example", "example",
        "www.com", "www.www.com", "com", "127.0.0.1", "[::1]", "d.example.", "www.d.example.",
        "u:p@d.example", "wwwd.example",
    ]
)  # fmt: skip
urls = st.builds(
    lambda scheme, host, port, parts, tail: f"{scheme}://{host}{port}/{'/'.join(parts)}{tail}",
    st.sampled_from(["http", "https"]),
    hosts,
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.lists(segments, max_size=4),
    st.sampled_from(["", "?q=1", "?", "#/r", "#top", "?a=/index.html"]),
)


def published(shared: Path, case_id: str) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(case for case in map(json.loads, lines) if case["id"] == case_id)


@given(urls | st.text())
def test_a_url_is_among_its_own_spellings(url: str) -> None:
    found = permutations(url)
    assert normalize(url) in found
    assert len(set(found)) == len(found) > 0


@given(urls | st.text())
def test_every_spelling_yields_the_same_set(url: str) -> None:
    found = permutations(url)
    assert {permutations(member) for member in found} == {found}


@given(st.lists(urls, min_size=2, max_size=12))
def test_the_sets_of_different_pages_do_not_overlap(many: list[str]) -> None:
    for one, other in combinations({permutations(url) for url in many}, 2):
        assert set(one).isdisjoint(other)


@given(urls | st.text())
def test_the_canonical_spelling_is_the_first_and_its_own(url: str) -> None:
    assert canonical(url) == permutations(url)[0] == canonical(canonical(url)) == canonical_form(normalize(url))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.d.example/p/index.html", "https://d.example/p"),
        ("http://d.example", "https://d.example/"),
        ("http://d.example/index.php?x=1", "https://d.example/?x=1"),
        ("http://d.example/p/#/users", "https://d.example/p#/users"),
        ("http://d.example:8080/p/", "http://d.example:8080/p"),
        ("http://d.example/index.html/", "https://d.example/index.html/"),
        ("http://d.example/p//", "https://d.example/p//"),
        ("http://www.com/", "https://www.com/"),
        ("http://10.0.0.1/index.html", "https://10.0.0.1/"),
        ("mailto:a@www.d.example", "mailto:a@www.d.example"),
    ],
)
def test_the_canonical_spelling(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://d.example/p", "https://d.example/P"),
        ("https://d.example/p", "https://d.example/p.html"),
        ("https://d.example/p?a", "https://d.example/p?b"),
        ("https://d.example/", "https://m.d.example/"),
        ("http://d.example:443/", "http://d.example/"),
        ("https://d.example/p", "https://d.example/p/index.htm"),
    ],
)
def test_different_pages_stay_apart(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_permutations_of_the_published_case_fold_to_two_pages(shared: Path) -> None:
    case = published(shared, "U01")
    urls = case["input"]["urls"]
    assert len({canonical(url) for url in urls}) == case["expected"]["distinct_pages"]
    assert len({normalize(url) for url in urls}) == len(urls)
