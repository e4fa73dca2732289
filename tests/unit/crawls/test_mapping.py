"""The order of a map under a search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perseid.crawls.mapping import MapLink, rank


def _ranked(urls: list[str], search: str | None) -> list[str]:
    return [link.url for link in rank([MapLink(url=url) for url in urls], search)]


def test_without_words_the_order_stays() -> None:
    assert _ranked(["https://e/b", "https://e/a"], None) == ["https://e/b", "https://e/a"]
    assert _ranked(["https://e/b", "https://e/a"], " - ") == ["https://e/b", "https://e/a"]


def test_a_whole_word_beats_a_part_of_one() -> None:
    assert _ranked(["https://e/", "https://e/installation", "https://e/install"], "Install")[:2] == [
        "https://e/install",
        "https://e/installation",
    ]


def test_more_words_beat_fewer() -> None:
    assert _ranked(["https://e/python", "https://e/python-docs"], "docs python")[0] == "https://e/python-docs"


def test_titles_count_where_they_are_known() -> None:
    links = [MapLink(url="https://e/1"), MapLink(url="https://e/2", title="Pricing")]
    assert rank(links, "pricing")[0].url == "https://e/2"


@given(st.lists(st.text(max_size=20)), st.text(max_size=20))
def test_nothing_is_lost(urls: list[str], search: str) -> None:
    assert sorted(_ranked(urls, search)) == sorted(urls)
