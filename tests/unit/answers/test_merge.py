"""One object out of several."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.answers.merge import Part, blank, merge, sources_of, union
from perseid.ports.llm import Reply

from .conftest import Scripted


async def merged(model: Scripted, *values: Any, schema: dict[str, Any] | None = None) -> Any:
    parts = [Part(f"http://e/{number}", value) for number, value in enumerate(values)]
    return await merge(model, parts, prompt="All", schema=schema, timeout_s=9)


@pytest.mark.parametrize(
    ("values", "value", "certain"),
    [
        ([{"a": 1}], {"a": 1}, True),
        ([{"a": 1}, {"a": None, "b": 2}], {"a": 1, "b": 2}, True),
        ([{"a": 1}, {"a": 1}], {"a": 1}, True),
        ([{"a": 1}, {"a": 2}], {"a": 1}, False),
        ([{"a": 1}, {"a": True}], {"a": 1}, False),
        ([{"tags": ["x", "y"]}, {"tags": ["y", "z"]}], {"tags": ["x", "y", "z"]}, True),
        ([{"people": [{"n": 1}]}, {"people": []}], {"people": [{"n": 1}]}, True),
        ([{"people": [{"n": 1}]}, {"people": [{"n": 2}]}], {"people": [{"n": 1}, {"n": 2}]}, False),
        ([{"a": {"b": 1}}, {"a": {"c": ""}}, {"a": {"d": 3}}], {"a": {"b": 1, "d": 3}}, True),
        ([{"a": ""}, {"a": None}], {"a": ""}, True),
        ([[1], [2]], [1, 2], True),
        (["x", "y"], "x", False),
    ],
)
def test_what_does_not_overlap_is_put_together(values: list[Any], value: Any, certain: bool) -> None:
    assert union(values) == (value, certain)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 2)), min_size=1, max_size=4))
def test_no_field_gets_lost(values: list[dict[str, int | None]]) -> None:
    whole, _certain = union(values)
    told = {name for value in values for name, field in value.items() if field is not None}
    assert all(whole[name] is not None for name in told)


async def test_pages_that_complete_each_other_need_no_model(model: Scripted) -> None:
    assert (await merged(model, {"a": 1}, {"b": 2})).value == {"a": 1, "b": 2}
    assert model.asked == []


async def test_pages_that_overlap_are_merged_by_the_model(model: Scripted) -> None:
    model.answers = [Reply({"people": [{"name": "Ada", "age": 36}]}, 7)]
    found = await merged(model, {"people": [{"name": "Ada"}]}, {"people": [{"name": "ada", "age": 36}]}, {})
    assert (found.value, found.tokens) == ({"people": [{"name": "Ada", "age": 36}]}, 7)
    assert model.asked[0].material == ('{"people":[{"name":"Ada"}]}', '{"people":[{"name":"ada","age":36}]}')


async def test_a_sum_that_breaks_the_schema_is_left_to_the_model(model: Scripted) -> None:
    model.answers = [{"tags": ["x"]}]
    schema = {"properties": {"tags": {"maxItems": 1}}}
    assert (await merged(model, {"tags": ["x"]}, {"tags": ["y"]}, schema=schema)).value == {"tags": ["x"]}


async def test_what_does_not_fit_into_one_question_is_merged_half_by_half(model: Scripted) -> None:
    model.answers = [lambda asked: Reply({"n": len(asked.material)}, 1, len(asked.material) > 2)]
    found = await merged(model, *[{"n": number} for number in range(10, 14)])
    assert [len(asked.material) for asked in model.asked] == [4, 2, 2, 2]
    assert (found.tokens, found.cut) == (4, False)


def test_sources_are_the_pages_that_said_something() -> None:
    parts = [Part("http://e/1", {"a": 1, "b": []}), Part("http://e/2", {"a": 2, "b": [{"c": ""}, {"c": 1}]})]
    assert sources_of(parts) == {"a": ["http://e/1", "http://e/2"], "b": ["http://e/2"]}


@pytest.mark.parametrize("value", [None, "", " ", [], {}, [None, ""], {"a": [{"b": None}]}])
def test_blank_says_nothing(value: Any) -> None:
    assert blank(value)


@pytest.mark.parametrize("value", [0, False, "x", [0], {"a": False}])
def test_zero_and_false_say_something(value: Any) -> None:
    assert not blank(value)
