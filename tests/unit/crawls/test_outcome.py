"""What follows from answers that are no pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.crawls.outcome import Patience, of_failure, of_status, retry_delay_us
from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, Response
from perseid.ports.work import Again, Failed, Lease


def _lease(attempts: int = 0) -> Lease:
    return Lease(
        job=JobId(1), crawl=CrawlId(1), lock=LockToken(1), kind=JobKind.PAGE, url="http://e.test/", key=1, depth=0,
        host="e.test", gap_us=0, attempts=attempts, stalls=0, counted=True, payload="", hops=b"", expires_at=0,
    )  # fmt: skip


def _status(status: int, *, attempts: int = 0, retry_after_s: float | None = None, refused: int = 0) -> Any:
    response = Response(url="http://e.test/", status=status, headers=(), body=b"", retry_after_s=retry_after_s)
    return of_status(_lease(attempts), response, host="e.test", patience=Patience(3, 5), refused=refused, jitter=0.0)


def _failure(code: FailureCode, *, attempts: int = 0, retryable: bool = True) -> Any:
    failure = FetchFailure(url="http://e.test/", code=code, message="m", retryable=retryable)
    return of_failure(_lease(attempts), failure, host="e.test", max_attempts=3, jitter=0.0)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("attempts", [0, 2, 9])
def test_throttling_backs_the_host_off_and_is_no_attempt(status: int, attempts: int) -> None:
    outcome = _status(status, attempts=attempts, retry_after_s=2.5)
    assert isinstance(outcome.end, Again)
    assert not outcome.end.attempted
    assert (outcome.note.throttled, outcome.note.retry_after_us) == (True, 2_500_000)


@pytest.mark.parametrize(("status", "retry_after_s"), [(429, None), (429, 2.0), (503, 2.0)])
def test_a_page_that_is_always_refused_is_taken_as_it_is(status: int, retry_after_s: float | None) -> None:
    assert _status(status, retry_after_s=retry_after_s, refused=3) is not None
    assert _status(status, retry_after_s=retry_after_s, refused=4) is None


def test_a_503_that_names_no_time_spares_the_host_and_is_an_attempt() -> None:
    outcomes = [_status(503, attempts=n, refused=n) for n in (0, 1)]
    assert [(each.end.attempted, each.end.delay_us, each.note.throttled) for each in outcomes] == [(True, 0, True)] * 2
    assert _status(503, attempts=2) is None


@pytest.mark.parametrize("status", [403, 500, 502, 504, 599])
def test_passing_errors_are_tried_up_to_the_attempts(status: int) -> None:
    assert [_status(status, attempts=n).end.attempted for n in (0, 1)] == [True, True]
    assert _status(status, attempts=2) is None


@pytest.mark.parametrize("status", [400, 401, 404, 405, 410, 451])
def test_final_answers_end_at_once(status: int) -> None:
    assert _status(status) is None


@pytest.mark.parametrize("code", [FailureCode.CONNECTION, FailureCode.DNS])
def test_a_host_that_cannot_be_reached_is_noted_as_down(code: FailureCode) -> None:
    assert _failure(code).note.down
    assert _failure(code, attempts=2).note.down


@pytest.mark.parametrize("code", [FailureCode.TIMEOUT, FailureCode.TRUNCATED, FailureCode.TLS])
def test_other_failures_say_nothing_about_the_host(code: FailureCode) -> None:
    assert _failure(code).note is None


def test_a_failure_that_a_retry_cannot_help_ends_at_once() -> None:
    end = _failure(FailureCode.BLOCKED_ADDRESS, retryable=False).end
    assert isinstance(end, Failed)
    assert end.code == "blocked_address"


def test_the_last_attempt_ends_the_page() -> None:
    assert isinstance(_failure(FailureCode.TIMEOUT, attempts=1).end, Again)
    assert isinstance(_failure(FailureCode.TIMEOUT, attempts=2).end, Failed)


@given(attempts=st.integers(0, 10_000), jitter=st.floats(0, 1))
def test_pauses_grow_and_stay_within_ninety_seconds(attempts: int, jitter: float) -> None:
    pause = retry_delay_us(attempts, jitter)
    assert 1_000_000 <= pause <= 90_000_000
    assert pause <= retry_delay_us(attempts + 1, jitter)
