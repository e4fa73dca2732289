"""Cookies within one redirect chain: a small RFC 6265 jar that travels with the job as bytes."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from publicsuffixlist import PublicSuffixList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
_MAX_HEADER_BYTES = 8192
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_suffixes: list[PublicSuffixList] = []


class Cookie(msgspec.Struct, frozen=True, array_like=True):
    """One cookie; `expires_at_s` is seconds since the epoch, `None` for one of the session."""

    name: str
    value: str
    domain: str
    path: str
    host_only: bool
    secure: bool
    expires_at_s: float | None


_DECODER = msgspec.msgpack.Decoder(list[Cookie])


def join_cookies(given: str | None, gathered: str | None) -> str | None:
    """One Cookie header of the caller's and the chain's cookies; of two by one name the chain's is newer."""
    if not given or not gathered:
        return given or gathered
    newer = {pair.partition("=")[0] for pair in gathered.split("; ")}
    kept = [pair for pair in given.split("; ") if pair.partition("=")[0] not in newer]
    return "; ".join([*kept, gathered])


class ChainCookies:
    """Cookies gathered along a chain of redirects. `now_s` is wall time, in seconds."""

    def __init__(self, cookies: Iterable[Cookie] = (), *, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s
        self._cookies = {(cookie.domain, cookie.path, cookie.name): cookie for cookie in cookies}

    @classmethod
    def load(cls, data: bytes, *, now_s: Callable[[], float] = time.time) -> ChainCookies:
        """The inverse of `dump`; whatever isn't a list of cookies gives an empty jar."""
        try:
            return cls(_DECODER.decode(data) if data else (), now_s=now_s)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return cls(now_s=now_s)

    def dump(self) -> bytes:
        """The cookies in their order, to travel with the job; empty if there are none."""
        return msgspec.msgpack.encode(list(self._cookies.values())) if self._cookies else b""

    def __len__(self) -> int:
        return len(self._cookies)

    def set_from(self, url: str, headers: Sequence[tuple[str, str]]) -> None:
        """Take in the Set-Cookie headers of a response (names in lower case) to a request for `url`."""
        for name, value in headers:
            if name == "set-cookie":
                cookie = parse_set_cookie(value, url, now_s=self._now_s())
                if cookie is not None:
                    self._store(cookie)

    def header_for(self, url: str) -> str | None:
        """The Cookie header for a request to `url`, longest paths first; `None` if there is none to send."""
        scheme, host, path = _parts(url)
        now_s = self._now_s()
        fitting = [
            cookie
            for cookie in self._cookies.values()
            if (cookie.expires_at_s is None or cookie.expires_at_s > now_s)
            and (scheme == "https" or not cookie.secure)
            and (host == cookie.domain or (not cookie.host_only and _domain_match(host, cookie.domain)))
            and _path_match(path, cookie.path)
        ]
        fitting.sort(key=lambda cookie: -len(cookie.path))
        pairs: list[str] = []
        size = 0
        for cookie in fitting:
            pair = f"{cookie.name}={cookie.value}" if cookie.name else cookie.value
            size += len(pair) + 2
            if size > _MAX_HEADER_BYTES:
                break
            pairs.append(pair)
        return "; ".join(pairs) or None

    def _store(self, cookie: Cookie) -> None:
        key = (cookie.domain, cookie.path, cookie.name)
        if cookie.expires_at_s is not None and cookie.expires_at_s <= self._now_s():
            self._cookies.pop(key, None)
            return
        # A cookie set anew keeps its place (RFC 6265, 5.3, step 11); past the bound the oldest goes.
        self._cookies[key] = cookie
        while len(self._cookies) > MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]


def parse_set_cookie(header: str, url: str, *, now_s: float) -> Cookie | None:
    """One Set-Cookie value as RFC 6265 (5.2 and 5.3) reads it; `None` for a cookie that must be refused."""
    pair, *attributes = header.split(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", pair
    name, value = name.strip(), value.strip()
    size = len(name) + len(value)
    if _CONTROL.search(header) or not 0 < size <= MAX_COOKIE_BYTES:
        return None
    given: dict[str, str] = {}
    for attribute in attributes:
        key, _, text = attribute.partition("=")
        given[key.strip().lower()] = text.strip()
    scheme, host, url_path = _parts(url)
    home = _domain(given.get("domain", ""), host)
    secure = "secure" in given
    if home is None or (secure and scheme != "https"):
        return None
    domain, host_only = home
    path = given.get("path", "")
    if not path.startswith("/"):
        path = _default_path(url_path)
    if _prefix_broken(name, secure=secure, host_only=host_only, path=path):
        return None
    return Cookie(name, value, domain, path, host_only, secure, _expiry_s(given, now_s))


def _domain(attribute: str, host: str) -> tuple[str, bool] | None:
    """The domain a cookie is for and whether for that host only; `None` if `host` may not set it."""
    domain = attribute.lower().removeprefix(".").rstrip(".")
    if not host:
        return None
    if not domain or (domain == host and _is_public_suffix(domain)):
        return host, True
    if _is_public_suffix(domain) or not _domain_match(host, domain):
        return None
    return domain, False


def _prefix_broken(name: str, *, secure: bool, host_only: bool, path: str) -> bool:
    """`__Secure-` and `__Host-` names promise attributes (RFC 6265bis, 4.1.3)."""
    lowered = name.lower()
    if lowered.startswith("__host-"):
        return not (secure and host_only and path == "/")
    return lowered.startswith("__secure-") and not secure


def _expiry_s(given: dict[str, str], now_s: float) -> float | None:
    max_age = given.get("max-age", "")
    if re.fullmatch(r"-?[0-9]+", max_age, re.ASCII):
        seconds = int(max_age[:18])
        return now_s + min(seconds, 400 * 86400) if seconds > 0 else 0.0
    expires = given.get("expires", "")
    if not expires or len(expires) > 64:
        return None
    try:
        return parsedate_to_datetime(expires.replace("-", " ")).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _parts(url: str) -> tuple[str, str, str]:
    try:
        parts = urlsplit(url)
        return parts.scheme, (parts.hostname or "").rstrip("."), parts.path or "/"
    except ValueError:
        return "", "", "/"


def _default_path(path: str) -> str:
    """RFC 6265, 5.1.4."""
    return path.rpartition("/")[0] or "/" if path.startswith("/") else "/"


def _path_match(path: str, cookie_path: str) -> bool:
    if not path.startswith(cookie_path):
        return False
    return len(path) == len(cookie_path) or cookie_path.endswith("/") or path[len(cookie_path)] == "/"


def _domain_match(host: str, domain: str) -> bool:
    if host == domain:
        return True
    return host.endswith("." + domain) and not _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_public_suffix(domain: str) -> bool:
    if _is_address(domain):
        return False
    if not _suffixes:
        _suffixes.append(PublicSuffixList())
    return bool(_suffixes[0].publicsuffix(domain) == domain)
