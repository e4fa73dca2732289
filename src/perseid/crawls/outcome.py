"""What follows from an answer that is no page: try again, back the host off, or fail. Pure arithmetic."""

from __future__ import annotations

from typing import NamedTuple

from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, Response
from perseid.ports.work import Again, Failed, HostNote, Lease

_THROTTLING = frozenset({429, 503})
_DOWN = frozenset({FailureCode.CONNECTION, FailureCode.DNS})
_MAX_RETRY_S = 60.0


class Outcome(NamedTuple):
    end: Again | Failed
    note: HostNote | None = None


def throttling(response: Response, host: str) -> HostNote | None:
    """The host's word about its load, where that is what the answer is."""
    if response.status not in _THROTTLING:
        return None
    asked = response.retry_after_s
    return HostNote(host=host, throttled=True, retry_after_us=None if asked is None else int(asked * 1_000_000))


def retry_delay_us(attempts: int, jitter: float) -> int:
    """Pause before attempt number `attempts` + 2: 1, 2, 4 … s, at most 60 s, plus up to half of it."""
    return int(min(2.0 ** min(attempts, 10), _MAX_RETRY_S) * (1 + jitter / 2) * 1_000_000)


class Patience(NamedTuple):
    """How often a page is asked for."""

    attempts: int
    refusals: int
    """Of the host, for its load."""


def of_status(
    lease: Lease, response: Response, *, host: str, patience: Patience, refused: int, jitter: float
) -> Outcome | None:
    """For answers of 400 and above; None where the answer is final and its body is to be kept.

    429, and 503 with a time to come back, are the host's word about its load and no attempt of the page, which was
    `refused` so often before: a page that is refused as often as makes hosts be given up is taken as it is. A 503
    that names no time spares the host as well, but may be all that this page ever says: like 403 and other 5xx it is
    tried again up to the attempts.
    """
    status, max_attempts = response.status, patience.attempts
    note = throttling(response, host)
    if note is not None and (status != 503 or note.retry_after_us is not None):
        if refused + 1 >= patience.refusals:
            return None
        return Outcome(Again(code=f"http_{status}", message=f"{host} asked for patience ({status})"), note)
    if note is not None and lease.attempts + 1 < max_attempts:
        # When it may be asked again is the host's business.
        return Outcome(Again(attempted=True, code=f"http_{status}", message=f"answered {status}"), note)
    if note is None and (status == 403 or status >= 500) and lease.attempts + 1 < max_attempts:
        return Outcome(
            Again(
                delay_us=retry_delay_us(lease.attempts, jitter),
                attempted=True,
                code=f"http_{status}",
                message=f"answered {status}",
            )
        )
    return None


def of_failure(lease: Lease, failure: FetchFailure, *, host: str, max_attempts: int, jitter: float) -> Outcome:
    """For exchanges that brought no answer."""
    note = HostNote(host=host, down=True) if failure.code in _DOWN else None
    if failure.retryable and lease.attempts + 1 < max_attempts:
        again = Again(
            delay_us=retry_delay_us(lease.attempts, jitter),
            attempted=True,
            code=failure.code.value,
            message=failure.message,
        )
        return Outcome(again, note)
    return Outcome(Failed(code=failure.code.value, message=failure.message, status=failure.status), note)
