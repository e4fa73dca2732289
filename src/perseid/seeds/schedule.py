"""When a seed runs next.

Cron texts are those of Debian's cron: minute, hour, day of the month, month, weekday; lists, ranges, steps, names, `L`
for the last day and `FRI#2` for the second Friday. Where clocks are put forward, what was due in the hour that is
missing runs right after it; where they are put back, what is due in the hour that comes twice runs the first time only.
Both hold for fixed hours; what runs each hour or more often goes by time that passes.

All instants are µs since the epoch, as the store has them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from perseid.errors import MissingExtra
from perseid.model.seed import Schedule
from perseid.rules.normalise.date import zone_of

_SECOND = 1_000_000
GRACE_US = 60 * _SECOND
"""A time that passed longer ago was missed (`catch_up`); what dispatches looks more often."""
MIN_EVERY_S = 1.0
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class BadSchedule(ValueError):
    """Its text says what is wrong, and what would be right."""


class Turn(NamedTuple):
    """What is to be done about a seed that is due."""

    run: bool
    next_at: int | None


def check_cron(text: str) -> None:
    """Raises BadSchedule saying what is wrong with it, and MissingExtra."""
    _next(text, datetime(2024, 1, 1, tzinfo=UTC))


def next_after(schedule: Schedule, at: int) -> int | None:
    """The first time after `at` that it names by itself; None where it names none."""
    if schedule.every_s is not None:
        return at + _every_us(schedule.every_s)
    if schedule.cron is None:
        return None
    begun = datetime.fromtimestamp(at // _SECOND, UTC).astimezone(zone_of(schedule.timezone))
    found = _next(schedule.cron, begun)
    return None if found is None else int(found.timestamp()) * _SECOND


def first(schedule: Schedule, now: int) -> int | None:
    """When a seed that is added now is due: at once, or at its first own time."""
    repeats = schedule.cron is not None or schedule.every_s is not None
    return now if schedule.at_once or not repeats else next_after(schedule, now)


def turn(schedule: Schedule, due: int, now: int) -> Turn:
    """Whether a seed that was due at `due` begins a run now, and when it is due again.

    Asked when the seed's last run has ended, so that no two runs of a seed overlap: the times that passed during a run
    were missed like those that passed while nobody was there. Of missed times `once` makes one run, `all` one each (the
    next time may be past, too), `skip` none.
    """
    if schedule.catch_up == "all":
        return Turn(run=True, next_at=next_after(schedule, due))
    run = schedule.catch_up == "once" or now - due <= GRACE_US or next_after(schedule, due) is None
    return Turn(run, _after(schedule, due, now))


def today(schedule: Schedule, at: int) -> date:
    """The day at that instant where the schedule is."""
    return datetime.fromtimestamp(at / _SECOND, zone_of(schedule.timezone)).date()


def _after(schedule: Schedule, due: int, now: int) -> int | None:
    """The first own time after now, in step with `due`."""
    if schedule.every_s is None:
        return next_after(schedule, max(due, now))
    every = _every_us(schedule.every_s)
    return due + every * (max(0, now - due) // every + 1)


def _every_us(every_s: float) -> int:
    return int(max(every_s, MIN_EVERY_S) * _SECOND)


def _next(text: str, begun: datetime) -> datetime | None:
    try:
        from cronsim import CronSim, CronSimError  # noqa: PLC0415  an optional extra
    except ImportError as error:
        raise MissingExtra("cron schedules need cronsim: pip install 'perseid[rules]'") from error
    fields = _fields(text)
    try:
        found = next(CronSim(fields, begun))
        while found.astimezone(UTC) <= begun.astimezone(UTC):  # first in the hour that comes twice, which is over
            found = next(CronSim(fields, found + timedelta(minutes=1)))
    except CronSimError as error:
        wrong = str(error).lower().removeprefix("bad ")
        raise BadSchedule(f"the {wrong} of {text!r} is none; {_ALLOWED}") from None
    except StopIteration:
        raise BadSchedule(f"{text!r} never comes: no such day is in any year") from None
    return found


_ALLOWED = (
    "a cron text is minute, hour, day, month, weekday (30 6 * * MON-FRI), or one of "
    + ", ".join(_ALIASES)
    + "; an interval is 90s, 5m, 6h, 7d"
)


def _fields(text: str) -> str:
    text = text.strip()
    if text.startswith("@"):
        known = _ALIASES.get(text.lower())
        if known is None:
            raise BadSchedule(f"{text!r} is no schedule; {_ALLOWED}")
        return known
    if len(text.split()) != 5:
        raise BadSchedule(f"{text!r} has {len(text.split())} fields; {_ALLOWED}")
    return text
