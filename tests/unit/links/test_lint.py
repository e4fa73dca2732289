from __future__ import annotations

import pytest

from perseid.errors import ConfigError
from perseid.links.lint import lint
from perseid.model.options import ScopeRules

START = "https://e.example/docs/"


def warnings(start: str = START, **rules: object) -> str:
    return "\n".join(lint(ScopeRules(**rules), start))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pattern", [".*add-to-cart=.*", r"\?page", "[?]page", "a=1&b", r"/x\?.*", ".*?*?.*".replace("?*?", r"\?")]
)
def test_a_pattern_on_the_query_needs_the_full_url(pattern: str) -> None:
    assert "see only the path" in warnings(exclude=(pattern,))
    assert "see only the path" not in warnings(exclude=(pattern,), regex_on_full_url=True)


@pytest.mark.parametrize(
    "pattern", ["/docs/?$", "/docs/colou?r", "(?:a|b)/", "/docs/(?=x)", "(?<!a)b", "/docs/.*?/x", "(?<n>a)"]
)
def test_a_question_mark_of_the_syntax_is_no_query(pattern: str) -> None:
    assert "see only the path" not in warnings(exclude=(pattern,))


@pytest.mark.parametrize("pattern", ["https://e.example/docs/", r"^https:\/\/e\.example\/"])
def test_a_pattern_on_the_host_needs_the_full_url(pattern: str) -> None:
    assert "names a scheme or host" in warnings(include=(pattern,))
    assert not warnings(include=(pattern,), regex_on_full_url=True)


@pytest.mark.parametrize(
    ("glob", "regex"),
    [
        ("/blog/*", "'^/blog/.*$'"),
        ("/blog/*/x", "'^/blog/.*/x$'"),
        ("blog/*", "'^/blog/.*$'"),
        ("https://a.example/*", "'^https://a\\\\.example/.*$'"),
    ],
)
def test_a_glob_that_happens_to_be_valid_is_pointed_out(glob: str, regex: str) -> None:
    assert regex in warnings(exclude=(glob,))


def test_a_glob_that_is_not_valid_is_an_error() -> None:
    with pytest.raises(ConfigError, match="looks like a glob"):
        warnings(exclude=("*.html",))


@pytest.mark.parametrize("pattern", [r"^/documentation/16\.0/vi/.*$", "^/blog/", "^/blog$", "^/doc$"])
def test_an_include_outside_the_start_path_is_lost(pattern: str) -> None:
    assert "outside the start path /docs/" in warnings(include=(pattern,))
    assert "start path" not in warnings(include=(pattern,), entire_domain=True)
    assert "start path" not in warnings("https://e.example/", include=(pattern,))


@pytest.mark.parametrize(
    "pattern",
    ["^/docs/a", "^/docs$", "^/d", "^/doc", "^/.*", "/blog/", "^/(docs|blog)/", "^/docs?/", "^/a|/docs", r"^\/docs\/"],
)
def test_an_include_that_may_lie_under_the_start_path_is_not(pattern: str) -> None:
    assert "start path" not in warnings(include=(pattern,))


def test_a_plain_exclude_says_how_far_it_reaches() -> None:
    assert "'^/a(/|$)'" in warnings(exclude=("/a",))
    assert not warnings(exclude=("^/a(/|$)",))
    assert not warnings(include=("/docs/a",))


def test_fragments_and_classes_that_can_never_match_are_pointed_out() -> None:
    assert "fragments are cut off" in warnings(exclude=(".*#.*",))
    assert "fragments are cut off" not in warnings(exclude=("#/admin",), regex_on_full_url=True)
    assert "percent-encoded" in warnings(exclude=("[éè]",))


def test_ordinary_patterns_are_not_commented_on() -> None:
    assert not warnings(include=("^/docs/guide/", r"\.html$"), exclude=(r"/print/\d+$",))
