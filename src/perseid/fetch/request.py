"""The bytes of a request: our own headers, those that it brings, cookies of its chain."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from perseid.fetch.inflate import ACCEPT_ENCODING

if TYPE_CHECKING:
    from perseid.fetch.target import Target
    from perseid.ports.fetch import FetchRequest

    Fields = tuple[tuple[str, str], ...]

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_HOP_BY_HOP = frozenset({"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
                         "keep-alive", "proxy-connection", "proxy-authorization", "expect"})  # fmt: skip
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BREAKS = re.compile(r"[\r\n\0]")


def head_of(request: FetchRequest, target: Target, *, user_agent: str, via: str | None = None) -> bytes:
    """The request as it is sent; `via` is the Proxy-Authorization ("" for none) where a proxy takes it in the clear.

    Raises `ValueError` for headers that can't be sent.
    """
    more: list[tuple[str, str]] = []
    if request.etag is not None:
        more.append(("If-None-Match", request.etag))
    if request.last_modified is not None:
        more.append(("If-Modified-Since", request.last_modified))
    given = request.headers
    if request.chain:
        given = _with_cookies(given, request)
    if target.site.authorization is not None:
        given = (*given, ("Authorization", target.site.authorization))
    if via:
        more.append(("Proxy-Authorization", via))
    fields = _fields(request.user_agent or user_agent, given, tuple(more))
    where = target.path if via is None else target.absolute
    if request.method == "GET":
        return b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (where.encode(), target.site.named.encode(), fields)
    head = f"{request.method} {where} HTTP/1.1\r\nHost: {target.site.named}\r\nContent-Length: {len(request.body)}\r\n"
    return b"%b%b\r\n%b" % (head.encode(), fields, request.body)


def connect_to(place: str, authorization: str | None) -> bytes:
    """The request for a tunnel to `host:port`."""
    more = f"Proxy-Authorization: {authorization}\r\n" if authorization else ""
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{more}\r\n".encode()


def _with_cookies(given: Fields, request: FetchRequest) -> Fields:
    from perseid.fetch.cookies import ChainCookies, join_cookies  # noqa: PLC0415 - start-up time

    gathered = ChainCookies.load(request.chain).header_for(request.url)
    own = next((value for name, value in reversed(given) if name.lower() == "cookie"), None)
    cookie = join_cookies(own, gathered)
    return given if cookie is None else (*given, ("Cookie", cookie))


@lru_cache(maxsize=64)
def _fields(user_agent: str, given: Fields, more: Fields) -> bytes:
    """All but the Host; of several of one name the last counts. Most requests of a crawl share them."""
    fields = {
        name.lower(): (name, value)
        for name, value in (
            ("User-Agent", user_agent),
            ("Accept", _ACCEPT),
            ("Accept-Encoding", ACCEPT_ENCODING),
            *more,
        )
    }
    for name, value in given:
        if name.lower() not in _HOP_BY_HOP:
            fields[name.lower()] = (name, value)
    for name, value in fields.values():
        if not _TOKEN.fullmatch(name) or _BREAKS.search(value):
            raise ValueError(f"the header {name!r} can't be sent")
    return "".join([f"{name}: {value}\r\n" for name, value in fields.values()]).encode()
