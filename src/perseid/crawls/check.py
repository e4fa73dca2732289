"""What a caller wants sent and kept, checked before the first request rather than on every page."""

from __future__ import annotations

import math

from perseid.dom import tree as trees
from perseid.dom import url as urls
from perseid.errors import ConfigError
from perseid.model.options import ScrapeOptions
from perseid.model.terms import Webhook
from perseid.pattern import later

# RFC 9110, 5.1 and 5.6.2; RFC 6265, 4.1.1 for cookie values, read as leniently as browsers send them.
_TOKEN = later(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE = later(r"[\0\r\n]")
_UNSENDABLE_COOKIE = later(r"[\x00-\x1f\x7f;]")
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
SIGNATURE = "X-Firecrawl-Signature"
"""Header that proves where a delivery comes from."""


def check_request(options: ScrapeOptions) -> None:
    """Headers, cookies, proxy and selectors. Raises `ConfigError`, which shows no value that may be secret."""
    for name, value in options.headers:
        _check_header(name, value)
    for name, value in options.cookies:
        _check_cookie(name, value)
    if options.user_agent is not None and (_UNSENDABLE.search(options.user_agent) or not options.user_agent.strip()):
        raise ConfigError("the User-Agent must be one line of text")
    if options.proxy is not None:
        proxy = urls.parse(options.proxy)
        if proxy is None or proxy.scheme not in _PROXY_SCHEMES or not proxy.host:
            raise ConfigError("the proxy must be written like http://host:port or socks5://user:password@host:port")
    for selector in (*options.include_tags, *options.exclude_tags, *(query.selector for query in options.attributes)):
        _check_selector(selector)
    for name, seconds in (("max_age_s", options.cache.max_age_s), ("min_age_s", options.cache.min_age_s)):
        if seconds is not None and not 0 <= seconds < math.inf:
            raise ConfigError(f"the cache's {name} must be a number of seconds from 0 on, not {seconds}")


def check_webhook(webhook: Webhook) -> None:
    """Who is to be told, and with which headers. Raises `ConfigError`; a wrong URL is not shown, it may hold a key."""
    receiver = urls.parse(webhook.url)
    if receiver is None or not receiver.is_web or not receiver.host:
        raise ConfigError("the webhook's URL must be a whole http:// or https:// URL")
    for name, value in webhook.headers.items():
        _check_header(name, value)
        if name.lower() == SIGNATURE.lower():
            raise ConfigError(f"the header {SIGNATURE} is ours to send; call yours something else")
    if webhook.events <= 0:
        raise ConfigError("the webhook names no event that it is to be told of")


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a header; letters, digits and hyphens make one")
    if _UNSENDABLE.search(value):
        raise ConfigError(f"the value of the header {name} holds a line break, which would end it")


def _check_cookie(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a cookie; letters, digits and hyphens make one")
    if _UNSENDABLE_COOKIE.search(value):
        raise ConfigError(f"the value of the cookie {name} holds a semicolon or a control character")


def _check_selector(selector: str) -> None:
    try:
        trees.parse("").first(selector)
    except ValueError as error:
        raise ConfigError(f"{selector!r} is no CSS selector: {error}") from error
