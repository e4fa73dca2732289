"""When a receiver is worth a try: alone for longer and longer, and tried with one delivery first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perseid.worker.gate import Gate, pause_s


def fail(gate: Gate, times: int, now: float = 0.0) -> None:
    for _ in range(times):
        gate.enter()
        gate.away(now, patience_s=None, jitter=0.0)


def test_a_failure_or_two_change_nothing() -> None:
    gate = Gate()
    fail(gate, 2)
    assert gate.closed_s(0.0) == 0.0


def test_after_three_it_is_left_alone() -> None:
    gate = Gate()
    fail(gate, 3)
    assert gate.closed_s(0.0) == 1.0
    assert gate.closed_s(1.0) == 0.0


def test_for_twice_as_long_each_time() -> None:
    gate = Gate()
    fail(gate, 3)
    for expected in (2.0, 4.0, 8.0):
        fail(gate, 1, 100.0)
        assert gate.closed_s(100.0) == expected


def test_a_receiver_in_doubt_is_tried_with_one() -> None:
    gate = Gate()
    fail(gate, 3)
    gate.enter()
    assert gate.closed_s(50.0) > 0
    gate.well()
    assert gate.closed_s(50.0) == 0.0


def test_a_try_broken_off_opens_it_for_the_next() -> None:
    gate = Gate()
    fail(gate, 3)
    gate.enter()
    gate.leave()
    assert gate.closed_s(50.0) == 0.0


def test_success_forgives_all() -> None:
    gate = Gate()
    fail(gate, 9)
    gate.well()
    assert gate.idle
    fail(gate, 2)
    assert gate.closed_s(0.0) == 0.0


def test_patience_that_is_asked_for_is_given_at_once() -> None:
    gate = Gate()
    gate.enter()
    gate.away(0.0, patience_s=90.0, jitter=0.0)
    assert gate.closed_s(0.0) == 90.0
    gate.away(0.0, patience_s=1e9, jitter=0.0)
    assert gate.closed_s(0.0) == 3_600.0


def test_it_is_told_once_that_a_receiver_is_away() -> None:
    gate = Gate()
    told = [gate.away(0.0, patience_s=None, jitter=0.0) for _ in range(6)]
    assert told == [False, False, True, False, False, False]


@given(st.integers(1, 200), st.floats(0, 1))
def test_pauses_lie_between_a_second_and_an_hour(tries: int, jitter: float) -> None:
    assert 1.0 <= pause_s(tries, jitter) <= 3_600.0
    assert pause_s(tries, 0.0) <= pause_s(tries + 1, 0.0)
