"""What is asked of whom: a URL as a request line and a place to connect to, byte for byte as it was given."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)([^#]*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+(?:%[^\]]*)?\]|[^\[\]:]+)(?::(\d{0,5}))?", re.IGNORECASE)
_NOT_SERIALISED = re.compile(r"[^\x21-\x7e]")
_PORTS = {"http": 80, "https": 443}


class Site(NamedTuple):
    """Whom to ask. `named` is host and port as the Host header has them."""

    scheme: str
    host: str
    """In lower case, an IPv6 address without its brackets."""
    port: int
    named: str
    authorization: str | None
    """What the credentials in the URL come to."""


class Target(NamedTuple):
    site: Site
    path: str
    """Path and query."""

    @property
    def absolute(self) -> str:
        """The form that an HTTP proxy wants."""
        return f"{self.site.scheme}://{self.site.named}{self.path}"


def read_target(url: str) -> Target:
    """The URL taken apart; nothing is quoted anew, for WHATWG serialisation is final. Raises `ValueError`."""
    if _NOT_SERIALISED.search(url):
        # Above all line breaks, which would end the request line.
        raise ValueError("the URL holds characters that URL serialisation escapes")
    match = _URL.match(url)
    if match is None:
        raise ValueError("only http and https can be fetched, not this")
    scheme, authority, path = match.groups()
    return Target(_site(scheme.lower(), authority), path if path.startswith("/") else f"/{path}")


@lru_cache(maxsize=1024)
def _site(scheme: str, authority: str) -> Site:
    if scheme not in _PORTS:
        raise ValueError(f"only http and https can be fetched, not {scheme}")
    credentials, at, place = authority.rpartition("@")
    match = _AUTHORITY.fullmatch(place)
    if match is None:
        raise ValueError(f"{place!r} is no host to connect to")
    host, port = match[1].lower(), int(match[2] or _PORTS[scheme])
    if not 0 <= port <= 65535:
        raise ValueError(f"{port} is no port")
    named = host if port == _PORTS[scheme] else f"{host}:{port}"
    return Site(scheme, host.strip("[]"), port, named, _basic_of_url(credentials) if at else None)


def _basic_of_url(credentials: str) -> str:
    user, _, password = credentials.partition(":")
    return basic(unquote(user), unquote(password))


def basic(user: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
