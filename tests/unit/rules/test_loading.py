"""Rule files: what they may say, in short and in full, and what is said when something is wrong."""

from __future__ import annotations

import json
import string
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.errors import ConfigError, MissingExtra
from perseid.model.rule import Field, Rate, Rule, Source
from perseid.rules import loading
from perseid.rules.complaint import Complaint, RuleInvalid
from perseid.rules.loading import check, dumped, from_value, load, load_file


def only(text: str, name: str = "shop.yaml") -> Complaint:
    """The one error of a rule."""
    (found,) = [each for each in check(text, name) if each.severity == "error"]
    return found


def warnings(text: str) -> list[str]:
    return [each.message for each in load(text).warnings]


TAIL = "\nfields: {title: {css: h1, required: true}}\n"


def test_the_short_form_is_a_rule() -> None:
    rule = load('{"site_id": "blog", "selectors": {"title": "h1.article-title"}}').rule
    assert rule == Rule(site_id="blog", fields={"title": Field(from_=(Source(css="h1.article-title"),))})


@pytest.mark.parametrize(
    ("short", "source"),
    [
        ("h1 > a", Source(css="h1 > a")),
        ("a::attr(href)", Source(css="a", attr="href")),
        ("h1::text", Source(css="h1")),
        ("h1::own_text", Source(css="h1", take="own_text")),
        ("div::html", Source(css="div", take="html")),
        ("li::marker", None),
        ("//h1/text()", Source(xpath="//h1/text()")),
        ("./h1", Source(xpath="./h1")),
        ("(//h1)[1]", Source(xpath="(//h1)[1]")),
        ("string(//h1)", Source(xpath="string(//h1)")),
        ("$.a.b", Source(jsonpath="$.a.b")),
        ("$['a']", Source(jsonpath="$['a']")),
    ],
)
def test_a_text_is_a_source_by_its_beginning(short: str, source: Source | None) -> None:
    value = {"site_id": "a", "fields": {"t": short}}
    if source is None:
        with pytest.raises(RuleInvalid, match="no CSS selector"):
            from_value(value)
    else:
        assert from_value(value).rule.fields["t"].from_ == (source,)


def test_all_short_forms_at_once() -> None:
    rule = load(
        """
        site_id: 365
        fields: {t: [h1, //h2], u: {css: "a::attr(href)", type: url, steps: {case: lower}}}
        each: .card
        unique_key: [t, u]
        follow: a.detail
        next: auto
        fetch: {timeout: 500ms, rate: 2, delay: 2s, block: /private}
        recollect_after: 1w
        alerts: {window: 2h}
        sinks: db
        match: /p/
        """
    ).rule
    assert rule.site_id == "365"
    assert [source.xpath or source.css for source in rule.fields["t"].from_] == ["h1", "//h2"]
    assert rule.unique_key.fields == ("t", "u")
    assert rule.follow[0].from_ == (Source(css="a.detail"),)
    assert rule.next is not None
    assert rule.next.auto
    assert (rule.fetch.timeout_s, rule.fetch.rate, rule.fetch.delay_s) == (0.5, Rate(per_s=2), (2, 2))
    assert (rule.recollect_after_s, rule.alerts[0].window_s) == (604800, 7200)
    assert (rule.sinks, rule.match, rule.fetch.block) == (("db",), ("/p/",), ("/private",))


def test_defaults_are_those_of_a_polite_crawler() -> None:
    fetch = load("site_id: a" + TAIL).rule.fetch
    assert (fetch.timeout_s, fetch.robots, fetch.browser, fetch.concurrency) == (10, True, "never", 4)
    assert (fetch.backoff.base_s, fetch.backoff.attempts) == (2, 3)


def test_the_full_form_reads_back_as_itself() -> None:
    for path in Path(__file__).with_name("sites").rglob("*.yaml"):
        rule = load_file(path).rule
        assert from_value(dumped(rule)).rule == rule


@pytest.mark.parametrize(
    ("text", "line", "column", "path", "said"),
    [
        ("site_id: a\nfeilds: {t: h1}", 2, 1, "feilds", "there is no key 'feilds' here. Did you mean 'fields'?"),
        ("site_id: a\nfields:\n  t: {css: h1, typ: text}", 3, 16, "fields.t.typ", "Did you mean 'type'?"),
        ("site_id: a\nfields:\n  t: {css: h1, type: texd}", 3, 22, "fields.t.type", "Did you mean 'text'?"),
        ("site_id: a\nfields:\n  t:\n    css: 'h1['", 4, 10, "fields.t.from[0].css", "no CSS selector"),
        ("site_id: a\nfields:\n  t: //h1[", 3, 6, "fields.t.from[0].xpath", "no XPath"),
        ("site_id: a\nfields:\n  t: $.a[", 3, 6, "fields.t.from[0].jsonpath", "no JSONPath"),
        ("site_id: a\nfields:\n  t: {regex: '(a'}", 3, 14, "fields.t.from[0].regex", "missing )"),
        ("site_id: a\nfields:\n  t: {css: h1, required: yes}", 3, 26, "fields.t.required", "true or false"),
        ("site_id: a\nfields:\n  t: {css: h1, currency: EUR}", 3, 26, "fields.t.currency", "type price, not text"),
        ("site_id: a\nfields:\n  t: {type: text}", 3, 6, "fields.t", "has no source"),
        ("site_id: a\nfields:\n  t: {css: h1, jsonld: name}", 3, 6, "fields.t.from[0]", "make them two"),
        ("site_id: a\nfields:\n  t: {css: h1, group: 1}", 3, 23, "fields.t.from[0].group", "belongs to `regex`"),
        ("site_id: a\nfields:\n  t: {regex: a, group: b}", 3, 24, "fields.t.from[0].group", "has no group 'b'"),
        ("site_id: a\nfields:\n  t: {css: h1, type: object}", 3, 6, "fields.t", "needs `fields`"),
        ("site_id: a\nfields:\n  t: {css: a, check: {min: 3}}", 3, 28, "fields.t.check.min", "not text"),
        (
            "site_id: a\nfields:\n  t: {css: a, type: number, check: {min: 3, max: 1}}",
            3,
            42,
            "fields.t.check.min",
            "above",
        ),
        ("site_id: a\nfields:\n  t: {css: a, steps: [{lower: 1}]}", 3, 24, "fields.t.steps[0].lower", "no key 'lower'"),
        (
            "site_id: a\nfields:\n  t: {css: a, type: date, timezone: Mars/Base}",
            3,
            37,
            "fields.t.timezone",
            "no time zone",
        ),
        ("site_id: a\nfields:\n  t-x: h1", 3, 3, "fields.t-x", "must match"),
        ("site_id: a\nunique_key: [titel]" + TAIL, 2, 14, "unique_key.fields[0]", "Did you mean 'title'?"),
        ("site_id: a\neach: li" + TAIL, 1, 1, "unique_key", "share its address"),
        ("site_id: a\nfetch:\n  timeout: soon" + TAIL, 3, 12, "fetch.timeout", "10s, 5m"),
        ("site_id: a\nfetch:\n  timeout: 700" + TAIL, 3, 12, "fetch.timeout", "at most 600"),
        ("site_id: a\nfetch:\n  rate: 0" + TAIL, 3, 9, "fetch.rate.per_s", "at least 1e-06"),
        ("site_id: a\nfetch:\n  delay: [3s, 1s]" + TAIL, 3, 10, "fetch.delay", "shorter pause comes first"),
        ("site_id: a\nfetch:\n  browser: yes" + TAIL, 3, 12, "fetch.browser", "always, auto or never"),
        ("site_id: a\nfetch:\n  warm_up: /home" + TAIL, 3, 12, "fetch.warm_up", "no address"),
        ("site_id: a\nnext: {limit: 3}" + TAIL, 2, 7, "next", "how the list goes on"),
        ("site_id: a\nalerts: [{field: prise}]" + TAIL, 2, 18, "alerts[0].field", "no field 'prise'"),
        ("site_id: a\ntests: [{page: x.html}]" + TAIL, 2, 9, "tests[0]", "expects nothing"),
        ("site_id: a\ntests: [{page: x, expect: {titel: x}}]" + TAIL, 2, 35, "tests[0].expect[0].titel", "'title'"),
        ("site_id: a\nsite_id: b" + TAIL, 2, 1, "site_id", "stands here twice"),
        ("fields: {t: h1}", 1, 1, "(document)", "'site_id' is missing"),
        ("- a\n- b", 1, 1, "(document)", "a rule is a mapping"),
        ("site_id: [a" + TAIL, 2, 7, "(document)", "no YAML"),
        ("", 1, 1, "(document)", "empty"),
        ("site_id: a\nx: !!python/object:os.system {}" + TAIL, 2, 4, "(document)", "is not allowed"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, line: int, column: int, path: str, said: str) -> None:
    found = only(text)
    assert (found.line, found.column, found.path) == (line, column, path), str(found)
    assert said in found.message
    assert str(found) == f"shop.yaml:{line}:{column}: error: {path}: {found.message}"


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"site_id": "a",\n "fields": {"t": "h1",}}', 2, 22, "take away the comma"),
        ('{"site_id": "a" "b"}', 1, 17, "a comma or '}'"),
        ('{site_id: "a"}', 1, 2, "double quotes"),
        ("{\"site_id\": 'a'}", 1, 13, "a value is wanted"),
        ('{"site_id": "a\n"}', 1, 15, "invalid control character"),
        ('{"site_id": "a"} x', 1, 18, "ends before"),
        ('{"site_id"', 1, 11, "a colon"),
        ("[" * 100, 1, 62, "deeper"),
    ],
)
def test_faults_of_json_are_named_with_their_place(text: str, line: int, column: int, said: str) -> None:
    (found,) = check(text, "r.json", is_json=True)
    assert (found.line, found.column) == (line, column), str(found)
    assert said in found.message


def test_all_faults_are_told_at_once() -> None:
    text = """site_id: my shop
fields:
  title: {css: 'h1[', requird: true}
  price: {css: .p, type: prise}
unique_key: [titel]
fetch: {timeout: never, concurrency: 0}
"""
    found = [each for each in check(text) if each.severity == "error"]
    assert [each.path for each in found] == [
        "site_id",
        "fields.title.from[0].css",
        "fields.title.requird",
        "fields.price.type",
        "unique_key.fields[0]",
        "fetch.timeout",
        "fetch.concurrency",
    ]
    with pytest.raises(RuleInvalid) as caught:
        load(text)
    assert len(caught.value.complaints) >= len(found)
    assert all(str(each) in str(caught.value) for each in found)


def test_words_of_yaml_mean_what_people_think() -> None:
    fields = "{css: h1, type: boolean, default: off, yes: [y, on], description: 012}"
    rule = load(f"site_id: no\nfields:\n  on: {fields}").rule
    assert rule.site_id == "no"
    assert rule.fields["on"].default == "off"
    assert rule.fields["on"].yes == ("y", "on")
    assert rule.fields["on"].description == "012"


def test_anchors_and_merge_keys_are_understood() -> None:
    rule = load("site_id: a\nfields:\n  t: &t {css: h1, required: true}\n  u: {<<: *t, css: h2}\n").rule
    assert rule.fields["u"] == Field(from_=(Source(css="h2"),), required=True)


def test_what_anchors_unfold_to_is_bounded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (found,) = check("\n".join(lines))
    assert "unfolds to more than" in found.message
    (found,) = check("a: &a [*a]")
    assert "deeper" in found.message or "refers to itself" in found.message


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_bytes(b"\xef\xbb\xbfsite_id: a" + TAIL.encode())
    assert load_file(path).rule.site_id == "a"
    path.write_bytes(b"site_id: a\n# \xff")
    with pytest.raises(RuleInvalid, match=r"a\.yml:2:1: error: \(document\): the file is not UTF-8"):
        load_file(path)
    with pytest.raises(ConfigError, match="can't be read"):
        load_file(tmp_path / "none.yaml")
    (tmp_path / "a.txt").write_text("site_id: a")
    with pytest.raises(ConfigError, match="must end in"):
        load_file(tmp_path / "a.txt")
    path.write_bytes(b"#" * (loading.MAX_BYTES + 1))
    with pytest.raises(RuleInvalid, match="larger than"):
        load_file(path)


def test_yaml_needs_an_extra_and_json_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert load('{"site_id": "a", "selectors": {"t": "h1"}}').rule.site_id == "a"
    with pytest.raises(MissingExtra, match=r"perseid\[rules\]"):
        load("site_id: a" + TAIL)


SECRET = "site_id: a\nfetch:\n  {kind}: {{{name}: '{value}'}}" + TAIL.replace("{", "{{").replace("}", "}}")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [("headers", "Authorization", "Bearer abc"), ("headers", "X-Api-Key", "1"), ("cookies", "session_id", "1")],
)
def test_secrets_in_plain_sight_are_refused(kind: str, name: str, value: str) -> None:
    found = only(SECRET.format(kind=kind, name=name, value=value))
    assert found.path == f"fetch.{kind}.{name}"
    assert "${secret:NAME}" in found.message
    assert value not in found.message or len(value) == 1
    assert load(SECRET.format(kind=kind, name=name, value="${secret:X}")).warnings == ()


@pytest.mark.parametrize("value", ["${secret:}", "${secret}", "${ secret:A}", "${secret:A B}", "${secret:A"])
def test_references_are_well_written(value: str) -> None:
    assert "is no reference" in only(SECRET.format(kind="headers", name="X", value=value)).message


def test_references_stand_where_they_are_filled_in() -> None:
    found = only("site_id: a\nfields: {t: {css: h1, default: '${secret:A}'}}")
    assert found.path == "fields.t.default"
    assert "only below fetch.headers" in found.message


def test_a_login_uses_what_was_taken_before() -> None:
    text = "site_id: a\nfetch:\n  login:\n    - {url: 'https://h/', method: POST, form: {csrf: '${token}'}}" + TAIL
    assert "no earlier step takes" in only(text).message
    before = "  login:\n    - {url: 'https://h/', take: {token: 'input::attr(value)'}}"
    assert load(text.replace("  login:", before)).rule.fetch.login[0].take["token"].attr == "value"
    password = text.replace("'${token}'", "x, password: hunter2")
    assert "looks like a secret" in only(password).message


def test_warnings_leave_the_rule_usable() -> None:
    assert warnings("site_id: a\nfields: {t: h1}") == [
        "no field is `required`, so a broken selector will not be noticed"
    ]
    for browser in ("auto", "always"):
        (said,) = warnings(f"site_id: a\nfetch: {{browser: {browser}}}{TAIL}")
        assert "feature_unavailable" in said
    (said,) = warnings("site_id: a\nfetch: {robots: false}" + TAIL)
    assert "robots.txt" in said
    (said,) = warnings("site_id: a\nlanguage: tlh" + TAIL)
    assert "'tlh'" in said


NAMES = (
    "site_id fields selectors css xpath from type follow next fetch each unique_key tests alerts sinks rate timeout delay "
    "login take form headers regex group check steps min max many required jsonpath"
)
KEYS = st.sampled_from(NAMES.split())


def values(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """JSON values, most of them with keys that rules have."""
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
    return st.recursive(
        plain,
        lambda inner: (
            st.dictionaries(KEYS, inner, max_size=6)
            | st.dictionaries(text, inner, max_size=3)
            | st.lists(inner, max_size=3)
        ),
        max_leaves=25,
    )


@given(values(st.text(max_size=20)))
def test_no_value_is_too_strange(value: Any) -> None:
    text = json.dumps(value)
    found = check(text, is_json=True)
    assert found or from_value(value)
    for each in found:
        assert each.line == 1
        assert 1 <= each.column <= len(text) + 1
        assert each.message


@given(st.text(max_size=200))
def test_no_text_is_too_strange(text: str) -> None:
    for is_json in (True, False):
        assert all(each.message for each in check(text, is_json=is_json))


@given(values(st.text(alphabet=string.printable[:95], max_size=20)))
def test_json_and_yaml_say_the_same(value: Any) -> None:
    text = json.dumps(value)
    one = [(each.path, each.message) for each in check(text, is_json=True)]
    other = [(each.path, each.message) for each in check(text, is_json=False)]
    assert sorted(one) == sorted(other)
