"""Two versions of a page, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.answers.compare import compare_json, differing
from perseid.answers.schema import Checker

from .conftest import Scripted

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"price": {"$ref": "#/$defs/money"}, "parts": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["price"],
    "$defs": {"money": {"type": "number"}},
}


async def compare(model: Scripted, schema: dict[str, Any] | None = SCHEMA) -> dict[str, Any]:
    return (await compare_json(model, "was 5", "is 7", prompt="The price", schema=schema, timeout_s=9)).fields


async def test_fields_that_differ_are_told_with_both_values(model: Scripted) -> None:
    model.answers = [{"previous": {"price": 5, "parts": []}, "current": {"price": 7, "parts": []}}]
    assert await compare(model) == {"price": {"previous": 5, "current": 7}}


async def test_both_versions_are_material_of_one_question(model: Scripted) -> None:
    model.answers = [{"previous": {"price": 5}, "current": {"price": 5}}]
    assert await compare(model) == {}
    assert [asked.material for asked in model.asked] == [("was 5", "is 7")]


@pytest.mark.parametrize(
    ("side", "holds"), [({"price": 5}, True), ({"price": "five"}, False), ({"price": 5, "parts": [{}]}, False)]
)
async def test_each_version_follows_the_schema_with_its_references(
    model: Scripted, side: dict[str, Any], holds: bool
) -> None:
    model.answers = [{"previous": {"price": 5}, "current": {"price": 5}}]
    await compare(model)
    asked = model.asked[0].schema
    assert asked is not None
    assert (Checker(asked).faults({"previous": side, "current": side}) == []) is holds


async def test_without_a_schema_objects_are_compared(model: Scripted) -> None:
    model.answers = [{"previous": {"a": 1}, "current": {"b": 2}}]
    assert await compare(model, None) == {
        "a": {"previous": 1, "current": None},
        "b": {"previous": None, "current": 2},
    }


def test_what_is_no_object_is_one_field() -> None:
    assert differing([1], [2]) == {"value": {"previous": [1], "current": [2]}}
    assert differing([1], [1]) == {}
