"""The published schema: it is the one in docs/, and says of a rule what the loader says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from perseid.rules.complaint import RuleInvalid
from perseid.rules.loading import dumped, from_value, load_file
from perseid.rules.schema import schema

PUBLISHED = Path(__file__).parents[3] / "docs/rule.schema.json"
FILES = sorted(Path(__file__).with_name("sites").rglob("*.yaml")) + sorted(
    Path(__file__).with_name("sites").rglob("rule.json")
)
VALIDATOR = jsonschema_rs.validator_for(schema())


def test_the_published_schema_is_current() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == schema(), (
        "write it anew: perseid rules schema > docs/rule.schema.json"
    )


def test_it_is_a_valid_schema() -> None:
    jsonschema_rs.meta.validate(schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_rules_that_load_are_valid(path: Path) -> None:
    # A date is a text in the rule, as the loader has it.
    value = yaml.load(path.read_text("utf-8"), Loader=yaml.BaseLoader) if path.suffix == ".yaml" else None
    if value is None:
        value = json.loads(path.read_text("utf-8"))
        assert [error.message for error in VALIDATOR.iter_errors(value)] == []
    full = dumped(load_file(path).rule)
    assert [error.message for error in VALIDATOR.iter_errors(full)] == []


SHORT = [
    {"site_id": "a", "selectors": {"title": "h1.article-title"}},
    {"site_id": "a", "fields": {"t": ["h1", {"xpath": "//h2"}], "u": {"css": "a", "attr": "href", "type": "url"}}},
    {"site_id": "a", "fields": {"t": "h1"}, "unique_key": ["t"], "follow": "a.next", "next": "auto", "sinks": "db"},
    {"site_id": "a", "fields": {"t": "h1"}, "unique_key": "content", "follow": ["a", {"css": "b", "limit": 3}]},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"timeout": "5s", "rate": 2, "delay": "1s", "block": "/x"}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"delay": [1, "3s"], "backoff": {"base": "1s", "max": "5m"}}},
    {"site_id": "a", "fields": {"t": "h1"}, "recollect_after": "7d", "alerts": {"window": "1h"}, "each": "//li",
     "unique_key": "content"},
    {"site_id": "a", "fields": {"t": {"from": "h1", "steps": {"case": "lower"}}}, "each": {"css": "li"},
     "unique_key": "t", "tests": {"page": "x.html", "expect": {"t": "x"}}},
    {"site_id": "a", "fields": {"o": {"type": "object", "css": ".o", "fields": {"x": "i", "y": ["b", "u"]}}}},
]  # fmt: skip
WRONG = [
    {"selectors": {"title": "h1"}},
    {"site_id": "a"},
    {"site_id": "a b", "fields": {"t": "h1"}},
    {"site_id": "a", "fields": {}},
    {"site_id": "a", "fields": {"1t": "h1"}},
    {"site_id": "a", "fields": {"t": "h1"}, "selectors": {"t": "h1"}},
    {"site_id": "a", "fields": {"t": {"css": "h1", "type": "txt"}}},
    {"site_id": "a", "fields": {"t": {"css": "h1", "requird": True}}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"timeout": "5 parsecs"}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"timeout": 0}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"concurrency": 0}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"browser": "maybe"}},
    {"site_id": "a", "fields": {"t": "h1"}, "fetch": {"delay": [1, 2, 3]}},
    {"site_id": "a", "fields": {"t": "h1"}, "next": {"parameter": "p", "limit": 0}},
    {"site_id": "a", "fields": {"t": "h1"}, "alerts": [{"empty_rate": 2}]},
    {"site_id": "a", "fields": {"t": 5}},
    ["site_id"],
]


@pytest.mark.parametrize("value", SHORT)
def test_short_forms_are_valid_for_both(value: object) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(value)] == []
    from_value(value)


@pytest.mark.parametrize("value", WRONG)
def test_what_is_wrong_is_so_for_both(value: object) -> None:
    assert not VALIDATOR.is_valid(value)
    with pytest.raises(RuleInvalid):
        from_value(value)
