"""Proxies, one per request: HTTP, HTTPS and SOCKS5 URLs, read and shown without their credentials."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

from perseid.errors import ConfigError

_DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class Proxy(msgspec.Struct, frozen=True):
    """A proxy URL taken apart. `url` keeps the credentials and must not be shown."""

    url: str
    scheme: str
    host: str
    port: int
    username: str | None = None
    password: str | None = None

    @property
    def socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def shown(self) -> str:
        return mask_proxy(self.url)


def parse_proxy(url: str) -> Proxy:
    """Read `http://`, `https://` or `socks5://` with optional credentials (percent-encoded).

    Raises `ConfigError`, which never shows the credentials.
    """
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"proxy {mask_proxy(url)!r} is not a URL: {error}") from None
    if scheme not in _DEFAULT_PORTS or not host:
        raise ConfigError(
            f"proxy {mask_proxy(url)!r} is not of the form http://host:port, https://host:port "
            "or socks5://user:password@host:port"
        )
    return Proxy(
        url=url.strip(),
        scheme=scheme,
        host=host,
        port=port or _DEFAULT_PORTS[scheme],
        username=unquote(parts.username) if parts.username is not None else None,
        password=unquote(parts.password) if parts.password is not None else None,
    )


def mask_proxy(url: str) -> str:
    """The URL with its credentials replaced by `***`, however broken it is."""
    head, found, tail = url.rpartition("@")
    if not found:
        return url
    scheme, slashes, _ = head.partition("://")
    return f"{scheme}{slashes}***@{tail}" if slashes else f"***@{tail}"
