"""Whether short work may be done in the event loop's own thread."""

from __future__ import annotations

import time

import pytest

from perseid.inplace import InPlace


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_what_works_is_welcome() -> None:
    here = InPlace(held_up_s=10)
    here.do(lambda: busy(0.01))
    assert here.may


def test_what_waits_is_sent_away_and_tried_again_later() -> None:
    here = InPlace(held_up_s=0.01)
    assert here.do(lambda: time.sleep(0.02) or 7) == 7
    sent_away = 0
    while not here.may:
        sent_away += 1
    assert 10 < sent_away < 1_000
    assert here.may


def test_an_error_is_passed_on_and_its_wait_counts() -> None:
    here = InPlace(held_up_s=0.01)

    def fail() -> None:
        time.sleep(0.02)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        here.do(fail)
    assert not here.may
