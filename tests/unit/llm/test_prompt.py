"""Cutting texts to what a model is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.llm.prompt import cut, prompt, share, tokens_of

REST = "\n\n[The rest was left out.]"


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        ("one.\n\ntwo\nthree. four five", "one."),
        ("one\ntwo. three four five six", "one"),
        ("one. two three four five six", "one"),
        ("onetwothreefourfivesixseven", "onetwothreefourfivesixseven"),
    ],
)
def test_a_text_is_cut_where_a_paragraph_line_or_sentence_ends(end: str, kept: str) -> None:
    beginning = "x" * 300
    room = len(beginning) + len(end) + len(REST)
    short = cut(beginning + end + "z" * 900, -(-room // 3))
    assert short.removesuffix(REST).rstrip("z") == beginning + kept


def test_no_character_is_cut_in_two() -> None:
    assert cut("日" * 1000, 100).startswith("日" * 90)
    assert "\ufffd" not in cut("日" * 1000, 101)


@given(st.text(max_size=3000), st.integers(12, 1500))
def test_a_cut_text_fits(text: str, tokens: int) -> None:
    assert tokens_of(cut(text, tokens)) <= tokens + 1


@given(st.lists(st.text(max_size=400), min_size=1, max_size=6), st.integers(60, 1000))
def test_texts_share_what_there_is(texts: list[str], tokens: int) -> None:
    kept, shortened = share(texts, tokens)
    assert len(kept) == len(texts)
    assert shortened == (kept != texts)
    if sum(map(tokens_of, texts)) <= tokens:
        assert kept == texts


def test_short_texts_stay_whole_beside_long_ones() -> None:
    kept, shortened = share(["word " * 5000, "short", "other " * 5000], 1000)
    assert kept[1] == "short"
    assert shortened
    assert abs(len(kept[0]) - len(kept[2])) < 100


def test_several_texts_are_numbered() -> None:
    asked = prompt("S", "U", ("old", "new"), mark="m", tokens=1000)
    assert asked.user.count("<<<material m>>>") == 2
    assert asked.user.index("Text 1 of 2") < asked.user.index("old") < asked.user.index("Text 2 of 2")


def test_a_question_without_material_stays_as_it_is() -> None:
    assert prompt("S", "U" * 9000, (), mark="m", tokens=100) == ("S", "U" * 9000, False)


def test_no_room_for_any_material_is_an_error_that_says_what_is_needed() -> None:
    with pytest.raises(ValueError, match=r"^\d+$"):
        prompt("S", "U" * 3000, ("page " * 900,), mark="m", tokens=1000)
