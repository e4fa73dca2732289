"""Whether a value satisfies what its field demands."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from perseid.rules import regexes
from perseid.rules.complaint import clipped
from perseid.rules.regexes import Overrun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perseid.model.rule import Check


def faults(check: Check, value: Any) -> Iterator[str]:
    """A sentence for each demand that the value misses."""
    members = value if isinstance(value, list) else [value]
    if isinstance(value, list):
        if check.min_items is not None and len(value) < check.min_items:
            yield f"{len(value)} values are fewer than {check.min_items}"
        if check.max_items is not None and len(value) > check.max_items:
            yield f"{len(value)} values are more than {check.max_items}"
    for member in members:
        yield from _faults(check, member)


def _faults(check: Check, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _of_text(check, value)
    plain = value.get("amount") if isinstance(value, dict) else value
    if check.one_of and not _among(plain, check.one_of):
        yield f"{clipped(plain)!r} is none of {', '.join(map(str, check.one_of[:10]))}"
    if check.none_of and _among(plain, check.none_of):
        yield f"{clipped(plain)!r} is not allowed"
    for bound, least in ((check.min, True), (check.max, False)):
        if bound is not None and (said := _beyond(plain, bound, least=least)):
            yield said


def _of_text(check: Check, value: str) -> Iterator[str]:
    if check.min_length is not None and len(value) < check.min_length:
        yield f"{len(value)} characters are fewer than {check.min_length}"
    if check.max_length is not None and len(value) > check.max_length:
        yield f"{len(value)} characters are more than {check.max_length}"
    if check.pattern is not None:
        try:
            if regexes.search(check.pattern, value) is None:
                yield f"{clipped(value)!r} doesn't match {clipped(check.pattern)}"
        except Overrun as error:
            yield str(error)


def _among(value: Any, allowed: tuple[str | int | float | bool, ...]) -> bool:
    """By value and kind: true is not 1."""
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in allowed)


def _beyond(value: Any, bound: float | str, *, least: bool) -> str | None:
    own, limit = (_instant(value), _instant(bound)) if isinstance(bound, str) else (_number(value), _number(bound))
    if own is None or limit is None:
        return None
    if own < limit if least else own > limit:  # type: ignore[operator]  # two of a kind
        shown = f"{bound:g}" if isinstance(bound, int | float) else bound
        return f"{value} is {'below' if least else 'above'} {shown}"
    return None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _instant(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
