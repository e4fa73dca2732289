"""Schemas of strangers: what they check, and that none of them costs us dear."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from perseid.answers.schema import Checker, repeats
from perseid.errors import ConfigError, MissingExtra
from perseid.testing import Site

ORDER = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "$defs": {"item": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}},
}


def fan(levels: int) -> dict[str, Any]:
    """A short schema that unfolds to two to the power of `levels`."""
    definitions: dict[str, Any] = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$defs": definitions | {f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def test_faults_say_where_and_what() -> None:
    checker = Checker(ORDER)
    assert checker.faults({"items": [{"n": 1}, {"n": "x"}, {}]}) == [
        'at items/1/n: "x" is not of type "integer"',
        'at items/2: "n" is a required property',
    ]


def test_what_follows_the_schema_has_none() -> None:
    assert Checker(ORDER).faults({"items": [{"n": 1}]}) == []


def test_an_empty_schema_takes_anything() -> None:
    assert Checker({}).faults([None]) == []


def test_older_drafts_are_read_by_their_own_rules() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert Checker(schema).faults(1) != []


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "nonsense"}, "no valid JSON Schema"),
        ({"pattern": "(["}, "no valid JSON Schema"),
        ({"$schema": "https://example.org/mine"}, "no valid JSON Schema"),
        ({"$ref": "#/$defs/missing"}, "no valid JSON Schema"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "only references within it"),
        ({"items": {"$ref": "file:///etc/hostname"}}, "only references within it"),
    ],
)
def test_schemas_that_are_none_are_refused(schema: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Checker(schema)


@pytest.mark.parametrize("place", ["$defs", "properties", "x-note", "definitions"])
async def test_no_reference_is_ever_fetched(place: str) -> None:
    async with Site() as site:
        site.respond("/schema.json", body="{}")
        with contextlib.suppress(ConfigError):
            Checker({"type": "object", place: {"a": {"$ref": site.url("/schema.json")}}}).faults({"a": 1})
        assert site.requests == []


def test_a_schema_that_unfolds_beyond_measure_is_refused() -> None:
    with pytest.raises(ConfigError, match="unfolds to too many parts"):
        Checker(fan(40))


def test_a_schema_that_unfolds_with_the_value_is_refused_for_deep_values() -> None:
    twice: dict[str, Any] = {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    value: list[Any] = []
    for _ in range(40):
        value = [value]
    assert Checker(twice).faults([[]]) == []
    assert "nested too deeply" in Checker(twice).faults(value)[0]


def test_a_schema_nested_beyond_measure_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(3000):
        schema = {"not": schema}
    with pytest.raises(ConfigError):
        Checker(schema)


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_that_is_nothing_but_itself_ends(schema: dict[str, Any]) -> None:
    assert Checker(schema).faults({"a": [1]}) == []


def test_a_pattern_that_explodes_is_a_fault_and_not_a_standstill() -> None:
    assert Checker({"pattern": "^(a|a)*(?=x)$"}).faults("a" * 60) != []


def test_the_repeats_of_a_tree_grow_with_its_depth_only() -> None:
    assert repeats(TREE, 40) < 200
    assert repeats(fan(3), 1) > 8


def test_without_the_package_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema_rs", None)
    with pytest.raises(MissingExtra, match=r"pip install 'perseid\[llm\]'"):
        Checker({"type": "object"})
