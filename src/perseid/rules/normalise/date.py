"""Dates as people write them, in the languages of `words`: read when they can mean one day only.

Without language or order `3/4/2025` is refused, not guessed; so is a date without a year.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from perseid.pattern import later
from perseid.rules.normalise import ago, clock
from perseid.rules.normalise.number import Unreadable
from perseid.rules.normalise.text import western
from perseid.rules.normalise.words import habits, language_of, months

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 120
"""Characters that are looked at."""

_ISO = later(
    r"([+-]?\d{4,6})-(\d{2})-(\d{2})(?:(?:t|\s{1,2})(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?"
    r"(z|[+-]\d{2}(?::?\d{2})?)?)?(?![\d:])"
)
_COMPACT = later(r"(\d{4})(\d{2})(\d{2})(?:t?(\d{2})(\d{2})(\d{2})?)?(z)?")
_UNIX = later(r"(\d{10})(?:\.\d+)?|(\d{13})")
_EAST = later(
    r"(?P<era>令和|平成|昭和|民國|民国|中華民國)?\s?(?P<year>\d{1,4}|元)\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日号號일]?"
)
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911, "中華民國": 1911}
_NUMERIC = later(r"(?<![\d.,/-])(\d{1,4})(?:\s?([./-])\s?)(\d{1,2})\s?\2\s?(\d{1,4})(?!\d|[/-]\d)\.?")
_SHORT_YEAR = later(r"['’ʼ](\d{2})(?!\d)")
_WORD = later(r"\d+|[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0e7f'’ʼ-])*")
_SPAN = later(r"(\d{1,2})\.?\s?[-–]\s?\d{1,2}\.?(?=\s+[^\W\d]|,?\s+\d{4}(?!\d))")
"""`12-14 June 2021`: the first day counts."""
_DOTTED = later("(?<=[\u0e00-\u0e7f])\\.")
_THAI_MONTH = "เดือน"
_BUDDHIST = 2400
"""Years from there on are counted as in Thailand."""


class Read(NamedTuple):
    """`at` is aware; `whole_day` where the text names no time of day: then it is midnight."""

    at: datetime
    whole_day: bool


class Hints(NamedTuple):
    language: str | None = None
    timezone: str = "UTC"
    order: str | None = None
    formats: tuple[str, ...] = ()


def read_date(text: str, hints: Hints, now: datetime) -> Read:
    """The instant that a text names, or counts from `now` (aware). Raises Unreadable saying why not."""
    line = western(text)[:MAX_LENGTH]
    zone = zone_of(hints.timezone)
    for form in hints.formats:
        found = _formatted(line, form, zone)
        if found is not None:
            return found
    folded = line.lower()
    found = _iso(folded, zone) or _unix(folded)
    if found is not None:
        return found
    relative = ago.read(folded, hints.language, now.astimezone(zone))
    if relative is not None:
        return Read(*relative)
    return _written(folded, hints, zone)


@lru_cache(maxsize=200)
def zone_of(name: str) -> tzinfo:
    """Raises Unreadable where no such time zone is known."""
    if name.upper() in ("UTC", "Z", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Unreadable(f"there is no time zone {name!r}; names are such as Europe/Berlin") from None


def _formatted(line: str, form: str, zone: tzinfo) -> Read | None:
    try:
        found = datetime.strptime(line, form)  # noqa: DTZ007  the zone is given next
    except ValueError:
        return None
    whole = not any(sign in form for sign in ("%H", "%I", "%c", "%X", "%s"))
    return Read(found if found.tzinfo else found.replace(tzinfo=zone), whole)


def _iso(line: str, zone: tzinfo) -> Read | None:
    match = _ISO.match(line) or _COMPACT.fullmatch(line)
    if match is None:
        return None
    parts = match.groups()
    year, month, day, hour, minute, second = parts[:6]
    if hour is None and (line[match.end() :].strip(" .,)") or (len(parts) == 7 and not line.startswith(("19", "20")))):
        return None  # more follows: perhaps a time in other words
    fraction = (parts[6] or "0") if len(parts) == 8 else "0"
    micro = int(fraction.ljust(6, "0")[:6])
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0) % 24, int(minute or 0), int(second or 0), micro,
                      tzinfo=clock.offset(parts[-1]) or zone)  # fmt: skip
    except (ValueError, OverflowError):
        raise Unreadable(f"there is no such day or time: {match[0]}") from None
    if hour == "24":
        at += timedelta(days=1)
    return Read(at, hour is None)


def _unix(line: str) -> Read | None:
    match = _UNIX.fullmatch(line)
    if match is None:
        return None
    seconds = int(match[1]) if match[1] else int(match[2]) / 1000
    return Read(datetime.fromtimestamp(seconds, UTC), whole_day=False)


def _written(line: str, hints: Hints, zone: tzinfo) -> Read:
    """A date in words or figures, with a time of day before, behind, or not at all."""
    language = language_of(hints.language)
    times = clock.times(line, language)
    rest = line
    day: date | None = None
    found: clock.Clock | None = None
    for found in [*times, None]:
        rest = line if found is None else f"{line[: found.start]} ; {line[found.end :]}"
        day = _day(rest, hints, language)
        if day is not None:
            break
    if day is None:
        raise Unreadable(_why_not(line, language))
    stated = None if found is None else clock.zone(found.behind)
    if found is None:
        return Read(datetime.combine(day, time(), zone), whole_day=True)
    at = datetime.combine(day, time(found.hour % 24, found.minute, found.second), stated or zone)
    return Read(at + timedelta(days=found.hour // 24), whole_day=False)


def _why_not(line: str, language: str | None) -> str:
    if not any(char.isdigit() for char in line):
        return "there is no date in it"
    if any(word in months(language) for word in _words(line)):
        return "it names a month, but not one day of one year"
    return "there is no date in it that can be read; `language`, `order` or `formats` may help"


def _day(line: str, hints: Hints, language: str | None) -> date | None:
    match = _EAST.search(line)
    if match is not None:
        year = 1 if match["year"] == "元" else int(match["year"])
        if match["era"]:
            return _made(year + _ERAS[match["era"]], int(match["month"]), int(match["day"]))
        return _made(_full_year(year, match["year"]), int(match["month"]), int(match["day"]))
    named = _named(line, language)
    if named is not None:
        return named
    for match in _NUMERIC.finditer(line):
        return _numeric(match, hints)
    return None


def _numeric(match: re.Match[str], hints: Hints) -> date | None:  # noqa: PLR0911  one way out a form
    one, mark, two, three = match.groups()
    if len(one) == 4:
        return _made(int(one), int(two), int(three)) if len(three) <= 2 else None
    if len(one) == 3 or len(three) == 3:
        return None
    known = habits(hints.language)
    order = hints.order or (known["order"] if known else None)
    if order == "ymd" and len(three) == 4:
        order = None if (hints.language or "").lower()[:2] != "hu" else "dmy"
        order = order or ("mdy" if (hints.language or "").lower().startswith("en") else "dmy")
    if len(three) == 1 and order != "ymd":
        return None
    if order == "ymd":
        return _made(_full_year(int(one), one), int(two), int(three))
    first, second, year = int(one), int(two), _full_year(int(three), three)
    if first > 12:
        return _made(year, second, first)
    if second > 12:
        return _made(year, first, second)
    if order is None and first != second:
        if mark == ".":
            order = "dmy"
        else:
            raise Unreadable(f"{match[0]} may be two days; say `order: dmy` or `mdy`, or a language")
    return _made(year, first, second) if order == "mdy" else _made(year, second, first)


def _named(line: str, language: str | None) -> date | None:
    """A month by its name, with a day and a year beside it in any order."""
    line = _SPAN.sub(r"\1", _DOTTED.sub("", line).replace(_THAI_MONTH, " "))
    line = _SHORT_YEAR.sub(lambda found: str(_full_year(int(found[1]), found[1])), line)
    names = months(language)
    written = list(_words(line))
    for at, word in enumerate(written):
        words = written
        month = None
        for length in (3, 2, 1):  # `tháng mười hai`, `tháng 3`, `march`
            name = " ".join(words[at : at + length])
            month = names.get(name)
            if month is not None:
                words = [*words[:at], word, *words[at + length :]]
                break
        if month is not None:
            found = _around(words, at, month)
            if found is not None:
                return found
    return None if language in (None, "en") else _named(line, "en")


def _around(words: list[str], at: int, month: int) -> date | None:
    before = [word for word in words[max(0, at - 4) : at] if word.isdigit()][-2:]
    behind = [word for word in words[at + 1 : at + 6] if word.isdigit()][:2]
    if before and len(before[-1]) <= 2:
        if behind and len(behind[0]) in (2, 4):  # 5 March 2024
            return _made(_full_year(int(behind[0]), behind[0]), month, int(before[-1]))
        if len(before) == 2 and len(before[0]) == 4:  # 2024, 5 March
            return _made(int(before[0]), month, int(before[1]))
    if before and len(before[-1]) == 4 and behind and len(behind[0]) <= 2:  # 2024 March 5
        return _made(int(before[-1]), month, int(behind[0]))
    if len(behind) == 2 and len(behind[0]) <= 2 and len(behind[1]) == 4:  # March 5, 2024
        return _made(_full_year(int(behind[1]), behind[1]), month, int(behind[0]))
    return None


def _words(line: str) -> Iterator[str]:
    """Numbers and words; of `5th` and `1er` the number, of `mar.` the word."""
    for match in _WORD.finditer(line):
        yield match[0].strip("'’ʼ-")


def _full_year(year: int, written: str) -> int:
    if len(written) <= 2:
        return year + (2000 if year < 69 else 1900)
    return year - 543 if year >= _BUDDHIST else year


def _made(year: int, month: int, day: int) -> date | None:
    if not 1 <= year <= 9999:
        return None
    try:
        return date(year - 543 if year >= _BUDDHIST else year, month, day)
    except ValueError:
        return None
