"""The job state machine: one table from which stores, docs and tests derive.

The store keeps no status column; these are the names people see for what its rows say together.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class JobKind(IntEnum):
    """What a worker does with a claimed job; a worker claims only kinds it knows."""

    KICKOFF = 0
    SITEMAP = 1
    PAGE = 2
    EXPAND = 3
    """Makes a seed's tasks, some hundred at a time: between those steps it waits like any other job."""
    TASK = 4
    """One page of a site that is read by the site's rule."""


CLASS_WEIGHT = {JobKind.KICKOFF: 8, JobKind.SITEMAP: 4, JobKind.PAGE: 1, JobKind.EXPAND: 4, JobKind.TASK: 1}
"""Share of claims each class gets while all have work: weighted, never strict."""


class JobState(StrEnum):
    """Names follow NuQ and Oban: backlog waits at a full limit, queued could be claimed now."""

    BACKLOG = "backlog"
    QUEUED = "queued"
    ACTIVE = "active"
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    DUPLICATE = "duplicate"
    DENIED = "denied"
    CANCELLED = "cancelled"


TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.BACKLOG: frozenset({JobState.QUEUED, JobState.CANCELLED, JobState.FAILED}),
    JobState.QUEUED: frozenset({JobState.BACKLOG, JobState.ACTIVE, JobState.CANCELLED, JobState.FAILED}),
    JobState.ACTIVE: frozenset(
        {
            JobState.QUEUED,  # reaped, or moved to another host's lane
            JobState.RETRYING,
            JobState.COMPLETED,
            JobState.FAILED,
            JobState.DUPLICATE,
            JobState.DENIED,
            JobState.CANCELLED,
        }
    ),
    JobState.RETRYING: frozenset({JobState.QUEUED, JobState.CANCELLED, JobState.FAILED}),
    JobState.COMPLETED: frozenset(),
    JobState.FAILED: frozenset({JobState.QUEUED}),  # retried by hand
    JobState.DUPLICATE: frozenset(),
    JobState.DENIED: frozenset(),
    JobState.CANCELLED: frozenset({JobState.QUEUED}),  # retried by hand, where it alone was cancelled
}


class EndState(IntEnum):
    """How a job ended, as the store writes it; exactly once per job."""

    DONE = 0
    FAILED = 1
    DUPLICATE = 2
    DENIED = 3
    CANCELLED = 4
    """By itself; jobs of a crawl that was cancelled as a whole have no end of their own."""


END_STATES: dict[EndState, JobState] = {
    EndState.DONE: JobState.COMPLETED,
    EndState.FAILED: JobState.FAILED,
    EndState.DUPLICATE: JobState.DUPLICATE,
    EndState.DENIED: JobState.DENIED,
    EndState.CANCELLED: JobState.CANCELLED,
}

TERMINAL = frozenset(END_STATES.values())
"""Nothing leaves these by itself."""

RETRIABLE = frozenset(end for end, state in END_STATES.items() if JobState.QUEUED in TRANSITIONS[state])
"""Ends that somebody may take back."""
