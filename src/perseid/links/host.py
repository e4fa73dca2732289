"""Hosts: under which name politeness is counted, and which hosts belong to one domain."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from perseid.dom import url as urls

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+")


def politeness_host(url: str) -> str:
    """The authority that one bucket of requests is counted for; empty where `url` has no host.

    www and apex share it, and so do http and https; a port that is not the scheme's default is another
    server. A trailing dot makes no other host.

    >>> politeness_host("https://www.Example.org:8443/x")
    'example.org:8443'
    """
    parts = urls.parse(url)
    return "" if parts is None else authority(parts)


def authority(parts: urls.Url) -> str:
    """`politeness_host` of a parsed URL."""
    host = apex(parts.host)
    if parts.port is None or parts.port == urls.DEFAULT_PORT.get(parts.scheme):
        return host
    return f"{host}:{parts.port}"


def apex(host: str) -> str:
    """`host` without a leading `www.` and a trailing dot."""
    host = host.removesuffix(".")
    shorter = host.removeprefix("www.")
    return shorter if "." in shorter else host


def is_ip(host: str) -> bool:
    """Whether a host as the URL standard writes it is an IPv4 or IPv6 address."""
    return host.startswith("[") or _IPV4.fullmatch(host) is not None


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str | None:
    """The name one registers (public suffix and one label); None for addresses, suffixes, `localhost`.

    By the Public Suffix List with its private part: `a.github.io` and `b.github.io` are two owners.
    """
    host = host.removesuffix(".").lower()
    if "." not in host or is_ip(host):
        return None
    return _suffixes().privatesuffix(host)


def is_within(host: str, domain: str) -> bool:
    """Whether `host` is `domain` or one of its sub-domains, label by label."""
    return host == domain or host.endswith(f".{domain}")


def same_domain(host: str, other: str) -> bool:
    """Whether two hosts have one owner: the same registrable domain, or where there is none, one name."""
    if apex(host) == apex(other):
        return True
    mine = registrable_domain(host)
    return mine is not None and mine == registrable_domain(other)


@cache
def _suffixes() -> PublicSuffixList:
    """Reading the list takes about 50 ms of CPU, so only who asks for domains pays."""
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415  # lazy: the import alone takes 10 ms

    return PublicSuffixList()
