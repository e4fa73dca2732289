"""Reading seeds: the flat form in JSON and YAML, the body of POST /dispatch, and what is said about faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.errors import ConfigError
from perseid.model.seed import ApiSource, CsvSource, Schedule, Seed, SqlSource, Template, UrlList
from perseid.seeds.loading import SeedInvalid, dumped, from_value, load, load_file
from perseid.seeds.rule import rule_of

WHOLE = """
seed_id: shoes
site_id: shop
task_type: template
payload:
  url: https://shop.example/{kind}?page={page:1..20}
  values: {kind: [shoes, boots]}
  page: list
schedule: {cron: "30 6 * * MON-FRI", timezone: Europe/Berlin, catch_up: skip, at_once: false}
priority: 7
timestamp: 2025-03-01T00:00:00Z
force: true
rule: {fields: {title: {css: h1, required: true}}}
"""


def faults(text: str | bytes, **how: Any) -> list[str]:
    with pytest.raises(SeedInvalid) as raised:
        load(text, **how)
    return [
        f"{each.line}:{each.column} {each.path}: {each.message}"
        for each in raised.value.complaints
        if each.severity == "error"
    ]


def test_a_whole_seed_is_read() -> None:
    loaded = load(WHOLE)
    seed = loaded.seed
    assert loaded.warnings == ()
    assert seed.source == Template(
        url="https://shop.example/{kind}?page={page:1..20}", values={"kind": ("shoes", "boots")}, page="list"
    )
    assert seed.schedule == Schedule(cron="30 6 * * MON-FRI", timezone="Europe/Berlin", catch_up="skip", at_once=False)
    assert (seed.seed_id, seed.site_id, seed.priority, seed.force) == ("shoes", "shop", 7, True)
    assert seed.timestamp == "2025-03-01T00:00:00Z"
    assert seed.rule is not None
    assert rule_of(seed.rule).fields["title"].required


SEEDS: list[dict[str, Any]] = [
    {"seed_id": "a", "site_id": "b", "urls": ["https://x.example/"], "parse_rule": {"title": "h1"}},
    {"seed_id": "a", "site_id": "b", "urls": "https://x.example/", "method": "POST", "headers": {"X": "y"}},
    {"seed_id": "a", "site_id": "b", "task_type": "urls", "payload": ["https://x.example/"], "timestamp": 17},
    {"seed_id": "a", "site_id": "b", "task_type": "urls", "payload": "https://x.example/", "schedule": None},
    {"seed_id": "a", "site_id": "b", "task_type": "template", "schedule": "@daily",
     "payload": {"url": "https://x.example/{a}/{date:%Y}", "values": {"a": "b"}, "since": "2024-01-01"}},
    {"seed_id": "a", "site_id": "b", "task_type": "sitemap", "schedule": "6h", "rule": None,
     "payload": {"url": "https://x.example/sitemap.xml", "match": "/p/", "modified_since": "today-7"}},
    {"seed_id": "a", "site_id": "b", "task_type": "feed", "schedule": {"every": 90, "catch_up": "all"},
     "payload": {"url": "https://x.example/feed", "max_pages": 3}},
    {"seed_id": "a", "site_id": "b", "task_type": "api", "schedule": "*/5 * * * *",
     "payload": {"url": "https://x.example/api", "items": "$.items[*].id", "template": "https://x.example/{value}",
                 "parameter": "page", "start": 0}},
    {"seed_id": "a", "site_id": "b", "task_type": "sql",
     "payload": {"connection": "shop", "query": "-- all\nselect id, url from p", "key": "id", "template": "{url:raw}"}},
    {"seed_id": "a", "site_id": "b", "task_type": "csv",
     "payload": {"folder": "in", "file": "a/b.csv", "column": "url", "delimiter": ";", "encoding": "gbk"}},
]  # fmt: skip


@pytest.mark.parametrize("value", SEEDS)
def test_what_is_written_out_is_the_same_seed(value: dict[str, Any]) -> None:
    seed = from_value(value).seed
    again = from_value(dumped(seed))
    assert again.seed == seed
    assert dumped(again.seed) == dumped(seed)
    kept = msgspec.json.encode(seed)
    assert msgspec.json.decode(kept, type=Seed) == seed


def test_the_body_of_dispatch_is_a_seed_of_addresses() -> None:
    seed = from_value(SEEDS[0]).seed
    assert seed.source == UrlList(urls=("https://x.example/",))
    assert seed.rule is not None
    assert (seed.rule["site_id"], rule_of(seed.rule).fields["title"].from_[0].css) == ("b", "h1")
    assert from_value(SEEDS[1]).seed.source == UrlList(urls=("https://x.example/",), method="POST", headers={"X": "y"})


def test_a_schedule_may_be_a_text() -> None:
    read = [from_value({**SEEDS[0], "schedule": said}).seed.schedule for said in ("@daily", "5 4 * * *", "6h")]
    assert read == [Schedule(cron="@daily"), Schedule(cron="5 4 * * *"), Schedule(every_s=21600.0)]


def test_a_file_may_hold_a_list(tmp_path: Path) -> None:
    file = tmp_path / "seeds.yaml"
    file.write_text(
        "- {seed_id: a, site_id: s, urls: https://x.example/}\n- {seed_id: b, site_id: s, urls: https://x.example/}"
    )
    assert [seed.seed_id for seed in load_file(file).seeds] == ["a", "b"]
    file.write_text(file.read_text().replace("seed_id: b", "seed_id: a"))
    with pytest.raises(SeedInvalid, match=r"seeds\.yaml:2:3: error: \[1\]\.seed_id: 'a' stands in the list twice"):
        load_file(file)
    with pytest.raises(ConfigError, match="can't be read"):
        load_file(tmp_path / "none.yaml")
    assert faults("[]") == ["1:1 (document): the list of seeds is empty"]


def test_all_faults_are_told_at_once_with_their_places() -> None:
    text = """\
seed_id: a b
site_id: shop
task_type: sql
payload:
  connection: db
  query: DELETE FROM x
  kee: id
  template: https://x.example/
schedule: {cron: "61 * * * *", timezone: Mars, catch_up: twice}
priority: 10
rule: {title: "h1["}
"""
    found = faults(text)
    assert [each.partition(" ")[0] for each in found] == [
        "1:10", "6:10", "7:3", "8:13", "9:18", "9:42", "9:58", "10:11", "11:15",
    ]  # fmt: skip
    assert found[1] == "6:10 payload.query: a SELECT is wanted here, not 'DELETE FROM x'"
    assert found[2] == "7:3 payload.kee: there is no key 'kee' here. Did you mean 'key'?"
    assert found[4].startswith("9:18 schedule.cron: the minute of '61 * * * *' is none; a cron text is")
    assert found[6] == "9:58 schedule.catch_up: all, once or skip is wanted here, not 'twice'"
    assert found[8].startswith("11:15 rule.title.from[0].css: 'h1[' is no CSS selector")


BROKEN = [
    ({"site_id": "s", "urls": ["https://x.example/"]}, "the key 'seed_id' is missing"),
    ({"seed_id": "a", "site_id": "s"}, "the key 'task_type' is missing"),
    ({"seed_id": "a", "site_id": "s", "task_type": "sqll", "payload": {}}, "Did you mean 'sql'?"),
    ({"seed_id": "a", "site_id": "s", "task_type": "ftp.list", "payload": {}}, "Allowed are urls, template, sitemap"),
    ({"seed_id": "a", "site_id": "s", "urls": []}, "payload.urls: at least 1 entry is wanted here"),
    ({"seed_id": "a", "site_id": "s", "urls": ["ftp://x"]}, "none of these is an address of the web: 'ftp://x'"),
    ({**SEEDS[0], "schedule": "6 parsecs"}, "an interval is 90s, 5m, 6h, 7d"),
    ({**SEEDS[0], "schedule": "@reboot"}, "'@reboot' is no schedule"),
    ({**SEEDS[0], "schedule": "0 0 30 2 *"}, "schedule.cron"),
    ({**SEEDS[0], "schedule": {"cron": "@daily", "every": 5}}, "keep one of the two"),
    ({**SEEDS[0], "schedule": "500ms"}, "at least 1 s is wanted here"),
    ({**SEEDS[0], "schedule": "999999999d"}, "schedule.every: at most"),
    ({**SEEDS[0], "parse_rule": "news"}, "rule: a rule or a mapping of selectors is wanted here, not a text"),
    ({**SEEDS[0], "parse_rule": {}}, "not an empty one"),
    ({**SEEDS[0], "parse_rule": {"site_id": "c", "fields": {"t": "h1"}}}, "the rule is of the site 'c'"),
    ({**SEEDS[0], "payload": {}}, "there is no key 'urls' here"),
    ({**SEEDS[5], "payload": {"url": "sitemap.xml"}}, "'sitemap.xml' is no address of the web"),
    ({**SEEDS[5], "payload": {"url": "https://x.example/", "match": ["("]}}, "payload.match[0]: the pattern '('"),
    ({**SEEDS[5], "payload": {"url": "https://x.example/", "modified_since": "soon"}}, "a day is wanted here"),
    ({**SEEDS[7], "payload": {"url": "https://x.example/", "items": "items"}}, "payload.items: the JSONPath 'items'"),
    ({**SEEDS[8], "payload": {"connection": "a", "query": "select 1", "template": "https://x/"}}, "no placeholder"),
    ({**SEEDS[9], "payload": {"folder": "in", "file": "../x.csv"}}, "a path within the folder is wanted here"),
    ({**SEEDS[9], "payload": {"folder": "in", "file": "x", "encoding": "base64"}}, "there is no encoding 'base64'"),
    ({**SEEDS[9], "payload": {"folder": "in", "file": "x", "delimiter": ";;"}}, "at most 1 characters are allowed"),
    ("text", "a seed is a mapping"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "said"), BROKEN)
def test_a_fault_is_named_with_what_is_allowed(value: object, said: str) -> None:
    with pytest.raises(SeedInvalid) as raised:
        from_value(value)
    assert said in str(raised.value)


def test_a_single_bad_address_is_a_warning() -> None:
    loaded = from_value({**SEEDS[0], "urls": ["https://x.example/", "ftp://y"]})
    assert "payload.urls[1]: 'ftp://y' is no address of the web and will be left out" in str(loaded.warnings[0])


def test_what_is_risky_is_a_warning() -> None:
    api = from_value({**SEEDS[7], "payload": {"url": "https://x.example/", "items": "$.a"}})
    sql = from_value({**SEEDS[8], "payload": {"connection": "a", "query": "select url from p"}})
    assert isinstance(api.seed.source, ApiSource)
    assert isinstance(sql.seed.source, SqlSource)
    assert "only one page is read" in str(api.warnings[0])
    assert "rows in no order" in str(sql.warnings[0])


def test_broken_syntax_is_one_fault_with_its_place() -> None:
    assert faults("seed_id: [")[0].startswith("2:1 (document): this is no YAML")
    assert faults('{"seed_id": "a",}') == ["1:16 (document): this is no JSON: take away the comma before '}'"]
    assert faults(b"\xff\xfe", is_json=True)[0].endswith("the file is not UTF-8; save it as UTF-8")


def test_a_seed_of_a_file_knows_its_folder() -> None:
    assert from_value(SEEDS[9]).seed.source == CsvSource(
        folder="in", file="a/b.csv", column="url", delimiter=";", encoding="gbk"
    )
