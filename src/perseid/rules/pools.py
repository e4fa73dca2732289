"""Whether published pools and block lists make sense: addresses, patterns, and secrets that stand in plain sight."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from perseid.model.pool import BlockList, IdentityPool, ProxyPool
from perseid.rules import regexes, secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMES = ("http", "https", "socks5", "socks5h")


def faults(value: object) -> Iterator[tuple[str, str]]:
    """What is wrong: (path, sentence). Messages never quote what may be a password."""
    if isinstance(value, ProxyPool):
        for number, proxy in enumerate(value.proxies):
            if fault := _proxy_fault(proxy):
                yield f"proxies[{number}]", fault
    elif isinstance(value, IdentityPool):
        yield from _plain_secrets(value)
    elif isinstance(value, BlockList):
        yield from _broken_patterns(value)


def _plain_secrets(pool: IdentityPool) -> Iterator[tuple[str, str]]:
    for number, identity in enumerate(pool.identities):
        for name, text in identity.headers.items():
            if secrets.is_telling(name, text):
                message = f"{name!r} looks like a secret; write ${{secret:NAME}} and define NAME in the settings"
                yield f"identities[{number}].headers.{name}", message


def _broken_patterns(listed: BlockList) -> Iterator[tuple[str, str]]:
    for number, pattern in enumerate(listed.patterns):
        try:
            regexes.compiled(pattern)
        except ValueError as error:
            yield f"patterns[{number}]", f"the pattern is not valid: {error}"


def _proxy_fault(address: str) -> str:
    # A reference is no URL text: anything harmless stands for it while the address is judged.
    plain = secrets.REFERENCE.sub("x", address)
    try:
        parts = urlsplit(plain)
        scheme, host, _port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError:
        return "it is no address; write http://host:port or socks5://user:${secret:NAME}@host:port"
    if scheme not in _SCHEMES or not host:
        return "it is no address of a proxy; write http://host:port, https://host:port or socks5://host:port"
    password = address.rpartition("@")[0].partition("://")[2].partition(":")[2]
    if password and not secrets.REFERENCE.fullmatch(password):
        return "its password stands in plain sight; write ${secret:NAME} and define NAME in the settings"
    return ""
