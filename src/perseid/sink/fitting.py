"""Which JSON values fit a column, and as what. A `Fit` raises `Unfit` for those that don't."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

_NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


class Kind(StrEnum):
    """Of a column that is to be made."""

    TEXT = "text"
    NUMBER = "number"
    AMOUNT = "amount"
    BOOLEAN = "boolean"
    JSON = "json"


class Unfit(Exception):
    """This value has no place in that column."""


Fit: TypeAlias = Callable[[Any], Any]


def kind_of(value: Any) -> Kind:
    match value:
        case str():
            return Kind.TEXT
        case bool():
            return Kind.BOOLEAN
        case int() | float():
            return Kind.NUMBER
        case _:
            return Kind.JSON


def is_price(value: Any) -> bool:
    """`{"amount": "12.50", "currency": "EUR"}`, the currency possibly null."""
    return (
        isinstance(value, dict)
        and value.keys() <= {"amount", "currency"}
        and isinstance(value.get("amount"), str)
        and _NUMBER.fullmatch(value["amount"]) is not None
        and (value.get("currency") is None or _CURRENCY.fullmatch(str(value["currency"])) is not None)
    )


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def text(value: Any) -> str:
    """Everything has a text."""
    return value if isinstance(value, str) else as_json(value)


def json_text(value: Any) -> str:
    return as_json(value)


def itself(value: Any) -> Any:
    """The target judges."""
    return value


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise Unfit


def nothing(_value: Any) -> Any:
    """For columns that the target fills itself."""
    raise Unfit


def exact(value: Any) -> Decimal:
    """A number of any size, as it was written."""
    if isinstance(value, bool):
        raise Unfit
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        raise Unfit
    if isinstance(value, (int, float, str)):
        try:
            return Decimal(str(value).strip())
        except (ValueError, ArithmeticError):  # more digits than Python writes
            raise Unfit from None
    raise Unfit


def decimal(precision: int, scale: int) -> Fit:
    """Numbers that such a column holds without rounding, as texts: JSON's own numbers are binary to many readers."""

    def fit(value: Any) -> str:
        written = f"{exact(value):f}"
        whole, _, behind = written.lstrip("-").partition(".")
        if len(behind.rstrip("0")) > scale or len(whole.lstrip("0")) > precision - scale:
            raise Unfit
        return written

    return fit


def whole(least: int, most: int) -> Fit:
    def fit(value: Any) -> int:
        number = exact(value)
        if not least <= number <= most or number != int(number):
            raise Unfit
        return int(number)

    return fit


def floating(value: Any) -> float:
    """A number that a double holds exactly enough: integers to the last digit."""
    number = exact(value)
    try:
        near = float(number)
    except OverflowError:
        raise Unfit from None
    if near in (float("inf"), float("-inf")) or (number == number.to_integral_value() and int(near) != number):
        raise Unfit
    return near


def number(value: Any) -> int | float:
    """An integer of 64 bits, or a double."""
    found = exact(value)
    if -(2**63) <= found < 2**63 and found == found.to_integral_value():
        return int(found)
    return floating(value)


def day(value: Any) -> str:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            return _moment(value).date().isoformat()
    raise Unfit


def moment(value: Any) -> str:
    """An ISO 8601 text; a day is its first moment."""
    return _moment(value).isoformat()


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise Unfit from None
    raise Unfit


def at_most(length: int) -> Fit:
    """Texts of so many characters."""

    def fit(value: Any) -> str:
        found = text(value)
        if len(found) > length:
            raise Unfit
        return found

    return fit
