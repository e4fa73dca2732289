"""Prices: an amount, exact as it is written, and the ISO code of its currency."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from perseid.pattern import later
from perseid.rules.normalise.number import MAX_LENGTH, Found, Separator, Unreadable, numbers
from perseid.rules.normalise.text import western
from perseid.rules.normalise.words import all_words, habits

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS = {
    "€": "EUR", "£": "GBP", "₽": "RUB", "₹": "INR", "₩": "KRW", "₺": "TRY", "₴": "UAH", "₫": "VND", "฿": "THB",
    "₪": "ILS", "₱": "PHP", "₦": "NGN", "₸": "KZT", "₡": "CRC", "₲": "PYG", "₾": "GEL", "₼": "AZN", "₿": "BTC",
    "₵": "GHS", "₮": "MNT", "₭": "LAK", "៛": "KHR", "৳": "BDT", "﷼": "IRR",
    "US$": "USD", "U$S": "USD", "USD$": "USD", "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD",
    "CAD$": "CAD", "HK$": "HKD", "NT$": "TWD", "NZ$": "NZD", "S$": "SGD", "MX$": "MXN", "Mex$": "MXN", "CN¥": "CNY",
    "JP¥": "JPY", "RMB": "CNY", "zł": "PLN", "zl": "PLN", "Kč": "CZK", "Kčs": "CZK", "Ft": "HUF", "lei": "RON",
    "лв": "BGN", "руб": "RUB", "р.": "RUB", "рублей": "RUB", "р": "RUB", "грн": "UAH", "тг": "KZT", "Fr.": "CHF",
    "SFr.": "CHF",
    "Euro": "EUR", "euros": "EUR", "元": "CNY", "人民币": "CNY", "円": "JPY", "원": "KRW", "港元": "HKD", "港币": "HKD",
    "美元": "USD", "欧元": "EUR", "日元": "JPY", "Rs.": "INR", "Rs": "INR", "₨": "INR", "Rp": "IDR", "RM": "MYR",
    "din.": "RSD", "dinara": "RSD", "ден": "MKD", "TL": "TRY", "DH": "MAD", "د.إ": "AED", "ر.س": "SAR", "ج.م": "EGP",
    "kn": "HRK",
}  # fmt: skip
"""Signs and words that mean one currency, or so nearly always."""
_UNCLEAR = {"$": "USD", "¥": None, "￥": None, "kr": None, "kr.": None}
"""What the language decides, or the rule; a dollar of no other country is one of the United States."""
_BY_LANGUAGE = {
    "¥": {"ja": "JPY", "zh": "CNY"}, "￥": {"ja": "JPY", "zh": "CNY"},
    "kr": {"sv": "SEK", "nb": "NOK", "no": "NOK", "nn": "NOK", "da": "DKK", "is": "ISK"},
    "元": {"zh-hant": "TWD", "zh-tw": "TWD", "zh-hk": "HKD"},
    "$": {
        "en-ca": "CAD", "fr-ca": "CAD", "en-au": "AUD", "en-nz": "NZD", "es-mx": "MXN", "es-ar": "ARS", "es-cl": "CLP",
        "es-co": "COP", "en-sg": "SGD", "en-hk": "HKD", "zh-hk": "HKD", "zh-tw": "TWD", "zh-hant": "TWD",
        "es-uy": "UYU",
    },
    "£": {"ar-eg": "EGP"},
    "Rs": {"ur": "PKR", "en-pk": "PKR", "en-lk": "LKR", "ne": "NPR"},
}  # fmt: skip
_BETWEEN = later(r"(?<![\d.,])(\d+)\s?([€£$])\s?(\d{2})(?![\d.,]|\s?[€£$])")
"""`12€50`."""
_NO_CENTS = later(r"(?<=\d)[.,:]\s?[-–—](?!\d)")
"""`199,-`."""
_TORN = later(r"(\d[.,])\s(\d{2})(?![\d.,])")
"""`19. 95`: the cents stand in an element of their own."""


_CLOSE = 2
"""Characters between an amount and its currency."""


class Price(NamedTuple):
    amount: Decimal
    currency: str | None
    """ISO 4217; None where nothing says which."""


def read_price(
    text: str, *, currency: str | None = None, decimal: Separator | None = None, language: str | None = None
) -> Price:
    """The price in a text: the number beside a currency sign, else the first one. Raises Unreadable.

    `currency` is that of texts that name none, or by a sign that several currencies share.
    """
    line = western(text)[:MAX_LENGTH]
    line = _TORN.sub(r"\1\2", _NO_CENTS.sub(" ", _BETWEEN.sub(r"\1.\3 \2", line)))
    found = list(numbers(line, decimal=decimal, language=language, point=None))
    if not found:
        raise Unreadable("there is no amount in it")
    best = min(_beside(found, line), default=None)
    if best is None:
        return Price(found[0].value, currency)
    return Price(found[best[2]].value, _code(best[3], currency, language))


def _beside(found: list[Found], line: str) -> Iterator[tuple[bool, int, int, str]]:
    """For each currency and each amount how well they fit: clear ones that stand close first."""
    for place in _pattern().finditer(line):
        unclear = place[0] in _UNCLEAR
        for at, number in enumerate(found):
            gap = place.start() - number.end if place.start() >= number.end else number.start - place.end()
            if gap >= 0:
                yield unclear or gap > _CLOSE, gap, at, place[0]


def _code(sign: str, declared: str | None, language: str | None) -> str | None:
    known = sign if sign in _SIGNS or sign in _UNCLEAR else _folded().get(sign.lower(), sign)
    if known in _codes():
        return known
    tag = (language or "").replace("_", "-").lower()
    regional = _BY_LANGUAGE.get("kr" if known == "kr." else known, {})
    by_language = regional.get(tag) or regional.get(tag.partition("-")[0])
    if known in _UNCLEAR:
        if declared:
            return declared
        if by_language is None and (own := habits(language)) is not None:
            by_language = own["signs"].get(known)
        return by_language or _UNCLEAR[known]
    if declared and known in ("£", "Rs", "Rs.", "₨", "元", "лв", "lei", "Fr.", "﷼"):
        return declared
    return by_language or _SIGNS[known]


@lru_cache(maxsize=1)
def _codes() -> frozenset[str]:
    return frozenset(all_words()["currencies"])


@lru_cache(maxsize=1)
def _folded() -> dict[str, str]:
    """Signs of letters in lower case, and codes."""
    return {sign.lower(): sign for sign in [*_codes(), *_SIGNS, *_UNCLEAR]}


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """All signs, longest first; those of letters stand alone, or beside a digit."""
    signs, words, folded = [], [], []
    for sign in {*_SIGNS, *_UNCLEAR, *_codes()}:
        if not sign[0].isalpha() and not sign[-1].isalpha():
            signs.append(sign)
        elif re.match("[A-Za-z]", sign) and len(sign) < 3:
            words.append(sign)
        else:
            folded.append(sign)

    def joined(names: list[str]) -> str:
        return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))

    bounded = [sign for sign in folded if not re.match("[\u3000-\u9fff\uac00-\ud7af]", sign)]
    free = [sign for sign in folded if sign not in bounded]
    edge, end = r"(?<![^\W\d_])", r"(?![^\W\d_])"
    return re.compile(f"{edge}(?:(?i:{joined(bounded)})|{joined(words)}){end}|{joined(free)}|{joined(signs)}")
