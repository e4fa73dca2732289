"""JSON out of what models say."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.llm.reading import json_of, said

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), VALUES, min_size=1, max_size=4))
def test_an_object_is_found_between_sentences(value: dict[str, object]) -> None:
    assert json_of(f"Here you are: {json.dumps(value)} - anything else?") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"just text"', "just text"),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ("Two: [1] and [1, 2, 3], the second is right.", [1, 2, 3]),
        ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
        ('{"code": "```json\\n{}\\n```"}', {"code": "```json\n{}\n```"}),
        ('In {braces} it says {"a": 1}', {"a": 1}),
    ],
)
def test_values_are_read(text: str, value: object) -> None:
    assert json_of(text) == value


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("<think>{}</think>", "it is empty"),
        ("No idea.", "it holds no JSON"),
        ('{"a": ', "its JSON is broken"),
        ('{"a": NaN}', "its JSON is broken"),
        ('{"a": "\\ud800"}', "its JSON is broken"),
        ("[" * 5000 + "]" * 5000, "its JSON is broken"),
    ],
)
def test_what_could_not_be_stored_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        json_of(text)


@given(st.text(alphabet='{}[]",:` \n1a', max_size=300))
def test_rubbish_is_a_value_error_or_a_value(text: str) -> None:
    with contextlib.suppress(ValueError):
        json.dumps(json_of(text))


def test_thoughts_are_no_answer_even_without_an_end() -> None:
    assert said("<think>let me see") == ""
    assert said("The <think> tag is not HTML.") == "The <think> tag is not HTML."
