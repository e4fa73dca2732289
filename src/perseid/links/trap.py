"""URLs that look like an endless series: calendars, session ids, growing queries, paths that repeat.

Each verdict depends on the URL alone (and the year the crawl began in), never on what was seen before, so it
is the same for every worker and order. A trap ends a series some way in; it does not forbid its beginning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_URL = 2048
MAX_PARAMETERS = 20
MAX_SAME_NAME = 3
"""How often one parameter may stand in a query; `name[]` may as often as it likes."""
MAX_SAME_SEGMENT = 4
MAX_SEGMENTS = 40

THIS_YEAR = 2026
"""Stands in where the caller doesn't say when the crawl began."""

_MONTHS_BACK_Y, _MONTHS_AHEAD_Y = 10, 2
_DAYS_BACK_Y, _DAYS_AHEAD_Y = 3, 1

_CALENDAR = re.compile(
    r"calend[ae]r|kalender|agenda|(?:day|week|month)-?view|view=(?:day|week|month)|tribe-bar-date"
    r"|[?&](?:ical|cal)=",
    re.IGNORECASE,
)
_EVENTS = re.compile(
    r"\bevents?\b|termine|veranstaltung|schedule|timetable|booking|availability", re.IGNORECASE
)
_MONTH = r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])?)"
_DATE_AT_END = re.compile(rf"/{_MONTH}(?=/?(?:$|\?))|[?&][^=&]+={_MONTH}(?=&|$)")
_DATE = re.compile(rf"(?<![\d.]){_MONTH}(?![\d.])|/(\d{{4}})(?=/?(?:$|\?))")
_DATED_PATH = re.compile(r"/(\d{4})(?:/|-)(?:0?[1-9]|1[0-2])(?=[/?-]|$)")
_YEAR_NAME = frozenset({"year", "yr", "y", "cal_year", "calyear", "jahr", "annee", "ano"})
_DAY_NAME = frozenset({"day", "d", "week", "date", "cal_day", "tag", "jour", "dia"})

_SESSION = frozenset(
    """
    jsessionid phpsessid aspsessionid asp.net_sessionid cfid cftoken zenid oscsid osccsid xtcsid bvsessionid
    sessid
    """.split()
)
_PERHAPS_SESSION = frozenset({"sid", "session", "sessionid", "session_id", "session-id", "ssid", "s_id"})
_TOKEN = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9_.-]{6,}|[A-Za-z0-9_-]{16,}|\d{10,}")
_PATH_SESSION = re.compile(r";(jsessionid|phpsessid|sid|sessionid)=([^/;?]+)", re.IGNORECASE)
_COOKIELESS = re.compile(r"/\([SA]\([A-Za-z0-9]{12,}\)\)")


class Trap(NamedTuple):
    """Which rule saw a trap (a phrase for people), and what it saw."""

    rule: str
    value: str


def trap(path: str, query: str = "", *, year: int = THIS_YEAR) -> Trap | None:
    """The trap that a URL with this path and query is, or None.

    `year` is the one the crawl began in: calendars are followed some years back and ahead of it.
    """
    if len(path) + len(query) > MAX_URL:
        return Trap(f"more than {MAX_URL} characters", f"{len(path) + len(query)} characters")
    found = _path_trap(path)
    if found is None and query:
        found = _query_trap(query)
    return found or _calendar_trap(path, query, year)


def _path_trap(path: str) -> Trap | None:
    if "(" in path and (cookieless := _COOKIELESS.search(path)):
        return Trap("a session id in the path", cookieless[0][1:])
    if ";" in path and (session := _PATH_SESSION.search(path)):
        return Trap("a session id in the path", session[0][1:])
    if path.count("/") < 3:
        return None
    segments = [segment for segment in path.split("/") if segment]
    if len(set(segments)) == len(segments):
        return _too_deep(segments)
    for size in range(1, len(segments) // 3 + 1):
        if times := _repeats(segments, size):
            return Trap("the path repeats itself", f"{'/'.join(times)} three times")
    for segment in set(segments):
        if not segment.isdecimal() and (count := segments.count(segment)) > MAX_SAME_SEGMENT:
            return Trap(f"one path segment more than {MAX_SAME_SEGMENT} times", f"{segment} {count} times")
    return _too_deep(segments)


def _too_deep(segments: list[str]) -> Trap | None:
    if len(segments) > MAX_SEGMENTS:
        return Trap(f"more than {MAX_SEGMENTS} path segments", f"{len(segments)} segments")
    return None


def _repeats(segments: list[str], size: int) -> list[str] | None:
    """The run of `size` segments that stands three times in a row; four times where it is only numbers."""
    same = 0
    for at in range(size, len(segments)):
        same = same + 1 if segments[at] == segments[at - size] else 0
        run = segments[at - size + 1 : at + 1]
        if same >= 2 * size and (same >= 3 * size or not all(part.isdecimal() for part in run)):
            return run
    return None


def _query_trap(query: str) -> Trap | None:
    pairs = [pair for pair in re.split("[&;]", query) if pair]
    if len(pairs) > MAX_PARAMETERS:
        return Trap(f"more than {MAX_PARAMETERS} query parameters", f"{len(pairs)} parameters")
    counts: dict[str, int] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        lower = name.lower()
        if value and (
            lower in _SESSION
            or lower.startswith("aspsessionid")
            or (lower in _PERHAPS_SESSION and _TOKEN.fullmatch(value))
        ):
            return Trap("a session id in the query", f"{name}={value}")
        if not lower.endswith(("[]", "%5b%5d")):
            counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > MAX_SAME_NAME or (count > 2 and len(set(pairs)) <= len(pairs) - 2):
            return Trap("one query parameter again and again", f"{name} {count} times")
    return None


def _calendar_trap(path: str, query: str, year: int) -> Trap | None:
    """Dates far from `year`: near ones are content, the rest is what a calendar makes up on demand."""
    text = f"{path}?{query}" if query else path
    hinted = _CALENDAR.search(text) is not None or _EVENTS.search(text) is not None
    names = (
        {pair.partition("=")[0].lower(): pair.partition("=")[2] for pair in query.split("&")} if query else {}
    )
    by_name = next((int(names[n]) for n in _YEAR_NAME if n in names and _is_year(names[n])), None)
    if not hinted and by_name is None:
        dated = _DATED_PATH.search(path)
        if dated and not 1000 <= int(dated[1]) <= year + 20:
            return Trap("a date far away", dated[1])
        return None
    if by_name is not None:
        stepped = any(name in names for name in ("month", "mon", "m", "cal_month", "monat", *_DAY_NAME))
        if stepped or hinted:
            daily = any(name in names for name in _DAY_NAME)
            return _far(by_name, year, daily=daily, value=f"year {by_name}")
        return None
    for match in (_DATE if _CALENDAR.search(text) else _DATE_AT_END).finditer(text):
        digits = [int(group) for group in match.groups() if group]
        if found := _far(digits[0], year, daily=len(digits) > 2, value=match[0].lstrip("/?&")):
            return found
    return None


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isascii() and text.isdecimal()


def _far(found: int, year: int, *, daily: bool, value: str) -> Trap | None:
    back, ahead = (_DAYS_BACK_Y, _DAYS_AHEAD_Y) if daily else (_MONTHS_BACK_Y, _MONTHS_AHEAD_Y)
    if year - back <= found <= year + ahead:
        return None
    return Trap("a calendar far from today", value)
