"""Writes src/perseid/rules/normalise/words.json from Babel's copy of CLDR; run it after an update of Babel.

The file holds, for each language, names of months, day periods and relative dates, the order of day, month and year,
the decimal separator and currency signs. A test compares it with what this would write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from babel import Locale
from babel.core import get_cldr_version, get_global

TARGET = Path(__file__).parents[3] / "src/perseid/rules/normalise/words.json"
LANGUAGES = [
    "ar",
    "bg",
    "bn",
    "ca",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "fa",
    "fi",
    "fil",
    "fr",
    "he",
    "hi",
    "hr",
    "hu",
    "id",
    "is",
    "it",
    "ja",
    "ko",
    "lt",
    "lv",
    "ms",
    "nb",
    "nl",
    "pl",
    "pt",
    "ro",
    "ru",
    "sk",
    "sl",
    "sr",
    "sv",
    "th",
    "tr",
    "uk",
    "ur",
    "vi",
    "zh",
    "zh_Hant",
]
REGIONS = [
    "en_AU",
    "en_CA",
    "en_GB",
    "en_IE",
    "en_IN",
    "en_NZ",
    "en_ZA",
    "es_MX",
    "es_US",
    "fr_CA",
    "fr_CH",
    "de_CH",
    "de_AT",
    "pt_PT",
    "it_CH",
]
CURRENCIES = [
    "AED",
    "ARS",
    "AUD",
    "BGN",
    "BRL",
    "CAD",
    "CHF",
    "CLP",
    "CNY",
    "COP",
    "CZK",
    "DKK",
    "EGP",
    "EUR",
    "GBP",
    "HKD",
    "HUF",
    "IDR",
    "ILS",
    "INR",
    "ISK",
    "JPY",
    "KRW",
    "MXN",
    "MYR",
    "NGN",
    "NOK",
    "NZD",
    "PEN",
    "PHP",
    "PKR",
    "PLN",
    "RON",
    "RSD",
    "RUB",
    "SAR",
    "SEK",
    "SGD",
    "THB",
    "TRY",
    "TWD",
    "UAH",
    "USD",
    "VND",
    "ZAR",
]
UNITS = ("second", "minute", "hour", "day", "week", "month", "year")


def words() -> dict[str, Any]:
    return {
        "source": f"Unicode CLDR {get_cldr_version()} (Unicode License v3)",
        "languages": {name.replace("_", "-").lower(): language(name) for name in LANGUAGES},
        "regions": {name.replace("_", "-").lower(): region(name) for name in REGIONS},
        "currencies": sorted(code for code in get_global("all_currencies") if _tender(code)),
    }


def _tender(code: str) -> bool:
    return len(code) == 3 and code not in {"XXX", "XTS"}


def language(name: str) -> dict[str, Any]:
    locale = Locale.parse(name)
    return {**region(name), "months": months(locale), "periods": periods(locale), "relative": relative(locale)}


def region(name: str) -> dict[str, Any]:
    locale = Locale.parse(name)
    pattern = str(locale.date_formats["short"].pattern)
    order = "".join(dict.fromkeys(letter for letter in pattern.lower() if letter in "dmy"))
    return {
        "order": order if order in ("dmy", "mdy", "ymd") else "dmy",
        "decimal": locale.number_symbols["latn"]["decimal"].replace("٫", "."),
        "signs": signs(locale),
    }


def months(locale: Locale) -> dict[str, int]:
    """Names in all widths but the narrow one, and whole months as the long date formats have them."""
    found: dict[str, int] = {}
    clash: set[str] = set()
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                key = re.sub(r"[.\u200e\u200f]", "", name).strip().lower()
                if not key or key.isdigit() or re.fullmatch(r"\d+\s*[月월]", key):
                    continue
                if found.setdefault(key, number) != number:
                    clash.add(key)
    return {key: number for key, number in found.items() if key not in clash}


def periods(locale: Locale) -> dict[str, str]:
    found: dict[str, str] = {}
    for context in ("format", "stand-alone"):
        for width in ("abbreviated", "wide"):
            for key, name in locale.day_periods.get(context, {}).get(width, {}).items():
                half = {"am": "am", "mo": "am", "pm": "pm", "af": "pm", "ev": "pm"}.get(key[:2])
                if half:
                    found.setdefault(name.replace("\u202f", " ").replace("\xa0", " ").lower(), half)
    return found


def relative(locale: Locale) -> list[list[Any]]:
    """Texts with `{0}` or none, the unit, and how many of it to go (None: what `{0}` holds, with the sign)."""
    out: dict[str, list[Any]] = {}
    fields = locale._data["date_fields"]
    for unit in UNITS:
        for width in ("", "-short", "-narrow"):
            field = fields.get(unit + width, {})
            for sign, key in ((-1, "past"), (1, "future")):
                for count, text in field.get(key, {}).items():
                    _put(out, text, unit, sign * (2 if count == "two" and "{0}" not in text else 1))
            if unit in ("day", "second"):
                for offset, text in field.get("relative", {}).items():
                    _put(out, text, unit, offset)
    return list(out.values())


def _put(out: dict[str, list[Any]], text: str, unit: str, number: int) -> None:
    key = " ".join(re.sub(r"[\u200e\u200f]", "", text).split()).lower()
    if key and "+" not in key and not (key.startswith(("-", "\u2212")) and "{0}" in key):
        out.setdefault(key, [key, unit, number])


def signs(locale: Locale) -> dict[str, str]:
    """What the locale writes for a currency, where that is more than its code."""
    found: dict[str, str] = {}
    for code in CURRENCIES:
        sign = re.sub(r"[\u200e\u200f\xa0]", "", str(locale.currency_symbols.get(code, code)))
        if sign.upper() != code:
            found.setdefault(sign, code)
    return found


if __name__ == "__main__":
    TARGET.write_text(json.dumps(words(), ensure_ascii=False, separators=(",", ":"), indent=0) + "\n", "utf-8")
