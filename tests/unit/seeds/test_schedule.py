"""When seeds run: cron in time zones whose clocks change, intervals, and times that were missed."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.model.seed import Schedule
from perseid.seeds.schedule import BadSchedule, Turn, check_cron, first, next_after, today, turn

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = 60_000_000
HOUR = 60 * MINUTE


def us(*when: int, zone: ZoneInfo | None = None, fold: int = 0) -> int:
    return int(datetime(*when, tzinfo=zone or UTC, fold=fold).timestamp()) * 1_000_000  # type: ignore[arg-type]


def times(cron: str, begun: int, n: int, zone: str = "Europe/Berlin") -> list[str]:
    """The next n, as clocks there show them, with their distance from UTC."""
    out = []
    for _ in range(n):
        at = next_after(Schedule(cron=cron, timezone=zone), begun)
        assert at is not None
        assert at > begun
        begun = at
        out.append(datetime.fromtimestamp(begun / 1_000_000, ZoneInfo(zone)).strftime("%d %H:%M %z"))
    return out


def test_cron_goes_by_the_clocks_of_its_zone() -> None:
    assert times("30 6 * * *", us(2025, 3, 28), 2) == ["28 06:30 +0100", "29 06:30 +0100"]
    assert times("30 6 * * *", us(2025, 3, 28), 2, zone="Asia/Shanghai") == ["29 06:30 +0800", "30 06:30 +0800"]


def test_what_falls_into_the_missing_hour_runs_right_after_it() -> None:
    # 30 March 2025: 02:00 becomes 03:00.
    assert times("30 2 * * *", us(2025, 3, 29, 12), 2) == ["30 03:00 +0200", "31 02:30 +0200"]
    assert times("*/30 * * * *", us(2025, 3, 30, 0, 15), 3) == ["30 01:30 +0100", "30 03:00 +0200", "30 03:30 +0200"]


def test_what_falls_into_the_doubled_hour_runs_once_at_its_first() -> None:
    # 26 October 2025: 03:00 becomes 02:00.
    assert times("30 2 * * *", us(2025, 10, 25, 12), 2) == ["26 02:30 +0200", "27 02:30 +0100"]
    between = us(2025, 10, 26, 2, 10, zone=BERLIN, fold=1)
    assert times("30 2 * * *", between, 1) == ["27 02:30 +0100"]
    assert times("*/30 * * * *", us(2025, 10, 26, 2, 15, zone=BERLIN), 4) == [
        "26 02:30 +0200", "26 02:00 +0100", "26 02:30 +0100", "26 03:00 +0100",
    ]  # fmt: skip


@given(
    st.sampled_from(
        ["* * * * *", "*/7 * * * *", "0 */2 * * *", "30 2 * * *", "0 0 1 * *", "15 1,2,3 * * SUN", "0 3 L * *"]
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.integers(us(2024, 1, 1), us(2026, 12, 1)),
)
def test_the_next_time_is_later_and_on_the_minute(cron: str, zone: str, at: int) -> None:
    found = next_after(Schedule(cron=cron, timezone=zone), at)
    assert found is not None
    assert found > at
    assert found % MINUTE == 0


def test_aliases_and_what_debian_knows_besides() -> None:
    assert times("@daily", us(2025, 3, 1), 1, "UTC") == ["02 00:00 +0000"]
    assert times("@HOURLY", us(2025, 3, 1), 1, "UTC") == ["01 01:00 +0000"]
    assert times("0 12 L FEB *", us(2024, 2, 1), 1, "UTC") == ["29 12:00 +0000"]
    assert times("0 12 * * FRI#2", us(2025, 3, 1), 1, "UTC") == ["14 12:00 +0000"]


@pytest.mark.parametrize("text", ["", "* * * *", "0 * * * * *", "61 * * * *", "* * * * MOO", "@reboot", "0 0 31 2 *"])
def test_a_bad_cron_text_is_refused(text: str) -> None:
    with pytest.raises(BadSchedule):
        check_cron(text)


def test_a_seed_runs_at_once_or_at_its_first_time() -> None:
    now = us(2025, 3, 1, 12, 30)
    assert first(Schedule(), now) == now
    assert first(Schedule(at_once=False), now) == now
    assert first(Schedule(cron="@hourly"), now) == now
    assert first(Schedule(cron="@hourly", at_once=False), now) == us(2025, 3, 1, 13)
    assert first(Schedule(every_s=600, at_once=False), now) == now + 10 * MINUTE


def test_a_seed_without_schedule_runs_once_however_late() -> None:
    due = us(2025, 3, 1)
    for catch_up in ("once", "all", "skip"):
        assert turn(Schedule(catch_up=catch_up), due, due + 50 * HOUR) == Turn(True, None)


CRON = Schedule(cron="@hourly")
EVERY = Schedule(every_s=3600)


@pytest.mark.parametrize("schedule", [CRON, EVERY], ids=["cron", "every"])
@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [("once", Turn(True, 5 * HOUR)), ("all", Turn(True, 2 * HOUR)), ("skip", Turn(False, 5 * HOUR))],
)
def test_missed_times_are_made_up_for_as_wanted(schedule: Schedule, catch_up: str, expected: Turn) -> None:
    begun = us(2025, 3, 1)
    policy = Schedule(cron=schedule.cron, every_s=schedule.every_s, catch_up=catch_up)  # type: ignore[arg-type]
    found = turn(policy, begun + HOUR, begun + 4 * HOUR + 20 * MINUTE)
    assert found == Turn(expected.run, begun + (expected.next_at or 0))


@pytest.mark.parametrize("catch_up", ["once", "all", "skip"])
def test_a_time_that_is_just_over_is_not_missed(catch_up: str) -> None:
    begun = us(2025, 3, 1)
    policy = Schedule(cron="@hourly", catch_up=catch_up)  # type: ignore[arg-type]
    assert turn(policy, begun + HOUR, begun + HOUR + 2_000_000) == Turn(True, begun + 2 * HOUR)


def test_all_missed_times_have_a_run_each_and_then_it_is_now() -> None:
    begun = us(2025, 3, 1)
    policy = Schedule(cron="@hourly", catch_up="all")
    due, now, runs = begun + HOUR, begun + 4 * HOUR + 20 * MINUTE, 0
    while due <= now:
        found = turn(policy, due, now)
        runs += found.run
        assert found.next_at is not None
        due = found.next_at
    assert (runs, due) == (4, begun + 5 * HOUR)


def test_an_interval_keeps_step_with_when_it_was_due() -> None:
    due = us(2025, 3, 1)
    assert turn(Schedule(every_s=600), due, due + 25 * MINUTE).next_at == due + 30 * MINUTE
    assert turn(Schedule(every_s=600), due, due + 30 * MINUTE).next_at == due + 40 * MINUTE


def test_the_day_is_that_of_the_zone() -> None:
    at = us(2025, 3, 1, 23, 30)
    assert today(Schedule(), at) == date(2025, 3, 1)
    assert today(Schedule(timezone="Asia/Shanghai"), at) == date(2025, 3, 2)
