"""What may be published beside rules: pools, limits and block lists."""

from __future__ import annotations

import pytest

from perseid.ports.configs import ConfigKind
from perseid.publishing.draft import draft
from perseid.rules.complaint import Invalid


def complaints_about(kind: ConfigKind, text: str) -> str:
    with pytest.raises(Invalid) as caught:
        draft(kind, text, name="eu")
    return str(caught.value)


def test_a_pool_of_proxies_keeps_its_secrets_by_name() -> None:
    pool = draft(
        ConfigKind.PROXY_POOL,
        '{"proxies": ["http://a.example:3128", "socks5://me:${secret:PROXY}@b.example:1080"], "rest": "5m"}',
        name="eu",
    )
    assert pool.value.rest_s == 300
    assert pool.value.failures == 3


@pytest.mark.parametrize("proxy", ["ftp://a.example", "http://", "a.example:3128", "http://a.example:port"])
def test_what_is_no_proxy_is_refused(proxy: str) -> None:
    assert "proxies[0]" in complaints_about(ConfigKind.PROXY_POOL, f'{{"proxies": ["{proxy}"]}}')


def test_a_password_in_plain_sight_is_refused_and_not_repeated() -> None:
    said = complaints_about(ConfigKind.PROXY_POOL, '{"proxies": ["http://me:hunter2@a.example:3128"]}')
    assert "proxies[0]" in said
    assert "hunter2" not in said


def test_an_identity_holds_no_plain_secret() -> None:
    assert draft(ConfigKind.IDENTITY_POOL, '{"identities": [{"user_agent": "A"}, {}]}', name="eu").value.identities
    text = '{"identities": [{"headers": {"Authorization": "Bearer abc"}}]}'
    assert "identities[0].headers.Authorization" in complaints_about(ConfigKind.IDENTITY_POOL, text)


def test_limits_and_block_lists_are_read() -> None:
    assert draft(ConfigKind.LIMITS, '{"concurrency": 2, "rate": {"per_s": 0.5}}', name="default").value.rate.burst == 1
    assert "patterns[0]" in complaints_about(ConfigKind.BLOCK_LIST, '{"hosts": ["a.example"], "patterns": ["("]}')
