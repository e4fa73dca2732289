"""Numbers as people write them, with the separators of any language.

A single separator before three digits (`1.234`) means one thing here and another there: then the declared separator
decides, or the language; with neither, a comma parts thousands and a point is one of decimals.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from perseid.pattern import later
from perseid.rules.normalise.text import western
from perseid.rules.normalise.words import habits

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 200
"""Characters that are looked at; numbers stand at the beginning of what a selector chose, or it chose too much."""

Separator = Literal[".", ","]

_GROUPED = r"\d{1,3}(?:[ '’ʼ`´](?:\d{3}|\d{2}(?=[ '’ʼ`´]\d)))+(?!\d)(?:[.,]\d+)?"
_PLAIN = r"\d+(?:[.,٫٬،]\d+)*"
_TOKEN = later(
    rf"(?P<sign>[-+−‒–﹣]\s?|\()?(?P<digits>{_GROUPED}|{_PLAIN}|[.,]\d+)(?P<power>[eE][-+]?\d{{1,3}}(?![\w]))?"
    r"\s?(?P<scale>[万萬亿億만억천]|千(?![克米瓦卡赫伏])|[kK](?![^\W\d_]))?(?P<close>\s?[-−](?![\d\w]))?"
)
_SCALES = {"千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8, "k": 3, "K": 3}
"""千 before a unit is its kilo: 3千克 are three kilograms."""
_MARKS = str.maketrans({"٫": ".", "٬": ",", "،": ",", "’": "'", "ʼ": "'", "`": "'", "´": "'"})


class Found(NamedTuple):
    value: Decimal
    start: int
    end: int


class Unreadable(ValueError):
    """A text that is not of its type; says why."""


def read_number(text: str, *, decimal: Separator | None = None, language: str | None = None) -> Decimal:
    """The first number of the text. Raises Unreadable."""
    for found in numbers(western(text)[:MAX_LENGTH], decimal=decimal, language=language):
        return found.value
    raise Unreadable("there is no number in it")


def numbers(
    text: str, *, decimal: Separator | None = None, language: str | None = None, point: Separator | None = "."
) -> Iterator[Found]:
    """All numbers of a text that `western` has been applied to. `point` is the decimal separator where nothing tells;
    None where all single separators before three digits part thousands.
    """
    known = habits(language)
    usual = decimal or (known["decimal"] if known else None)
    for match in _TOKEN.finditer(text):
        value = _value(match["digits"], usual, point)
        if value is None:
            continue
        if match["power"]:
            value = value.scaleb(int(match["power"][1:]))
        if match["scale"]:
            value = value.scaleb(_SCALES[match["scale"]])
        if _negative(match, text):
            value = -value
        yield Found(value, match.start("digits"), match.end("digits"))


def _negative(match: re.Match[str], text: str) -> bool:
    sign = (match["sign"] or "").strip()
    before = text[match.start() - 1 : match.start()]
    if sign == "(":
        return text[match.end() : match.end() + 1] == ")" and before in ("", " ")
    if sign and sign != "+":
        return not (before.isalnum() or before in (")", "%"))  # else a hyphen or a range
    return bool(match["close"]) and match.end() == len(text)


def _value(digits: str, usual: str | None, point: str | None) -> Decimal | None:
    """The number, its separators told apart; None where they contradict each other."""
    clear = "٫" in digits or "٬" in digits
    digits = digits.translate(_MARKS)
    if " " in digits or "'" in digits:
        return Decimal(re.sub("[ ']", "", digits).replace(",", "."))
    dots, commas = digits.count("."), digits.count(",")
    if not (dots or commas):
        return Decimal(digits)
    if dots and commas:
        return _both(digits)
    mark = "." if dots else ","
    if dots + commas > 1:
        return _thousands(digits, mark)
    whole, _, fraction = digits.partition(mark)
    if len(fraction) == 3 and 1 <= len(whole) <= 3 and whole != "0" and not whole.startswith("0"):
        decisive = ("." if mark == "." else None) if clear else usual or point
        if decisive != mark:
            return Decimal(whole + fraction)
    return Decimal(f"{whole or '0'}.{fraction}")


def _both(digits: str) -> Decimal | None:
    mark = "." if digits.rindex(".") > digits.rindex(",") else ","
    other = "," if mark == "." else "."
    if digits.count(mark) > 1:
        return None
    whole, _, fraction = digits.partition(mark)
    grouped = _thousands(whole, other)
    return None if grouped is None else Decimal(f"{grouped}.{fraction}")


def _thousands(digits: str, mark: str) -> Decimal | None:
    """Groups of three; of two before the last one, as in India."""
    first, *rest = digits.split(mark)
    if not rest or len(rest[-1]) != 3 or not 1 <= len(first) <= 3:
        return None
    if all(len(group) == 3 for group in rest) or (len(first) <= 2 and all(len(group) == 2 for group in rest[:-1])):
        return Decimal(first + "".join(rest))
    return None
