from __future__ import annotations

import pytest

from perseid.links.social import social_network


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("x.com", "x.com"),
        ("mobile.x.com", "x.com"),
        ("www.facebook.com", "facebook.com"),
        ("de.linkedin.com", "linkedin.com"),
        ("youtu.be", "youtu.be"),
        ("t.me.", "t.me"),
        ("netflix.com", None),
        ("x.com.evil.test", None),
        ("notfacebook.com", None),
        ("github.com", None),
        ("com", None),
        ("", None),
        ("[::1]", None),
    ],
)
def test_networks_are_known_by_whole_labels(host: str, entry: str | None) -> None:
    assert social_network(host) == entry
