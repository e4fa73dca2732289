"""What somebody set for one host is not shown to others."""

from __future__ import annotations

import pytest

from perseid.links.foreign import for_strangers, trusted


@pytest.mark.parametrize(
    ("named", "url", "allowed"),
    [
        ("https://a.test/", "https://a.test/x", True),
        ("https://a.test/", "https://www.a.test/x", True),
        ("http://a.test/", "https://a.test/x", True),
        ("https://a.test/", "http://a.test/x", False),
        ("https://a.test/", "https://a.test:8443/x", False),
        ("https://a.test/", "https://b.test/a.test/", False),
        ("https://a.test/", "https://sub.a.test/", False),
    ],
)
def test_trust_ends_at_the_host_and_at_encryption(named: str, url: str, allowed: bool) -> None:
    assert trusted(named, url) is allowed


def test_strangers_see_only_what_says_nothing() -> None:
    headers = [("Accept-Language", "de"), ("X-Signature", "s"), ("Authorization", "b"), ("X-Own", "1")]
    assert for_strangers(headers) == (("Accept-Language", "de"),)
