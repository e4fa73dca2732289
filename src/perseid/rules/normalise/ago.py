"""Dates that count from now: `3 days ago`, `gestern`, `2小时前`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from perseid.rules.normalise.words import all_words, language_of

MAX_LENGTH = 60
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MOST = 1_000_000


class _Way(NamedTuple):
    pattern: re.Pattern[str]
    unit: str
    number: int


def read(line: str, language: str | None, now: datetime) -> tuple[datetime, bool] | None:
    """The instant and whether it is a whole day; None where the text is nothing of the kind.

    Languages that aren't known by their tag are tried in English, and in those that need no spaces.
    """
    if len(line) > MAX_LENGTH:
        return None
    line = line.strip(" .,;()")
    known = language_of(language)
    for name in (known, "en") if known else ("en", "zh", "ja", "ko"):
        for way in _ways(name):
            match = way.pattern.fullmatch(line)
            if match is None:
                continue
            number = int(match[1]) * way.number if way.pattern.groups else way.number
            return None if abs(number) > _MOST else _moved(now, way.unit, number)
    return None


def _moved(now: datetime, unit: str, number: int) -> tuple[datetime, bool] | None:
    now = now.replace(microsecond=0)
    try:
        if unit in _SECONDS:
            moved = now + timedelta(seconds=_SECONDS[unit] * number)
        else:
            months = now.year * 12 + now.month - 1 + number * (12 if unit == "year" else 1)
            year, month = divmod(months, 12)
            moved = _last_day_at_most(now, year, month + 1)
    except (ValueError, OverflowError):
        return None
    whole = unit in ("day", "week", "month", "year")
    return (moved.replace(hour=0, minute=0, second=0) if whole else moved), whole


def _last_day_at_most(now: datetime, year: int, month: int) -> datetime:
    for day in range(now.day, 27, -1):
        try:
            return now.replace(year=year, month=month, day=day)
        except ValueError:
            continue
    return now.replace(year=year, month=month)


@lru_cache(maxsize=60)
def _ways(language: str) -> list[_Way]:
    out = []
    for text, unit, number in all_words()["languages"][language]["relative"]:
        pattern = r"(\d{1,7})".join(re.escape(part) for part in text.split("{0}"))
        pattern = pattern.replace(r"\ ", r"\s?").replace(r"\.", r"\.?")
        out.append(_Way(re.compile(pattern), unit, number))
    if language == "en":
        out.append(_Way(re.compile(r"just now|moments? ago|a few seconds ago"), "second", 0))
        for name in ("minute", "hour", "day", "week", "month", "year"):
            out.append(_Way(re.compile(rf"(?:about )?an? {name} ago"), name, -1))
            out.append(_Way(re.compile(rf"(?:about |over |posted )?(\d{{1,7}})\+? {name}s? ago"), name, -1))
    if language == "zh":
        out.append(_Way(re.compile(r"刚刚|刚才"), "second", 0))
    return out
