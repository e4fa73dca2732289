from __future__ import annotations

import subprocess
import sys

import pytest

from perseid.links.host import is_within, politeness_host, registrable_domain, same_domain


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.Example.org/x", "example.org"),
        ("http://example.org:80/", "example.org"),
        ("https://example.org:80/", "example.org:80"),
        ("https://www.example.org:8443/", "example.org:8443"),
        ("https://example.org./", "example.org"),
        ("https://docs.example.org/", "docs.example.org"),
        ("https://www.com/", "www.com"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://user:pw@example.org/", "example.org"),
        ("https://www2.example.org/", "www2.example.org"),
        ("mailto:a@example.org", ""),
        ("nonsense", ""),
    ],
)
def test_politeness_is_counted_per_server(url: str, expected: str) -> None:
    assert politeness_host(url) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("A.Example.COM.", "example.com"),
        ("co.uk", None),
        ("ann.github.io", "ann.github.io"),
        ("x.ann.github.io", "ann.github.io"),
        ("localhost", None),
        ("127.0.0.1", None),
        ("[2001:db8::1]", None),
        ("shop.acme.example", "acme.example"),
        ("a.b.c.kobe.jp", "b.c.kobe.jp"),
        ("a.city.kobe.jp", "city.kobe.jp"),
        ("", None),
        ("a..example", None),
    ],
)
def test_the_registrable_domain_follows_the_public_suffix_list(host: str, expected: str | None) -> None:
    assert registrable_domain(host) == expected


@pytest.mark.parametrize(
    ("host", "other", "expected"),
    [
        ("a.acme.example", "b.acme.example", True),
        ("acme.example", "www.acme.example", True),
        ("a.co.uk", "b.co.uk", False),
        ("ann.github.io", "bob.github.io", False),
        ("evilacme.example", "acme.example", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("10.0.0.1", "11.0.0.1", False),
        ("localhost", "localhost", True),
        ("localhost", "intranet", False),
    ],
)
def test_hosts_of_one_owner(host: str, other: str, expected: bool) -> None:
    assert same_domain(host, other) is expected
    assert same_domain(other, host) is expected


def test_labels_are_compared_whole() -> None:
    assert is_within("a.example.org", "example.org")
    assert is_within("example.org", "example.org")
    assert not is_within("badexample.org", "example.org")
    assert not is_within("example.org.evil.test", "example.org")


def test_the_list_is_not_read_before_a_domain_is_asked_for() -> None:
    code = (
        "import sys; import perseid.links.scope as s; from perseid.model.options import ScopeRules;"
        "scope = s.Scope(ScopeRules(), 'https://a.example/', key_seed=1);"
        "assert scope.judge_url('https://b.example/') is not None;"
        "print('publicsuffixlist' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
