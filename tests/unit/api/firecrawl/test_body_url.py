"""Which URLs callers may name, and what is said of the others."""

from __future__ import annotations

import pytest

from perseid.api.firecrawl.body import url
from perseid.api.firecrawl.body.base import Hosts


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org",
        "http://example.org:8080/a?b=c#d",
        "example.org/docs",
        "EXAMPLE.ORG",
        "https://xn--mnchen-3ya.de/",
        "https://münchen.de/",
        "https://пример.рф/",
        "http://127.0.0.1:3000/x",
        "http://[::1]:3000/",
        "10.0.0.1",
        "https://user:pass@example.org/",
    ],
)
def test_web_addresses_pass(text: str) -> None:
    assert url.fault(text) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ftp://example.org/file", url.UNSUPPORTED_PROTOCOL),
        ("mailto:someone@example.org", url.UNSUPPORTED_PROTOCOL),
        ("javascript:alert(1)", url.UNSUPPORTED_PROTOCOL),
        ("localhost", url.NO_DOMAIN),
        ("localhost:3000/x", url.NO_DOMAIN),
        ("http://web/", url.NO_DOMAIN),
        ("https://example.a/", url.NO_DOMAIN),
        ("nothing at all", url.INVALID),
        ("http://example.org/" + "a" * url.LONGEST, url.TOO_LONG),
        ("", url.INVALID),
        ("http://", url.INVALID),
        ("http://exa mple.org/", url.INVALID),
    ],
)
def test_others_are_refused_with_the_sentence_of_the_contract(text: str, sentence: str) -> None:
    assert url.fault(text) == sentence


@pytest.mark.parametrize("text", ["localhost", "localhost:3000/x", "http://web/"])
def test_hosts_that_are_known_pass(text: str) -> None:
    assert url.fault(text, Hosts(frozenset({"localhost", "web"}))) is None


@pytest.mark.parametrize("text", ["http://web:8080/", "web:8080/docs", "localhost:3000"])
def test_other_hosts_of_this_network_pass_with_a_port(text: str) -> None:
    assert url.fault(text, Hosts(with_port=True)) is None


@pytest.mark.parametrize("text", ["http://web/", "http://web:80/", "nonsense", "not-a-url", "https://a.b:81/"])
def test_a_word_is_no_host_without_a_sign_of_it(text: str) -> None:
    assert url.fault(text, Hosts(with_port=True)) == url.NO_DOMAIN


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("example.org/A?b", "http://example.org/A?b"),
        ("localhost:3000", "http://localhost:3000"),
        ("https://example.org/blog", "https://example.org/blog"),
        ("HTTP://Example.org", "HTTP://Example.org"),
    ],
)
def test_a_scheme_is_added_and_nothing_else_is_touched(text: str, whole: str) -> None:
    assert url.with_scheme(text) == whole
