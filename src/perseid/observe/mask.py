"""Secrets don't leave: credentials in URLs, and values under names that promise a secret."""

from __future__ import annotations

import re

from perseid.pattern import later

MASK = "***"

_USERINFO = later(r"([a-z][a-z0-9+.-]{1,20}://)[^\s/?#@]{0,512}@", re.IGNORECASE)
_PARAMETER = later(
    r"([?&;](?:[a-z0-9_.-]{0,40}[_.-])?"
    r"(?:token|key|apikey|secret|password|passwd|pwd|auth|sig|signature|session|sessionid|sid|jwt)=)[^&#\s\"']+",
    re.IGNORECASE,
)
_HEADER = later(r"\b((?:proxy-)?authorization|cookie|set-cookie|x-api-key)(\"?\s*[:=]\s*\"?)[^\r\n\"]+", re.IGNORECASE)
_SECRET_NAMES = frozenset(
    {
        "authorization", "proxy_authorization", "cookie", "cookies", "set_cookie", "headers", "password", "passwd",
        "secret", "token", "access_token", "refresh_token", "jwt", "api_key", "apikey", "x_api_key",
    }
)  # fmt: skip


def mask_text(text: str) -> str:
    """`http://user:pass@host/?token=x` → `http://***@host/?token=***`; header lines lose their values."""
    if "@" in text:
        text = _USERINFO.sub(rf"\1{MASK}@", text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\1{MASK}", text)
    if ":" in text or "=" in text:
        text = _HEADER.sub(rf"\1\2{MASK}", text)
    return text


def is_secret(name: str) -> bool:
    """A field of this name holds a secret, whatever its value."""
    return name.lower().replace("-", "_") in _SECRET_NAMES


def mask_fields(fields: dict[str, object]) -> dict[str, object]:
    """A copy that may be logged; values that are no text, number, truth or None become text."""
    return {name: MASK if is_secret(name) and value else _plain(value) for name, value in fields.items()}


def _plain(value: object) -> object:
    match value:
        case str():
            return mask_text(value)
        case None | bool() | int() | float():
            return value
        case dict():
            return mask_fields({str(name): inner for name, inner in value.items()})
        case list() | tuple() | set() | frozenset():
            return [_plain(inner) for inner in value]
        case _:
            return mask_text(str(value))
