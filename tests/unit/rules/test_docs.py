"""docs/rules.md: each key stands there with its type, default and meaning, and its examples are rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from perseid.model import rule as model
from perseid.rules.loading import load

DOCS = Path(__file__).parents[3] / "docs/rules.md"
PARTS = (
    model.Rule, model.Field, model.Source, model.Step, model.Check, model.UniqueKey, model.Follow, model.NextPage,
    model.FetchPolicy, model.Rate, model.Backoff, model.LoginStep, model.Alert, model.PageTest,
)  # fmt: skip


def rows(part: type) -> list[str]:
    """The lines of a part's table."""
    found = inspect.type_info(part)
    assert isinstance(found, inspect.StructType)
    return [
        f"| `{each.encode_name}` | {kind(each.type)} | {default(each)} | {meaning(each.type)} |"
        for each in found.fields
    ]


def kind(of: inspect.Type) -> str:
    extra: dict[str, Any] = {}
    while isinstance(of, inspect.Metadata):
        extra.update(of.extra or {})
        of = of.type
    if extra.get("duration"):
        return "duration"
    if extra.get("pattern"):
        return "pattern"
    match of:
        case inspect.UnionType():
            return " or ".join(kind(each) for each in of.types if not isinstance(each, inspect.NoneType))
        case inspect.VarTupleType():
            return f"list of {kind(of.item_type)}"
        case inspect.TupleType():
            return f"[{', '.join(kind(each) for each in of.item_types)}]"
        case inspect.DictType():
            return f"mapping to {kind(of.value_type)}"
        case inspect.StructType():
            return f"[{of.cls.__name__}](#{of.cls.__name__.lower()})"
        case inspect.LiteralType():
            return ", ".join(f"`{each}`" for each in of.values)
        case inspect.IntType():
            return "whole number"
        case inspect.FloatType():
            return "number"
        case inspect.BoolType():
            return "true, false"
        case inspect.AnyType():
            return "any"
    return "text"


def default(of: inspect.Field) -> str:
    if of.required:
        return "needed"
    value = of.default if of.default_factory is msgspec.NODEFAULT else of.default_factory()
    if value in (None, "", (), {}) or isinstance(value, msgspec.Struct):
        return ""
    written = msgspec.json.encode(value).decode().strip('"')
    return f"`{written.removesuffix('.0')}`"


def meaning(of: inspect.Type) -> str:
    said = ""
    while isinstance(of, inspect.Metadata):
        said = said or (of.extra_json_schema or {}).get("description", "")
        of = of.type
    return said.replace("|", "\\|")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_each_key_is_documented(part: type) -> None:
    text = DOCS.read_text("utf-8")
    section = text.partition(f"### {part.__name__}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    found = [line for line in section.splitlines() if line.startswith("| `")]
    assert found == rows(part)


EXAMPLES = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_rules(text: str) -> None:
    if "site_id:" not in text:  # a part of one
        text = (
            f"site_id: a\nfields: {{title: {{css: h1, required: true}}}}\n{text}"
            if "fields:" not in text
            else f"site_id: a\n{text}"
        )
    load(text)
