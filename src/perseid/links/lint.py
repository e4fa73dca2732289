"""What people should be told about their patterns before a crawl: valid ones that don't do what they hope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.dom import url as urls
from perseid.links.patterns import Patterns, clipped, instead_of, looks_like_glob
from perseid.links.startpath import StartPath
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.model.options import ScopeRules

_GROUP_SYNTAX = later(r"\(\?(?:[:=!]|<[=!])")
_QUERY = later(r"\\\?|\[\^?[^\]]*\?[^\]]*\]|[=&]|\*\?\*")
_META = frozenset(".*+?()[]{}|^$\\")
_PLAIN = later(r"/?[\w/%-]+")
_NON_ASCII_CLASS = later(r"\[[^\]]*[^\x00-\x7f][^\]]*\]")


def lint(rules: ScopeRules, start_url: str) -> list[str]:
    """Warnings, a sentence or two each, about the patterns of a crawl that starts at `start_url`.

    Raises ConfigError on an invalid pattern.
    """
    found: list[str] = []
    for kind, patterns in (("include", rules.include), ("exclude", rules.exclude)):
        for pattern in Patterns(patterns).sources:
            found += [f"The {kind} pattern {clipped(pattern)!r} {text}" for text in _any(pattern, rules)]
    start = urls.parse(start_url)
    if start is not None and not rules.entire_domain and not rules.regex_on_full_url:
        found += _lost(rules, StartPath(start.path))
    found += [
        f"The exclude pattern {pattern!r} is found anywhere in a path: it also refuses {pattern}-more and "
        f"/some{pattern}. For this path and what lies below it write '^{pattern.rstrip('/')}(/|$)'."
        for pattern in rules.exclude
        if _PLAIN.fullmatch(pattern) and pattern.startswith("/") and not rules.regex_on_full_url
    ]
    return found


def _any(pattern: str, rules: ScopeRules) -> Iterator[str]:
    if not rules.regex_on_full_url:
        if "://" in pattern.replace(r"\/", "/"):
            yield (
                "names a scheme or host, but patterns see only the path of a URL. Switch regex_on_full_url "
                "on, or leave all before the path out."
            )
        elif _QUERY.search(_GROUP_SYNTAX.sub("(", pattern)):
            yield (
                "seems to mean the query, but patterns see only the path of a URL. Switch regex_on_full_url "
                "on to match the query too."
            )
    if looks_like_glob(pattern):
        yield (
            "looks like a glob, but patterns are regular expressions, in which '/*' is any number of "
            f"slashes. As a regular expression that glob is {instead_of(pattern)!r}."
        )
    if "#" in pattern and "#/" not in pattern and "#!" not in pattern.replace("\\", ""):
        yield "holds '#', but section fragments are cut off before patterns are tried."
    if _NON_ASCII_CLASS.search(pattern):
        yield (
            "has letters outside ASCII in a character class. URLs hold those percent-encoded, as several "
            "characters each; list them as alternatives, as in (é|è)."
        )


def _lost(rules: ScopeRules, start: StartPath) -> Iterator[str]:
    for pattern in rules.include:
        prefix, exact = _literal_prefix(pattern)
        if prefix and not start.may_cover(prefix, exact=exact):
            yield (
                f"The include pattern {clipped(pattern)!r} matches only paths outside the start path "
                f"{start.rule}, which are refused anyway (BACKWARD_CRAWLING). Allow the entire domain to get "
                "them."
            )


def _literal_prefix(pattern: str) -> tuple[str, bool]:
    """The text with which every match of an anchored pattern begins, and whether it is all of the path."""
    if not pattern.startswith("^") or "|" in pattern:
        return "", False
    out: list[str] = []
    at = 1
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern) and not pattern[at + 1].isalnum():
            char = pattern[at + 1]
            at += 1
        elif char in _META:
            break
        out.append(char)
        at += 1
    rest = pattern[at:]
    if out and rest[:1] in ("*", "?", "{"):
        out.pop()
    return "".join(out), rest == "$"
