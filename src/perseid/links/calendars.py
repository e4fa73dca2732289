"""Calendars that make up pages for ever: dates in a URL that lie far from the year the crawl began in.

Near dates are content. How near depends on what the URL looks like: a calendar's month views are followed
from ten years back to two ahead, its day and week views from three back to one ahead; a date elsewhere
(`?year=1923&month=4` of a newspaper) counts as content since 1900.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from perseid.pattern import later

_MONTH_VIEWS = (10, 2)
_DAY_VIEWS = (3, 1)
_FIRST_YEAR, _FREE_AHEAD = 1900, 20
_MAX_STEPS = 24
"""How far a view may be from the current one where a URL counts the steps (`?offset=-30`)."""

_CALENDAR = (
    "calendar", "calender", "kalender", "calendrier", "agenda", "dayview", "day-view", "weekview", "week-view",
    "monthview", "month-view", "view=day", "view=week", "view=month", "tribe-bar-date", "?ical=", "&ical=",
    "?cal=", "&cal=",
)  # fmt: skip
_EVENTS = ("termine", "veranstaltung", "timetable", "booking", "availability")
_EVENT = re.compile(r"\bevents?\b")
_DATE = r"(\d{4})(?:[-/](0?[1-9]|1[0-2])(?:[-/](0?[1-9]|[12]\d|3[01]))?|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?)"
_ANYWHERE = later(rf"(?<![\d.]){_DATE}(?![\d.])|/((?:19|2[01])\d\d)(?=/?(?:$|\?))")
_AT_END = later(rf"/{_DATE}(?=/?(?:$|\?))|[?&][^=&]+={_DATE}(?=&|$)")
_FULL = later(r"(?<!\d)(\d{4})/(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?=/|$)")

_YEARS = frozenset({"year", "yr", "y", "yyyy", "cal_year", "calyear", "jahr", "annee", "ano"})
_DATES = frozenset({"date", "ym", "ymd", "start", "from", "start_date", "startdate", "month", "day", "week"})
_LARGEST = {"month": 12, "mon": 12, "m": 12, "week": 53, "w": 53, "day": 31, "d": 31}
_DAYS = frozenset({"day", "d", "dd", "week", "w", "cal_day", "tag", "jour", "dia"})
_PARTS = frozenset({"month", "mon", "m", "mm", "cal_month", "monat", "mois", "mes"}) | _DAYS
_STEPS = frozenset({"offset", "delta", "next", "prev", "cal_offset", "month_offset", "week_offset"})
_SECONDS_PER_YEAR = 31_556_952


class FarDate(NamedTuple):
    """The part of a URL that is far away, and the years that would have been near."""

    value: str
    first: int
    last: int


def far_date(path: str, query: str, year: int) -> FarDate | None:
    """The date that makes a URL a far page of a calendar, or None; `year` is the one the crawl began in."""
    text = (f"{path}?{query}" if query else path).lower()
    names = dict(_parameters(query)) if query else {}
    if _is_of_calendar(text):
        return (
            _named(names, year, strict=True)
            or _counted(names, year)
            or _written(_ANYWHERE, text, year)
            or _stamped(names, year)
        )
    if _is_of_events(text):
        return _named(names, year, strict=True) or _written(_AT_END, text, year)
    return _named(names, year, strict=False) or _unhinted(path, names, year)


def _is_of_calendar(text: str) -> bool:
    # The short words rule nearly all URLs out at a tenth of the cost.
    return ("cal" in text or "kal" in text or "agenda" in text or "view" in text or "bar-date" in text) and any(
        word in text for word in _CALENDAR
    )


def _is_of_events(text: str) -> bool:
    for word in _EVENTS:
        if word in text:
            return True
    return "event" in text and _EVENT.search(text) is not None


def _parameters(query: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in query.split("&")]
    return [(name.lower(), value) for name, _, value in pairs if value]


def _named(names: dict[str, str], year: int, *, strict: bool) -> FarDate | None:
    """A year as a parameter of its own, beside a month, week or day."""
    for name in names.keys() & _YEARS:
        value = names[name]
        if not (len(value) == 4 and value.isascii() and value.isdecimal()):
            continue
        parts = names.keys() & _PARTS
        if strict:
            return _far(int(value), f"{name}={value}", year, *(_DAY_VIEWS if parts & _DAYS else _MONTH_VIEWS))
        if parts:
            return _beyond(int(value), f"{name}={value}", _FIRST_YEAR, year + _MONTH_VIEWS[1])
    return None


def _counted(names: dict[str, str], year: int) -> FarDate | None:
    """Months, weeks or days that no year has, and views that are counted from today."""
    for name, value in names.items():
        number = _integer(value)
        if number is None:
            continue
        largest = _MAX_STEPS if name in _STEPS else _LARGEST.get(name)
        if largest is not None and abs(number) < 1000 and not -_MAX_STEPS <= number <= largest:
            return FarDate(f"{name}={value}", year - _MONTH_VIEWS[0], year + _MONTH_VIEWS[1])
    return None


def _written(pattern: re.Pattern[str], text: str, year: int) -> FarDate | None:
    for match in pattern.finditer(text):
        digits = [group for group in match.groups() if group]
        back, ahead = _DAY_VIEWS if len(digits) > 2 else _MONTH_VIEWS
        if found := _far(int(digits[0]), match[0].lstrip("/?&"), year, back, ahead):
            return found
    return None


def _stamped(names: dict[str, str], year: int) -> FarDate | None:
    """Seconds since 1970, as some calendars name their days."""
    for name, value in names.items():
        number = _integer(value)
        if number is not None and len(value) in (9, 10):
            found = _far(1970 + number // _SECONDS_PER_YEAR, f"{name}={value}", year, *_DAY_VIEWS)
            if found is not None:
                return found
    return None


def _unhinted(path: str, names: dict[str, str], year: int) -> FarDate | None:
    if path.count("/") > 2 and (match := _FULL.search(path)) is not None and int(match[1]) > year + _FREE_AHEAD:
        return FarDate(match[0], _FIRST_YEAR, year + _FREE_AHEAD)
    for name in names.keys() & _DATES:
        if match := re.fullmatch(r"(\d{4})-\d{1,2}(?:-\d{1,2})?", names[name]):
            return _beyond(int(match[1]), f"{name}={names[name]}", _FIRST_YEAR, year + _MONTH_VIEWS[1])
    return None


def _integer(value: str) -> int | None:
    digits = value.removeprefix("-")
    return int(value) if len(digits) <= 10 and digits.isascii() and digits.isdecimal() else None


def _far(found: int, value: str, year: int, back: int, ahead: int) -> FarDate | None:
    return _beyond(found, value, year - back, year + ahead)


def _beyond(found: int, value: str, first: int, last: int) -> FarDate | None:
    return None if first <= found <= last else FarDate(value, first, last)
