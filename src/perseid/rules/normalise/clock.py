"""Times of day and the zones that stand behind them."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from perseid.pattern import later
from perseid.rules.normalise.words import all_words

if TYPE_CHECKING:
    import re

_TIME = later(r"(?<![\d:.])(\d{1,2})(?:(:)|([.h]\s?))(\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?(?![\d:]|[./-]\d)")
_EAST = later(r"(\d{1,2})\s?[時时點点시]\s?(?:(\d{1,2})\s?[分분]?)?\s?(?:(\d{1,2})\s?[秒초])?")
_BARE = later(r"(?<![\d:.,/-])(\d{1,2})\s?(h|uhr|a\.?m\b\.?|p\.?m\b\.?)(?![\w])")
_OFFSET = later(r"(?:gmt|utc)?\s?([+\u2212-])(\d{1,2})(?::?(\d{2}))?(?!\d)")
_ZONE = later(r"(?<![^\W\d_])[a-z]{1,5}(?![^\W\d_])")
_AROUND = 24
"""Characters before and behind a time that may name its half of the day."""
_HOURS = {
    "utc": 0, "gmt": 0, "z": 0, "ut": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "mez": 1, "hnec": 1, "cest": 2,
    "mesz": 2, "eet": 2, "sast": 2, "eest": 3, "msk": 3, "trt": 3, "gst": 4, "pkt": 5, "wib": 7, "ict": 7, "hkt": 8,
    "sgt": 8, "awst": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "est": -5, "edt": -4,
    "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "hst": -10, "brt": -3,
    "art": -3, "ist": 5.5, "acst": 9.5,
}  # fmt: skip
"""Short names as they are mostly meant: CST is the one of Chicago, IST the one of India."""


class Clock(NamedTuple):
    """A time of day, where it stands, and what stands behind it."""

    hour: int
    minute: int
    second: int
    start: int
    end: int
    behind: str


def times(line: str, language: str | None) -> list[Clock]:
    """What may be times in a lower-case text, the clear ones first."""
    clear: list[Clock] = []
    unclear: list[Clock] = []
    for match in _EAST.finditer(line):
        found = _made(line, match, (match[1], match[2], match[3]), language)
        if found is not None:
            clear.append(found)
    for match in _TIME.finditer(line):
        found = _made(line, match, (match[1], match[4], match[5]), language)
        if found is not None:
            (unclear if (match[3] or "").startswith(".") else clear).append(found)
    if not clear:
        for match in _BARE.finditer(line):
            found = _made(line, match, (match[1], None, None), language, match[2])
            if found is not None:
                clear.append(found)
    if not clear and language in (None, "en") and (named := _NAMED.search(line)):
        clear.append(Clock(12 if named[1] == "noon" else 0, 0, 0, *named.span(), line[named.end() :]))
    return clear + unclear


def offset(written: str | None) -> tzinfo | None:
    """`z`, `+02:00`, `+0200` or `+02` as a zone."""
    if not written:
        return None
    if written == "z":
        return UTC
    match = _OFFSET.fullmatch(written)
    return _zone(match) if match else None


def zone(behind: str) -> tzinfo | None:
    """The zone that a text names first, by its offset or a short name."""
    behind = behind[:_AROUND]
    match = _OFFSET.search(behind)
    if match is not None and (behind[: match.start()].strip(" (,") in ("", "utc", "gmt") or match[0][0] in "gu"):
        return _zone(match)
    for word in _ZONE.finditer(behind):
        if word[0] in _HOURS:
            return UTC if not _HOURS[word[0]] else timezone(timedelta(hours=_HOURS[word[0]]))
    return None


def _zone(match: re.Match[str]) -> tzinfo | None:
    delta = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    if delta >= timedelta(hours=24):
        return None
    return timezone(delta if match[1] == "+" else -delta)


def _made(
    line: str, match: re.Match[str], parts: tuple[str | None, ...], language: str | None, suffix: str = ""
) -> Clock | None:
    hour, minute, second = (int(part or 0) for part in parts)
    if hour > 24 or minute > 59 or second > 60:
        return None
    start, end = match.span()
    half, start, end = _half(line, start, end, language)
    if suffix.startswith(("a", "p")):
        half = "am" if suffix.startswith("a") else "pm"
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return Clock(hour, minute, min(second, 59), start, end, line[end:])


def _half(line: str, start: int, end: int, language: str | None) -> tuple[str | None, int, int]:
    """Whether it is am or pm, by a word beside the time, which then belongs to it."""
    behind = line[end : end + _AROUND]
    before = line[max(0, start - _AROUND) : start]
    for word, half in _periods(language):
        stripped = behind.lstrip()
        if stripped.startswith(word) and not stripped[len(word) : len(word) + 1].isalpha():
            return half, start, end + len(behind) - len(stripped) + len(word)
        stripped = before.rstrip()
        if stripped.endswith(word) and (not word[0].isascii() or not stripped[: -len(word)][-1:].isalpha()):
            return half, start - (len(before) - len(stripped)) - len(word), end
    return None, start, end


_ALWAYS = {"am": "am", "pm": "pm", "a.m.": "am", "p.m.": "pm", "a. m.": "am", "p. m.": "pm", "a.m": "am", "p.m": "pm"}
_FURTHER = {"zh": {"早": "am", "晚": "pm", "凌晨": "am"}, "hi": {"पूर्वाह्न": "am", "अपराह्न": "pm"}}
_NAMED = later(r"\b(?:at )?(noon|midnight)\b")


@lru_cache(maxsize=60)
def _periods(language: str | None) -> list[tuple[str, str]]:
    known = dict(_ALWAYS)
    languages = all_words()["languages"]
    for name in [language] if language else ["zh", "zh-hant", "ja", "ko"]:
        known.update(languages[name]["periods"])
        known.update(_FURTHER.get(name, {}))
    return sorted(known.items(), key=lambda pair: -len(pair[0]))
