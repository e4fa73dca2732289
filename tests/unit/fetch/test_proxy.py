from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.errors import ConfigError
from perseid.fetch.proxy import mask_proxy, parse_proxy


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://h", ("http", "h", 80, None, None)),
        ("https://h:8443", ("https", "h", 8443, None, None)),
        ("SOCKS5://h", ("socks5", "h", 1080, None, None)),
        ("http://u:p%40s@h:3128/", ("http", "h", 3128, "u", "p@s")),
        ("socks5://u@[::1]:1080", ("socks5", "::1", 1080, "u", None)),
    ],
)
def test_proxies_are_read(url, parts):
    proxy = parse_proxy(url)
    assert (proxy.scheme, proxy.host, proxy.port, proxy.username, proxy.password) == parts
    assert proxy.socks == url.lower().startswith("socks")


@pytest.mark.parametrize("url", ["", "h:3128", "ftp://u:secret@h", "http://", "http://u:secret@h:x", "socks4://h"])
def test_what_is_no_proxy_is_refused_without_showing_secrets(url):
    with pytest.raises(ConfigError) as caught:
        parse_proxy(url)
    assert "secret" not in str(caught.value)


@given(
    st.from_regex(r"[a-z@:/%]{1,20}", fullmatch=True),
    st.from_regex(r"[!-~]{8,30}", fullmatch=True).filter(lambda text: "@" not in text),
)
def test_masking_hides_any_password(user, password):
    assert password not in mask_proxy(f"http://{user}:{password}@host.test:8080")


def test_a_url_without_credentials_is_shown_as_it_is():
    assert mask_proxy("http://host.test:8080") == "http://host.test:8080"
    assert mask_proxy("socks5://u:p@host.test:1") == "socks5://***@host.test:1"
    assert mask_proxy("u:p@host") == "***@host"
