"""Regular expressions that analysts wrote, on texts that strangers wrote: each search has a deadline."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_S = 0.05
"""For one search in a short text; it grows with the text, so that plain patterns get through large pages."""
_CHARACTERS_PER_S = 20_000_000
MAX_MATCHES = 10_000
"""That are taken from one text."""


class Overrun(Exception):
    """A pattern ran out of time; its text says which and why that happens."""


@lru_cache(maxsize=2_000)
def compiled(pattern: str) -> Any:
    """The pattern in the syntax of Python's `regex` module, which knows JavaScript's named groups as well.

    Raises ValueError saying what is wrong, and where.
    """
    import regex  # type: ignore[import-untyped]  # noqa: PLC0415  # no types; slow to import

    try:
        return regex.compile(pattern, regex.VERSION0, cache_pattern=False)
    except RecursionError:
        raise ValueError("its groups nest too deeply") from None
    except (regex.error, OverflowError, MemoryError) as fault:
        place = getattr(fault, "pos", None)
        where = "" if place is None else f" at position {place}"
        raise ValueError(f"{getattr(fault, 'msg', None) or fault}{where}") from None


def search(pattern: str, text: str) -> Any:
    """The first match, or None. Raises Overrun."""
    try:
        return compiled(pattern).search(text, timeout=_allowed(text))
    except TimeoutError:
        raise _overrun(pattern, text) from None


def find_all(pattern: str, text: str) -> Iterator[Any]:
    """All matches, in order. Raises Overrun when all of them together take too long."""
    try:
        for at, match in enumerate(compiled(pattern).finditer(text, timeout=_allowed(text))):
            if at >= MAX_MATCHES:
                return
            yield match
    except TimeoutError:
        raise _overrun(pattern, text) from None


def substitute(pattern: str, replacement: str, text: str) -> str:
    r"""`text` with `replacement` (`\1` is a group) for each match. Raises Overrun."""
    try:
        return str(compiled(pattern).sub(replacement, text, timeout=_allowed(text)))
    except TimeoutError:
        raise _overrun(pattern, text) from None


def _allowed(text: str) -> float:
    return TIMEOUT_S + len(text) / _CHARACTERS_PER_S


def _overrun(pattern: str, text: str) -> Overrun:
    shown = pattern if len(pattern) <= 80 else f"{pattern[:80]}…"
    return Overrun(
        f"the pattern {shown!r} took more than {_allowed(text) * 1000:.0f} ms on a text of {len(text)} characters; "
        "nested repeats such as (a+)+ are the usual cause"
    )
