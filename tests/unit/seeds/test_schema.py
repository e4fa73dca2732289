"""The published schema of seeds: it is the one in docs/, and says of a seed what the loader says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from perseid.seeds.loading import SeedInvalid, dumped, from_value
from perseid.seeds.schema import schema

PUBLISHED = Path(__file__).parents[3] / "docs/seed.schema.json"
VALIDATOR = jsonschema_rs.validator_for(schema())
URLS = {"seed_id": "a", "site_id": "b", "urls": ["https://x.example/"]}
LIST = {"seed_id": "a", "site_id": "b", "task_type": "urls", "payload": ["https://x.example/"]}
RIGHT = [
    URLS,
    LIST,
    [URLS, {**LIST, "seed_id": "c"}],
    {**URLS, "parse_rule": {"title": "h1"}, "schedule": "@daily", "timestamp": 1733000000, "priority": 0},
    {**LIST, "payload": "https://x.example/", "schedule": "6h", "force": True, "rule": None},
    {**LIST, "payload": {"urls": "https://x.example/", "page": "list"}, "schedule": {"every": "5m"}},
    {**LIST, "task_type": "template", "payload": {"url": "https://x.example/{a}", "values": {"a": ["b", 5]}}},
    {**LIST, "task_type": "sitemap", "payload": {"url": "https://x.example/s.xml", "match": "/p/"}},
    {**LIST, "task_type": "csv", "payload": {"folder": "in", "file": "x.csv", "header": False, "delimiter": "\t"}},
]
WRONG = [
    {"seed_id": "a", "site_id": "b"},
    {**LIST, "task_type": "sqll"},
    {**LIST, "task_type": "sql"},
    {**LIST, "payload": {}},
    {**LIST, "payload": []},
    {**LIST, "urls": ["https://x.example/"]},
    {**LIST, "priority": 10},
    {**LIST, "priority": "high"},
    {**LIST, "schedule": 5},
    {**LIST, "schedule": {"every": "5 parsecs"}},
    {**LIST, "schedule": {"cron": "@daily", "catch_up": "twice"}},
    {**LIST, "rule": "news"},
    {**LIST, "tast_type": "urls"},
    {**URLS, "task_type": "sitemap"},
    {**LIST, "task_type": "feed", "payload": {"url": "https://x.example/", "max_pages": 0}},
    {**LIST, "task_type": "csv", "payload": {"folder": "in", "file": "x", "delimiter": ""}},
    [],
    "https://x.example/",
]


def test_the_published_schema_is_current() -> None:
    assert json.loads(PUBLISHED.read_text("utf-8")) == schema(), (
        "write it anew: perseid seeds schema > docs/seed.schema.json"
    )


def test_it_is_a_valid_schema() -> None:
    jsonschema_rs.meta.validate(schema())


@pytest.mark.parametrize("value", RIGHT)
def test_what_loads_is_valid_in_both_forms(value: object) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(value)] == []
    full = [dumped(seed) for seed in from_value(value).seeds]
    assert [error.message for error in VALIDATOR.iter_errors(full)] == []


@pytest.mark.parametrize("value", WRONG)
def test_what_is_wrong_is_so_for_both(value: object) -> None:
    assert not VALIDATOR.is_valid(value)
    with pytest.raises(SeedInvalid):
        from_value(value)
