"""`${secret:NAME}` in headers, cookies and logins: where it may stand, which names a rule needs, filling them in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from perseid.errors import ConfigError
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perseid.model.rule import Rule

T = TypeVar("T")

REFERENCE = later(r"\$\{secret:([A-Za-z_][A-Za-z0-9_]{0,99})\}")
LOOKS_LIKE = later(r"\$\{\s*secret\b[^}]*\}?", re.IGNORECASE)
ALLOWED = (("fetch", "headers"), ("fetch", "cookies"), ("fetch", "login"))
"""Paths below which references may stand."""

_TELLING = later(r"(?i)pass(word|wd|phrase)?$|passwort|secret|token|api[_-]?key|authorization|credential|^pwd$|session")
_HARMLESS = later(r"(?i)csrf|xsrf")
_TAKEN = later(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def names(rule: Rule) -> list[str]:
    """The names of all secrets that the rule refers to, sorted."""
    return sorted({name for text in _texts(msgspec.to_builtins(rule)) for name in REFERENCE.findall(text)})


def filled(value: T, lookup: Callable[[str], str | None]) -> T:
    """The same text, or mapping or list of texts, with each reference replaced by what `lookup` knows.

    Raises ConfigError naming a secret that it doesn't know. What comes back must not be stored or logged.
    """

    def known(found: re.Match[str]) -> str:
        secret = lookup(found[1])
        if secret is None:
            raise ConfigError(f"the secret {found[1]!r} is not defined; define it, or take ${{secret:{found[1]}}} away")
        return secret

    return _mapped(value, lambda text: REFERENCE.sub(known, text))  # type: ignore[no-any-return]  # same shape


def is_telling(name: str, text: str) -> bool:
    """Whether a header, cookie or form field of that name holds a secret in plain sight."""
    if not text or not _TELLING.search(name) or _HARMLESS.search(name):
        return False
    return REFERENCE.search(text) is None and _TAKEN.search(text) is None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _texts(member)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(member, change) for name, member in value.items()}
    if isinstance(value, list):
        return [_mapped(member, change) for member in value]
    if isinstance(value, tuple):
        return tuple(_mapped(member, change) for member in value)
    return value
