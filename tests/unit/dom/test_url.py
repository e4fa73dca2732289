from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.dom import url

if TYPE_CHECKING:
    from pathlib import Path


def every_case(shared: Path) -> list[dict[str, Any]]:
    cases = json.loads((shared / "data/url/urltestdata.json").read_text(encoding="utf-8"))
    return [case for case in cases if isinstance(case, dict)]


def web_cases(shared: Path) -> list[dict[str, Any]]:
    return [case for case in every_case(shared) if not case.get("failure") and case["href"].startswith("http")]


def test_all_web_cases_of_the_standard_resolve_as_browsers_do(shared: Path) -> None:
    wrong = []
    cases = web_cases(shared)
    for case in cases:
        base = case.get("base")
        found = url.join(case["input"], base) if base else url.serialize(case["input"])
        if found != case["href"]:
            wrong.append((case["input"], base, found, case["href"]))
    assert wrong == []
    assert len(cases) == 232


def test_the_parts_of_all_web_cases_are_those_of_the_standard(shared: Path) -> None:
    for case in web_cases(shared):
        parts = url.parse(case["href"])
        assert parts is not None
        assert f"{parts.scheme}:" == case["protocol"]
        assert parts.host == case["hostname"]
        assert parts.port == (int(case["port"]) if case["port"] else url.DEFAULT_PORT.get(parts.scheme))
        assert parts.path == case["pathname"]
        assert parts.query == case["search"].removeprefix("?")
        assert parts.fragment == case["hash"].removeprefix("#")
        assert parts.origin == case.get("origin", parts.origin)


def test_what_the_standard_refuses_is_none(shared: Path) -> None:
    """Save labels that pretend to be punycode: they are let through, and no resolver knows them."""
    refused = [case for case in every_case(shared) if case.get("failure")]
    for case in refused:
        base = case.get("base")
        found = url.join(case["input"], base) if base else url.serialize(case["input"])
        assert found is None or "xn--" in found, case
    assert len(refused) > 200


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("\n\t  https://news.example/a/1.html \n", "https://news.example/a/1.html"),
        (" ./b \n", "https://news.example/contact/b"),
        ("a\n/\tb", "https://news.example/contact/a/b"),
        ("//other.example", "https://other.example/"),
        ("?q", "https://news.example/contact/?q"),
        ("", "https://news.example/contact/"),
        ("..\\x", "https://news.example/x"),
        ("é", "https://news.example/contact/%C3%A9"),
        ("https://bücher.example", "https://xn--bcher-kva.example/"),
        ("http://[::1", None),
        ("http://a b/", None),
        ("https://x.example:99999/", None),
    ],
)
def test_a_link_is_cleaned_and_resolved(href: str, expected: str | None) -> None:
    assert url.join(href, "https://news.example/contact/") == expected


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert url.join("a\ud800b", "https://e.example/") == "https://e.example/a%EF%BF%BDb"
    assert url.join("a", "https://e.example/\udfff/") == "https://e.example/%EF%BF%BD/a"


def test_a_null_character_does_no_harm() -> None:
    assert url.join("a\0b", "https://e.example/") == "https://e.example/a%00b"


def test_with_an_unusable_base_only_absolute_links_resolve() -> None:
    assert url.Base("no base").join_all(["x", "https://e.example/x"]) == [None, "https://e.example/x"]


def test_a_batch_answers_in_order() -> None:
    assert url.Base("https://e.example/d/").join_all(["a", "http://[", "../b"]) == [
        "https://e.example/d/a",
        None,
        "https://e.example/b",
    ]


def test_the_port_in_effect_is_known_where_it_is_not_written() -> None:
    parts = url.parse("HTTPS://User:pw@E.example:443/p?q#f")
    assert parts == url.Url("https://User:pw@e.example/p?q#f", "https", "e.example", 443, "/p", "q", "f")


def test_an_origin_names_the_port_only_if_it_is_special() -> None:
    assert url.origin("http://e.example:80/x") == "http://e.example"
    assert url.origin("http://e.example:8080/x") == "http://e.example:8080"
    assert url.origin("mailto:a@e.example") == "null"
    assert url.origin("e.example") is None


@given(st.text(), st.text())
def test_no_text_makes_it_raise(href: str, base: str) -> None:
    found = url.join(href, base)
    assert found is None or url.serialize(found) == found


@given(st.text(alphabet=st.characters(), max_size=50))
def test_what_resolves_against_a_web_page_is_absolute(href: str) -> None:
    found = url.join(href, "https://e.example/a/b?c#d")
    assert found is None or url.parse(found) is not None


BASES = (
    "https://e.org", "https://e.org/a/b?q=1#f", "http://u:p@e.org:81/x/y/z/w", "https://e.org/a//b/", "https://e.org//",
    "https://e.org/a/b?x\\y", "https://e.org/?a/b", "ftp://e.org/a/b", "data:text/html,x", "",
)  # fmt: skip
PIECES = (
    "../", "..", "./", ".", "a", "b.html", "#", "?", "x=1", "&", "%2e", "%", "%2F", "/", "https://", "http://", "//", "e.org", "E.org",
    "xn--a", "a--b", "1", "0x1", ":80", ":", "é", " ", "\n", "\\", "|", "~", "(", ",", "+", "=", "@", "'", "c:", "!", "$", ";", "*", "-",
)  # fmt: skip


@given(st.sampled_from(BASES), st.lists(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), max_size=4))
def test_links_joined_together_are_those_joined_one_by_one(base: str, hrefs: list[str]) -> None:
    assert url.Base(base).join_all(hrefs) == [url.Base(base).join(href) for href in hrefs]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "b", "c?d", "c?d/e", "b#f", ".", "e;f"]),
            st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=6),
        ),
        max_size=5,
    )
)
def test_what_a_link_came_to_on_one_page_does_not_mislead_on_its_neighbours(pages: list[tuple[str, list[str]]]) -> None:
    for page, hrefs in pages:
        base = f"https://e.example/a/{page}"
        assert url.Base(base).join_all(hrefs) == [url.Base(base).join(href) for href in hrefs]


@pytest.mark.parametrize(
    ("address", "label"),
    [("https://u:p@www.e.org:81/a.b", "org"), ("https://e.org", "org"), ("http://localhost/x", "localhost"), ("x", "")],
)
def test_the_last_label_of_a_host(address: str, label: str) -> None:
    assert url.top_label(address) == label
