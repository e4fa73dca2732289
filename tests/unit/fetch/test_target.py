from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.target import read_target


@pytest.mark.parametrize(
    ("url", "host", "port", "named", "path"),
    [
        ("http://a.test/", "a.test", 80, "a.test", "/"),
        ("https://A.test/B?c", "a.test", 443, "a.test", "/B?c"),
        ("http://a.test:8080", "a.test", 8080, "a.test:8080", "/"),
        ("http://a.test:80/x", "a.test", 80, "a.test", "/x"),
        ("http://a.test?q", "a.test", 80, "a.test", "/?q"),
        ("http://a.test/?#part?x", "a.test", 80, "a.test", "/?"),
        ("https://[2001:db8::1]:8443//x", "2001:db8::1", 8443, "[2001:db8::1]:8443", "//x"),
        ("http://a.test:/x", "a.test", 80, "a.test", "/x"),
        ("http://u@evil.test:p@a.test/", "a.test", 80, "a.test", "/"),
        ("http://a.test/@b.test:1/", "a.test", 80, "a.test", "/@b.test:1/"),
    ],
)
def test_a_url_is_taken_apart_and_not_rewritten(url, host, port, named, path):
    target = read_target(url)
    assert (target.site.host, target.site.port, target.site.named, target.path) == (host, port, named, path)


@pytest.mark.parametrize(
    "url",
    [
        "", "nonsense", "//a.test/", "ftp://a.test/", "http://", "http:///x", "http://:80/", "http://a.test:x/",
        "http://a.test:70000/", "http://a:b:c/", "http://[::1/", "http://a]/", "http://a b/", "http://a/\r\nX: y",
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_refused(url):
    with pytest.raises(ValueError, match=r"."):
        read_target(url)


@given(st.text(max_size=60))
def test_no_text_upsets_it(text):
    try:
        target = read_target(f"http://{text}")
    except ValueError:
        return
    assert target.path.startswith("/")
    assert 0 <= target.site.port <= 65535
