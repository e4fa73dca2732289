"""URLs that look like an endless series: calendars, session ids, growing queries, paths that repeat.

Each verdict depends on the URL alone (and the year the crawl began in), never on what was seen before, so it
is the same for every worker and order. A trap ends a series some way in; it does not forbid its beginning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from perseid.links.calendars import far_date
from perseid.pattern import later

MAX_URL = 2048
"""Characters of path and query."""
MAX_PARAMETERS = 20
MAX_SAME_NAME = 3
"""How often one parameter may stand in a query; `name[]` may as often as it likes."""
MAX_SAME_SEGMENT = 4
MAX_SEGMENTS = 40

THIS_YEAR = 2026
"""Stands in where the caller doesn't say when the crawl began."""

_MAX_RUN = 20
"""Segments in the longest run whose repetition is looked for."""
_YEARLIKE = re.compile(r"[0-9]{4}")
_SESSION = later(
    r"jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|cftoken|zenid|osc+sid|xtcsid|bv_?sessionid|sessid"
)
_PERHAPS_SESSION = frozenset({"sid", "sessionid", "session_id", "session-id", "ssid", "s_id", "cfid", "session"})
_TOKEN = later(r"(?=.{0,99}[A-Za-z])(?=.{0,99}\d)[A-Za-z0-9]{6,}|[0-9A-Fa-f-]{32,}|[A-Za-z0-9]{16,}|\d{10,}")
_WORDS = later(r"[A-Za-z]*\d*")
"""What the name `session` also takes, as of a conference or a parliament: `winter2023`."""
_PATH_SESSION = later(r";(jsessionid|phpsessid|sid|sessionid)=[^/;]+", re.IGNORECASE)
_COOKIELESS = later(r"/(\([SAF]\([A-Za-z0-9_-]{12,}\)\))")


class Trap(NamedTuple):
    """Which rule saw a trap (a phrase for people), and what it saw."""

    rule: str
    value: str


def trap(path: str, query: str = "", *, year: int = THIS_YEAR) -> Trap | None:
    """The trap that a URL with this path and query is, or None.

    `year` is the one the crawl began in: calendars are followed some years back and ahead of it.
    """
    size = len(path) + len(query)
    if size > MAX_URL:
        return Trap(f"more than {MAX_URL} characters", f"{size} characters")
    found = _session_in_path(path) or _repetition(path) or (_query_trap(query) if query else None)
    if found is None and (query or _YEARLIKE.search(path)):
        date = far_date(path, query, year)
        if date is not None:
            return Trap(f"a calendar outside {date.first} to {date.last}", date.value)
    return found


def _session_in_path(path: str) -> Trap | None:
    if (";" in path and (found := _PATH_SESSION.search(path))) or ("(" in path and (found := _COOKIELESS.search(path))):
        return Trap("a session id in the path", found[0][1:])
    return None


def _repetition(path: str) -> Trap | None:
    if path.count("/") < 3:
        return None
    segments = [segment for segment in path.split("/") if segment]
    distinct = set(segments)
    if len(distinct) < len(segments):
        for size in range(1, min(_MAX_RUN, len(segments) // 3) + 1):
            if run := _repeated_run(segments, size):
                return Trap("the path repeats itself", f"{'/'.join(run)} three times and more")
        for segment in sorted(distinct):
            count = segments.count(segment)
            if count > MAX_SAME_SEGMENT and not segment.isdecimal():
                return Trap(f"one path segment more than {MAX_SAME_SEGMENT} times", f"{segment} {count} times")
    if len(segments) > MAX_SEGMENTS:
        return Trap(f"more than {MAX_SEGMENTS} path segments", f"{len(segments)} segments")
    return None


def _repeated_run(segments: list[str], size: int) -> list[str] | None:
    """`size` segments that stand three times in a row; four times where they are all numbers."""
    same = 0
    for at in range(size, len(segments)):
        same = same + 1 if segments[at] == segments[at - size] else 0
        if same >= 2 * size:
            run = segments[at - size + 1 : at + 1]
            if same >= 3 * size or not all(part.isdecimal() for part in run):
                return run
    return None


def _is_session(name: str, value: str) -> bool:
    if name not in _PERHAPS_SESSION or not _TOKEN.fullmatch(value):
        return False
    return name != "session" or len(value) >= 16 or not _WORDS.fullmatch(value)


def _query_trap(query: str) -> Trap | None:
    pairs = [pair for pair in query.replace(";", "&").split("&") if pair]
    if len(pairs) > MAX_PARAMETERS:
        return Trap(f"more than {MAX_PARAMETERS} query parameters", f"{len(pairs)} parameters")
    counts: dict[str, int] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        lower = name.lower()
        if value and (_SESSION.fullmatch(lower) or _is_session(lower, value)):
            return Trap("a session id in the query", pair)
        if not lower.endswith(("[]", "%5b%5d")):
            counts[lower] = counts.get(lower, 0) + 1
            counts[pair] = counts.get(pair, 0) + 1 if "=" in pair else 1
    for what, count in counts.items():
        if count > MAX_SAME_NAME or (count == MAX_SAME_NAME and "=" in what):
            return Trap("one query parameter again and again", f"{what} {count} times")
    return None
