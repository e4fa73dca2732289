"""What languages call things: months, relative dates, currency signs; from CLDR, read when first needed.

`words.json` is written by `tests/unit/rules/cldr_words.py`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import orjson

_ALIASES = {
    "no": "nb", "nn": "nb", "iw": "he", "in": "id", "tl": "fil", "zh-tw": "zh-hant", "zh-hk": "zh-hant",
    "zh-mo": "zh-hant", "zh-cn": "zh", "zh-hans": "zh", "es-419": "es-mx",
}  # fmt: skip
_DECIMAL_POINT_ABROAD = frozenset(
    {"es-mx", "es-us", "es-pr", "es-gt", "es-pe", "es-do", "es-hn", "es-sv", "es-ni", "es-pa"}
)


@lru_cache(maxsize=1)
def all_words() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(resources.files(__package__).joinpath("words.json").read_bytes())
    return found


@lru_cache(maxsize=500)
def language_of(tag: str | None) -> str | None:
    """The language that is known by that tag, as `words.json` has it; None where it is none of them."""
    if not tag:
        return None
    known = all_words()["languages"]
    parts = tag.replace("_", "-").lower().split("-")
    for length in range(len(parts), 0, -1):
        name = "-".join(parts[:length])
        name = _ALIASES.get(name, name)
        if name in known:
            return name
        if name == "es-mx":
            return "es"
    return None


@lru_cache(maxsize=500)
def habits(tag: str | None) -> dict[str, Any] | None:
    """`order`, `decimal` and `signs` of a language, or of its region where that differs."""
    if not tag:
        return None
    name = tag.replace("_", "-").lower()
    found = all_words()["regions"].get(_ALIASES.get(name, name))
    if found is None and name in _DECIMAL_POINT_ABROAD:
        found = all_words()["regions"]["es-mx"]
    if found is None and (language := language_of(tag)) is not None:
        found = all_words()["languages"][language]
    return found  # type: ignore[no-any-return]  # JSON


_VIETNAMESE = ["một", "hai", "ba", "tư", "năm", "sáu", "bảy", "tám", "chín", "mười", "mười-một", "mười-hai"]
_FURTHER_MONTHS = {
    "vi": {f"tháng {name.replace('-', ' ')}": at for at, name in enumerate(_VIETNAMESE, 1)},
    "bg": {"ян": 1},
}
"""Beside CLDR's."""
_SHORTEST = 3
"""Letters of a month's name that stand for it."""


@lru_cache(maxsize=60)
def months(language: str | None) -> dict[str, int]:
    """Names in lower case without dots; of no language in particular, those that mean one month in all of them.

    Their beginnings are in it as well, from three letters on, where no two months begin so.
    """
    if language is None:
        return _months_anywhere()
    found = {**all_words()["languages"][language]["months"], **_FURTHER_MONTHS.get(language, {})}
    short: dict[str, int] = {}
    clash: set[str] = set()
    for name, number in found.items():
        for length in range(_SHORTEST, len(name)):
            if " " not in name and short.setdefault(name[:length], number) != number:
                clash.add(name[:length])
    return {**{name: number for name, number in short.items() if name not in clash}, **found}


@lru_cache(maxsize=1)
def _months_anywhere() -> dict[str, int]:
    found: dict[str, int] = {}
    clash: set[str] = set()
    for words in all_words()["languages"].values():
        for name, number in words["months"].items():
            if found.setdefault(name, number) != number:
                clash.add(name)
    return {**{name: number for name, number in found.items() if name not in clash}, **months("en")}
