from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.errors import ConfigError
from perseid.links import patterns
from perseid.links.javascript import MAX_LENGTH
from perseid.links.patterns import Patterns, from_glob

if TYPE_CHECKING:
    from pathlib import Path

engines = pytest.mark.parametrize("linear", [True, False], ids=["re2", "regex"])


def found(pattern: str, text: str, *, linear: bool = True) -> bool:
    return Patterns([pattern], linear=linear).first_match(text) == pattern


@engines
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b", "/abc", True),
        ("^b", "/abc", False),
        ("^/a$", "/a", True),
        ("^/a$", "/a/b", False),
        (r"^\/blog\/\d{4}\/[^\/]+$", "/blog/2024/post", True),
        (r"^\/blog\/\d{4}\/[^\/]+$", "/blog/24/post", False),
        (r"(?<year>\d{4})-(?<month>\d\d)", "/2024-05", True),
        (r"^/(?!private)", "/public", True),
        (r"^/(?!private)", "/private", False),
        (r"(?<=/v)\d+", "/v2", True),
        (r"(?<=/v)\d+", "/x2", False),
        (r"(?<!un)safe", "/unsafe", False),
        (r"(?<=/(?:en|deu)/)x", "/deu/x", True),
        (r"/(?<s>\w)\k<s>/", "/aa/", True),
        (r"/(?<s>\w)\k<s>/", "/ab/", False),
        (r"/(\w)\1/", "/aa/", True),
        (r"/(\w)\1/", "/ab/", False),
        (r"^/(x)?\1y", "/y", True),
        (r"[^]", "/", True),
        (r"[]", "/", False),
        (r"[[]", "/[", True),
        (r"[[:alpha:]]", "/a:]", True),
        (r"[[:alpha:]]", "/z", False),
        (r"[\w-]+\.html", "/a-b.html", True),
        (r"{id}", "/{id}", True),
        (r"a{,2}", "/a{,2}", True),
        (r"a{,2}", "/aa", False),
        (r"a]}", "/a]}", True),
        (r"\x2f\u0061", "/a", True),
        (r"\A\Z", "/AZ", True),
        (r"\e\_", "/e_", True),
        (r"\bfoo\b", "/foo.html", True),
        (r"\bfoo\b", "/foobar", False),
        (r"^\S+$", "/a b", False),
        (r"a #b", "/a #b", True),
        (r"a&&b~~", "/a&&b~~", True),
        (r"[a&&b]", "/&", True),
        (r"(?i)BLOG", "/blog", True),
        (r"(?i:B)log", "/blog", True),
        (r"B", "/blog", False),
        ("/日本", "/%E6%97%A5%E6%9C%AC/x", True),
        ("/é+$", "/%C3%A9%C3%A9", True),
        ("/(é|è)", "/%C3%A8", True),
        (r"a.b", "/a%0Ab", False),
        (r"^/$", "/", True),
        (r"x*?$", "/x", True),
    ],
)
def test_patterns_mean_what_javascript_means(pattern: str, text: str, expected: bool, linear: bool) -> None:
    assert found(pattern, text, linear=linear) is expected


@engines
def test_the_first_match_is_the_first_in_the_order_given(linear: bool) -> None:
    many = ["x", r"(?<=/)b", "b", r"(?=b)b", "/"]
    assert Patterns(many, linear=linear).first_match("/b") == r"(?<=/)b"
    assert Patterns(list(reversed(many)), linear=linear).first_match("/b") == "/"
    assert Patterns(many, linear=linear).first_match("b") == "b"
    assert Patterns(many, linear=linear).first_match("c") is None


def test_blank_patterns_are_ignored() -> None:
    blank = Patterns(["", "  ", "\t"])
    assert not blank
    assert blank.first_match("/") is None


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("*", 0), ("/a/**", 4), ("a++", 2), ("(", 0), ("/(a(b)", 1), ("a)", 1), ("/[a", 1), ("/a\\", 2), ("(?>a)", 0),
        ("(?#a)", 0), ("(?R)", 0), ("(?|a)", 0), ("(?(1)a)", 0), ("/(?<1>a)", 1), ("a|*", 2), ("^*", 1), ("(?", 0),
        ("(*)", 1), (r"\ud800", 0), ("a{2}{3}", 4), ("(?<=a)*", 6),
    ],
)  # fmt: skip
def test_an_invalid_pattern_is_refused_with_its_position(pattern: str, position: int) -> None:
    with pytest.raises(ConfigError) as caught:
        Patterns(["/fine", pattern])
    assert f"The pattern {pattern!r} is not valid: at position {position} " in str(caught.value)


@pytest.mark.parametrize("pattern", [r"(a)\2", r"\k<no>", "[z-a]", "a{3,2}", "a{99999999999}", "(" * 2000 + ")" * 2000])
def test_what_only_an_engine_sees_is_refused_too(pattern: str) -> None:
    with pytest.raises(ConfigError, match="is not valid"):
        Patterns([pattern])


def test_a_glob_gets_the_regular_expression_it_wanted() -> None:
    with pytest.raises(ConfigError) as caught:
        Patterns(["*.html"])
    assert r"'^.*\\.html$'" in str(caught.value)


def test_a_pattern_may_not_be_endless() -> None:
    with pytest.raises(ConfigError) as caught:
        Patterns(["a" * (MAX_LENGTH + 1)])
    assert len(str(caught.value)) < 1000


def test_an_overrun_is_no_match_and_is_recorded_once() -> None:
    evil = Patterns([r"^/(?=(?:a|aa)+$)", "/a"])
    text = "/" + "a" * 60 + "!"
    started = time.process_time()
    assert evil.first_match(text) == "/a"
    assert evil.first_match(text) == "/a"
    assert time.process_time() - started < 20 * patterns.TIMEOUT_S
    assert len(evil.warnings) == 1
    assert "50 ms" in evil.warnings[0]


def test_a_pattern_that_is_always_too_slow_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_OVERRUNS", 3)
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.005)
    evil = Patterns([r"^/(?=(?:a|aa)+$)"])
    slow = "/" + "a" * 60 + "!"
    for _ in range(5):
        assert evil.first_match(slow) is None
    assert evil.first_match("/a") is None
    assert len(evil.warnings) == 2
    assert evil.warnings[1].endswith("was too slow 3 times and is no longer tried.")


def test_the_linear_engine_takes_what_it_can_in_linear_time() -> None:
    pytest.importorskip("re2")
    evil = Patterns([r"^/(?:a|aa)+$"])
    assert evil.first_match("/" + "a" * 5000 + "!") is None
    assert evil.warnings == []


def test_without_the_linear_engine_all_patterns_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert found(r"^/a/\d+$", "/a/1")


pieces = st.sampled_from(
    ["a", "b", "/", "-", r"\d", r"\w", r"\.", ".", "[ab]", "[^a/]", r"\b", "^", "$", "(a|b)", "(?:a|/)", "{", "}", "]",
     "a{2}", "b*", "a?", "(?<n>a)", "x|", "[^]", "&", "#", r"\/"]
)  # fmt: skip


@given(st.lists(pieces, min_size=1, max_size=6).map("".join), st.text("ab/-1.{}]&#", max_size=12))
def test_both_engines_agree(pattern: str, text: str) -> None:
    try:
        linear = Patterns([pattern])
    except ConfigError:
        return
    assert linear.first_match(text) == Patterns([pattern], linear=False).first_match(text)


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_a_clear_refusal(text: str) -> None:
    try:
        Patterns([text]).first_match("/some/path")
    except ConfigError as error:
        assert "is not valid" in str(error)  # noqa: PT017  # both outcomes are right


@given(st.text(st.characters(exclude_categories=["Cs"], max_codepoint=127), max_size=20))
def test_a_glob_without_wildcards_finds_itself_only(text: str) -> None:
    literal = text.replace("\\", "\\\\").replace("*", "\\*").replace("?", "\\?")
    pattern = from_glob(literal)
    assert found(pattern, text) or "\n" in text or "\r" in text
    assert not found(pattern, text + "x")


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("/blog/*", "/blog/a/b", "/my/blog/a"),
        ("*.html", "/a/b.html", "/a/bxhtml"),
        ("/v?/", "/v1/", "/v12/"),
        (r"*\?*", "/a?b", "/a"),
        ("**/x", "/a/x", "/a/xy"),
    ],
)
def test_a_glob_means_what_a_shell_means(glob: str, yes: str, no: str) -> None:
    assert found(from_glob(glob), yes)
    assert not found(from_glob(glob), no)


def test_escaped_globs_of_the_published_case(shared: Path) -> None:
    case = published(shared, "S10")
    exclude = Patterns([from_glob(glob) for glob in case["input"]["exclude_glob"]])
    kept = [url for url in case["input"]["urls"] if exclude.first_match(url) is None]
    assert kept == case["expected"]["accepted"]


def published(shared: Path, case_id: str) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(case for case in map(json.loads, lines) if case["id"] == case_id)
