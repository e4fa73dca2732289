"""Templates of addresses: `https://shop.example/{category}?page={page:1..20}` and what it stands for.

| placeholder | stands for |
|---|---|
| `{name}` | each of the values of that name, percent-encoded as UTF-8 |
| `{name:raw}`, `{name:gbk}` | the same as it is, or percent-encoded in that encoding |
| `{page:1..20}`, `{page:0..100..10}`, `{page:001..200}`, `{page:9..1}` | numbers, in steps, with zeros, downwards |
| `{date:%Y-%m-%d}` | days from `since` to `until` (strftime) |
| `{{`, `}}` | braces |

Placeholders of one name change together: `/{date:%Y}/{date:%m}/{date:%d}` is one day at a time.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, overload
from urllib.parse import quote

from perseid.pattern import later

MAX_ADDRESSES = 100_000_000
"""Of one template."""
MAX_DAYS = 100_000

_PARTS = later(r"\{\{|\}\}|\{([^{}:]+)(?::([^{}]*))?\}|[{}]")
_RANGE = later(r"(-?[0-9]{1,12})\.\.(-?[0-9]{1,12})(?:\.\.([0-9]{1,12}))?\Z")
_DAY = later(r"(?:today(?:\s*-\s*([0-9]{1,5}))?|([0-9]{4}-[0-9]{2}-[0-9]{2}))\Z")
_DIRECTIVE = re.compile(r"%[-_0^#]?([A-Za-z%])")
_OF_ONE_DAY = frozenset("dejDFxcauwA")


class BadTemplate(ValueError):
    """Its text says what is wrong, and what would be right."""


class Hole(NamedTuple):
    """A placeholder; `form` is what stands behind its colon."""

    name: str
    form: str = ""


@lru_cache(maxsize=500)
def parsed(text: str) -> tuple[str | Hole, ...]:
    """What is written and the placeholders between. Raises BadTemplate."""
    found: list[str | Hole] = []
    at = 0
    for match in _PARTS.finditer(text):
        found.append(text[at : match.start()])
        at = match.end()
        if match[1] is not None:
            found.append(Hole(match[1].strip(), (match[2] or "").strip()))
        elif len(match[0]) == 2:
            found.append(match[0][0])
        else:
            raise BadTemplate(f"the brace at position {match.start()} has no partner; write {{{{ or }}}} for a brace")
    found.append(text[at:])
    return tuple(part for part in found if part)


def holes(text: str) -> list[Hole]:
    """The placeholders in order. Raises BadTemplate."""
    return [part for part in parsed(text) if isinstance(part, Hole)]


def written(form: str) -> Callable[[str], str]:
    """How a value is written into an address. Raises BadTemplate where no encoding has that name."""
    if form == "raw":
        return str
    encoding = form or "utf-8"
    try:
        codecs.lookup(encoding)
        "".encode(encoding)
    except LookupError:
        raise BadTemplate(
            f"{form!r} is neither `raw`, nor an encoding (gbk), a range (1..20) or a date (%Y-%m-%d)"
        ) from None
    return lambda value: quote(value, safe="", encoding=encoding, errors="replace")


def filled(text: str, values: Mapping[str, Any]) -> str | None:
    """A template filled from one row or object; None where it has no value for a placeholder."""
    out = []
    for part in parsed(text):
        if isinstance(part, Hole):
            value = values.get(part.name)
            if value is None or isinstance(value, dict | list):
                return None
            out.append(_written(part.form)(str(value)))
        else:
            out.append(part)
    return "".join(out)


_written = lru_cache(maxsize=100)(written)


def day_of(text: str, today: date) -> date:
    """`2025-03-01`, `today` or `today-7`. Raises BadTemplate."""
    found = _DAY.match(text.strip().lower())
    try:
        if found is not None:
            return date.fromisoformat(found[2]) if found[2] else today - timedelta(int(found[1] or 0))
    except (ValueError, OverflowError):
        pass
    raise BadTemplate(f"a day is wanted here (2025-03-01, today, today-7), not {text!r}")


class Addresses(Sequence[str]):
    """All addresses of a template, made when they are asked for: any position at once, nothing kept."""

    def __init__(self, parts: Sequence[str | Hole], rows: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
        """`rows` holds for each name what its placeholders are at each of its values, in their order."""
        self._parts = tuple(parts)
        self._rows = list(rows.values())
        names = list(rows)
        begun = dict.fromkeys(names, 0)
        self._holes: list[tuple[int, int, int]] = []
        for at, part in enumerate(parts):
            if isinstance(part, Hole):
                self._holes.append((at, names.index(part.name), begun[part.name]))
                begun[part.name] += 1
        self._len = prod(len(row) for row in self._rows)

    def __len__(self) -> int:
        return self._len

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(self._len))]
        if not -self._len <= at < self._len:
            raise IndexError(at)
        rest = at % self._len
        chosen: list[tuple[str, ...]] = [()] * len(self._rows)
        for axis in range(len(self._rows) - 1, -1, -1):
            row = self._rows[axis]
            rest, own = divmod(rest, len(row))
            chosen[axis] = row[own]
        out: list[Any] = list(self._parts)
        for place, axis, number in self._holes:
            out[place] = chosen[axis][number]
        return "".join(out)


class _Numbers(Sequence[tuple[str, ...]]):
    """Numbers as texts, each `copies` times: a placeholder may stand at several places."""

    def __init__(self, numbers: range, width: int, copies: int) -> None:
        self._numbers = numbers
        self._width = width
        self._copies = copies

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return (f"{self._numbers[at]:0{self._width}d}",) * self._copies


class _Days(Sequence[tuple[str, ...]]):
    def __init__(self, first: date, days: Sequence[int], forms: Sequence[str]) -> None:
        self._first = first
        self._days = days
        self._forms = tuple(forms)

    def __len__(self) -> int:
        return len(self._days)

    def __getitem__(self, at: Any) -> Any:
        return _shown(self._first + timedelta(self._days[at]), self._forms)


def _shown(day: date, forms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(quote(day.strftime(form), safe="/:,") for form in forms)


@lru_cache(maxsize=16)
def addresses(
    url: str,
    values: tuple[tuple[str, tuple[str, ...]], ...],
    since: str | None,
    until: str | None,
    today: date,
) -> Addresses:
    """What a template stands for. Raises BadTemplate saying what is wrong with it."""
    parts = parsed(url)
    given = dict(values)
    forms: dict[str, list[str]] = {}
    for hole in holes(url):
        forms.setdefault(hole.name, []).append(hole.form)
    rows = {name: _row(name, own, given, (since, until, today)) for name, own in forms.items()}
    for name in given:
        if name not in rows:
            raise BadTemplate(f"there are values for {name!r}, but no placeholder {{{name}}} in the address")
    if (since or until) and not any("%" in form for own in forms.values() for form in own):
        raise BadTemplate("there are days, but no placeholder such as {date:%Y-%m-%d} in the address")
    if prod(len(row) for row in rows.values()) > MAX_ADDRESSES:
        raise BadTemplate(f"the template stands for more than {MAX_ADDRESSES:,} addresses")
    return Addresses(parts, rows)


def _row(
    name: str,
    forms: list[str],
    given: Mapping[str, tuple[str, ...]],
    days: tuple[str | None, str | None, date],
) -> Sequence[tuple[str, ...]]:
    dated = ["%" in form for form in forms]
    if any(dated):
        if not all(dated):
            raise BadTemplate(f"{{{name}}} is a date at one place and none at another; give them two names")
        return _days(name, forms, *days)
    ranges = [_RANGE.match(form) for form in forms]
    if ranges[0] is not None:
        if len(set(forms)) > 1:
            raise BadTemplate(f"{{{name}}} counts in two ways; give them two names")
        return _numbers(name, ranges[0], len(forms))
    if name not in given:
        raise BadTemplate(f"there are no values for {{{name}}}; name them under `values`, or count: {{{name}:1..20}}")
    if not given[name]:
        raise BadTemplate(f"the list of values for {name!r} is empty")
    write = [written(form) for form in forms]
    return [tuple(each(value) for each in write) for value in given[name]]


def _numbers(name: str, found: re.Match[str], copies: int) -> _Numbers:
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if step == 0:
        raise BadTemplate(f"{{{name}}} counts in steps of 0; leave the step away for 1")
    padded = any(len(text.lstrip("-")) > 1 and text.lstrip("-").startswith("0") for text in (found[1], found[2]))
    width = max(len(found[1]), len(found[2])) if padded else 0
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return _Numbers(numbers, width, copies)


def _days(name: str, forms: list[str], since: str | None, until: str | None, today: date) -> _Days:
    if since is None:
        raise BadTemplate(f"{{{name}}} needs a first day: `since`")
    first, last = day_of(since, today), day_of(until or "today", today)
    if last < first:
        raise BadTemplate(f"the last day ({last}) is before the first ({first})")
    count = (last - first).days + 1
    if count > MAX_DAYS:
        raise BadTemplate(f"there are {count:,} days between {first} and {last}; at most {MAX_DAYS:,} are allowed")
    kinds = {kind for form in forms for kind in _DIRECTIVE.findall(form)}
    days: Sequence[int] = range(count)
    if not kinds & _OF_ONE_DAY:  # months or years: each once
        days = list(_distinct(first, count, tuple(forms)))
    return _Days(first, days, forms)


def _distinct(first: date, count: int, forms: tuple[str, ...]) -> Iterator[int]:
    last: tuple[str, ...] = ()
    for number in range(count):
        shown = _shown(first + timedelta(number), forms)
        if shown != last:
            yield number
            last = shown
