"""Writes the part of normalisers.jsonl whose truths come from CLDR: values formatted by Babel, read back by us.

Rows of other sources (`published` below is the file of those) are kept as they are.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from babel import Locale
from babel.core import get_cldr_version
from babel.dates import format_date, format_datetime, format_timedelta
from babel.numbers import format_currency, format_decimal

TARGET = Path(__file__).with_name("normalisers.jsonl")
LOCALES = {
    "en_US": "USD", "en_GB": "GBP", "de_DE": "EUR", "de_CH": "CHF", "fr_FR": "EUR", "es_ES": "EUR", "es_MX": "MXN",
    "it_IT": "EUR", "pt_BR": "BRL", "nl_NL": "EUR", "pl_PL": "PLN", "ru_RU": "RUB", "tr_TR": "TRY", "sv_SE": "SEK",
    "ar_EG": "EGP", "hi_IN": "INR", "zh_CN": "CNY", "ja_JP": "JPY", "ko_KR": "KRW", "vi_VN": "VND",
}  # fmt: skip
DATES = (date(2024, 3, 5), date(2023, 12, 31), date(2021, 7, 14))
INSTANT = datetime(2024, 5, 9, 14, 5, 0, tzinfo=UTC)
NUMBERS = (Decimal("1234567.891"), Decimal("1234.5"), Decimal(98765), Decimal("0.75"), Decimal(-42))
AMOUNTS = (Decimal("1234.50"), Decimal("19.99"), Decimal(1250000))
AGO = (timedelta(hours=-3), timedelta(days=-5), timedelta(minutes=-10))
NOW = datetime(2024, 6, 15, 12, 0, 0, tzinfo=UTC)


def rows() -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for name, currency in LOCALES.items():
        locale = Locale.parse(name)
        language = name.replace("_", "-")

        def add(kind: str, text: str, expect: object, what: str, language: str = language, name: str = name) -> None:
            source = f"CLDR {get_cldr_version()}, {name}, {what} (Babel)"
            out.append({"kind": kind, "text": text, "language": language, "expect": expect, "source": source})

        for day in DATES:
            for width in ("short", "medium", "long", "full"):
                add("date", format_date(day, width, locale=locale), day.isoformat(), f"{width} date")
        for width in ("short", "medium", "long"):
            text = format_datetime(INSTANT, width, tzinfo=UTC, locale=locale)
            add("datetime", text, "2024-05-09T14:05:00Z", f"{width} date and time, UTC")
        for delta in AGO:
            text = format_timedelta(delta, add_direction=True, locale=locale, threshold=2)
            moved = NOW + delta
            expect = moved if delta > timedelta(days=-1) else moved.replace(hour=0)
            add("datetime", text, expect.strftime("%Y-%m-%dT%H:%M:%SZ"), "relative time")
        for number in NUMBERS:
            add("number", decimal(number, locale), float(number), "decimal number")
        for amount in AMOUNTS:
            add("price", *_price(amount, currency, locale), "currency")
        add("price", *_price(Decimal("2499.95"), "EUR", locale), "currency")
    return out


def decimal(number: Decimal, locale: Locale) -> str:
    """As CLDR has it; Babel takes two apostrophes in a number for one quoted nothing, so these are put in here."""
    return quoted(format_decimal(number, locale=locale), format_decimal(number, locale="en"), locale)


def quoted(text: str, english: str, locale: Locale) -> str:
    if locale.number_symbols["latn"]["group"] != "'":
        return text
    figures = "".join(char for char in english if char in "0123456789.,").replace(",", "'")
    return re.sub("[0-9.']+", figures, text, count=1)


def _price(amount: Decimal, currency: str, locale: Locale) -> tuple[str, dict[str, str]]:
    text = quoted(
        format_currency(amount, currency, locale=locale), format_currency(amount, currency, locale="en"), locale
    )
    whole = currency in ("JPY", "KRW", "VND")
    rounded = amount.quantize(Decimal(1) if whole else Decimal("0.01"))
    return text, {"amount": str(rounded), "currency": currency}


if __name__ == "__main__":
    kept = []
    if TARGET.exists():
        kept = [
            line for line in TARGET.read_text("utf-8").splitlines() if not json.loads(line)["source"].startswith("CLDR")
        ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows()]
    TARGET.write_text("\n".join([*lines, *kept]) + "\n", "utf-8")
