"""Reads one raw value as the type that its field has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from perseid.rules.normalise.boolean import read_boolean
from perseid.rules.normalise.date import Hints, read_date
from perseid.rules.normalise.number import Unreadable, read_number
from perseid.rules.normalise.price import read_price
from perseid.rules.normalise.text import lines, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.model.rule import Field

__all__ = ["Context", "Unreadable", "normalised", "zulu"]


class Context(NamedTuple):
    """What all fields of a page share. `now` is aware; `absolute` resolves an address of the page."""

    language: str | None
    timezone: str
    now: datetime
    absolute: Callable[[str], str | None]


_ROOM = 16
"""Levels that an item adds around a value."""
MAX_INTEGER = (1 << 63) - 1
"""What columns of databases, and readers of JSON, can be trusted with."""


def normalised(field: Field, raw: Any, context: Context) -> Any:  # noqa: C901, PLR0911  one way out a type
    """`raw` (a text, or a JSON value) as a JSON value of the field's type. Raises Unreadable saying why not."""
    language = field.language or context.language
    match field.type:
        case "json":
            return _writable(raw)
        case "text":
            return one_line(_as_text(raw))
        case "lines":
            return lines(_as_text(raw))
        case "html":
            return _as_text(raw).strip()
        case "number":
            return plain_number(_number(field, raw, language))
        case "integer":
            return _whole(_number(field, raw, language))
        case "price":
            return _price(field, raw, language)
        case "date" | "datetime":
            return _date(field, raw, language, context)
        case "url":
            return _url(_as_text(raw), context)
        case "boolean":
            return raw if isinstance(raw, bool) else read_boolean(_as_text(raw), field.yes, field.no)
        case "object":
            raise Unreadable("an object has fields")


def _writable(raw: object) -> object:
    """A JSON value that can be written as JSON again, within an item: writers bear less nesting than readers."""
    nested = raw
    for _ in range(_ROOM):
        nested = [nested]
    try:
        orjson.dumps(nested)
    except TypeError as error:
        raise Unreadable(f"it can't be written as JSON: {str(error).lower()}") from None
    return raw


def _whole(number: Decimal) -> int:
    if number != number.to_integral_value():
        raise Unreadable(f"{number} is no whole number")
    if abs(number) > MAX_INTEGER:
        raise Unreadable(f"{number} is more than 64 bits hold; read it as text")
    return int(number)


def plain_number(number: Decimal) -> int | float:
    """As JSON has it: whole numbers without a fraction where 64 bits hold them. Raises Unreadable where a float can't
    hold it.
    """
    if abs(number) <= MAX_INTEGER and number == number.to_integral_value():
        return int(number)
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise Unreadable(f"{number} is too large")
    return value


def zulu(at: datetime) -> str:
    """ISO 8601 in UTC: `2024-03-05T14:30:00Z`."""
    written = at.astimezone(UTC).isoformat(timespec="microseconds" if at.microsecond else "seconds")
    return written.replace("+00:00", "Z")


def _number(field: Field, raw: object, language: str | None) -> Decimal:
    if isinstance(raw, bool):
        raise Unreadable("true and false are no numbers")
    if isinstance(raw, int | float):
        return _from_json(raw)
    return read_number(_as_text(raw), decimal=field.decimal, language=language)


def _from_json(raw: float) -> Decimal:
    value = Decimal(str(raw))
    if not value.is_finite():
        raise Unreadable(f"{raw} is no number")
    return value


def _price(field: Field, raw: object, language: str | None) -> dict[str, str | None]:
    if isinstance(raw, dict):
        raise Unreadable("it is an object; choose the amount in it")
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return {"amount": f"{_from_json(raw):f}", "currency": field.currency}
    found = read_price(_as_text(raw), currency=field.currency, decimal=field.decimal, language=language)
    return {"amount": f"{found.amount:f}", "currency": found.currency}


def _date(field: Field, raw: object, language: str | None, context: Context) -> str:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        raw = str(int(raw)) if 1e9 <= abs(raw) < 1e13 else str(raw)
    hints = Hints(language, field.timezone or context.timezone, field.order, field.formats)
    found = read_date(_as_text(raw), hints, context.now)
    if field.type == "datetime":
        return zulu(found.at)
    return found.at.date().isoformat()


def _url(text: str, context: Context) -> str:
    address = context.absolute(text)
    if address is None or not address.startswith(("http://", "https://")):
        raise Unreadable("it is no address of the web")
    return address


def _as_text(raw: object) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return json.dumps(raw, ensure_ascii=False) if isinstance(raw, dict | list) else str(raw)
