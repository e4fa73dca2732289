"""docs/seeds.md: each key stands there with its type, default and meaning, and its examples are seeds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.rules.test_docs import rows

from perseid.model.seed import Schedule
from perseid.seeds.loading import KINDS, Flat, load

TEXT = (Path(__file__).parents[3] / "docs/seeds.md").read_text("utf-8")


@pytest.mark.parametrize("part", [Flat, Schedule, *KINDS.values()], ids=lambda part: part.__name__)
def test_each_key_is_documented(part: type) -> None:
    section = TEXT.partition(f"### {part.__name__}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    found = [line for line in section.splitlines() if re.match(r"\| `\w+` \|", line) and line.count(" | ") >= 3]
    assert found[: len(rows(part))] == rows(part)


@pytest.mark.parametrize("text", re.findall(r"```(?:yaml|json)\n(.*?)```", TEXT, re.DOTALL))
def test_examples_are_seeds(text: str) -> None:
    loaded = load(text)
    assert [str(each) for each in loaded.warnings if "no field is `required`" not in each.message] == []


def test_all_task_types_have_an_example() -> None:
    for kind in KINDS:
        assert f"`task_type: {kind}`" in TEXT
        assert f"\ntask_type: {kind}\n" in TEXT or f"\ntask_type: {kind} " in TEXT
