"""Metrics of a server's processes for Prometheus. Needs `prometheus-client`; only a server counts.

Each process writes its numbers into files under one folder, and whoever serves /metrics adds them up.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perseid.ports.store import Again, Done, End, Failed, Lease
from perseid.ports.telemetry import Run, Trouble

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus-client reads it when it is imported: set it before."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)


def use_folder(folder: Path) -> None:
    """Count into `folder` from now on, beginning at nothing; before anything imports prometheus-client."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("*.db"):
        left.unlink(missing_ok=True)
    os.environ[FOLDER_VARIABLE] = str(folder)


def wanted() -> bool:
    """Whether this process, or the one that started it, was told to count."""
    return FOLDER_VARIABLE in os.environ


def registry() -> CollectorRegistry:
    """The numbers of all processes, added up; of this one alone where no folder was set."""
    from prometheus_client import REGISTRY, CollectorRegistry, multiprocess  # noqa: PLC0415 - an extra

    if not wanted():
        return REGISTRY
    found = CollectorRegistry()
    multiprocess.MultiProcessCollector(found)  # type: ignore[no-untyped-call]
    return found


@cache
def metrics() -> MetricsTelemetry:
    """This process's numbers: one set, however many engines it has."""
    return MetricsTelemetry()


class MetricsTelemetry:
    """`Telemetry` as counters and histograms."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram  # noqa: PLC0415 - an extra

        self._jobs = Counter("perseid_jobs", "Runs of jobs by kind and outcome.", ["kind", "outcome"])
        self._seconds = Histogram("perseid_job_seconds", "How long a job ran.", ["kind"], buckets=_SECONDS)
        self._steps = Histogram("perseid_step_seconds", "How long a transaction with the store took.", buckets=_SECONDS)
        self._committed = Counter("perseid_step_jobs", "Jobs written by these transactions.")
        self._trouble = Counter("perseid_trouble", "What an operator should look at.", ["event"])

    def job_finished(self, run: Run) -> None:
        kind = run.finished.lease.kind.name.lower()
        self._jobs.labels(kind, outcome(run.finished.end)).inc()
        self._seconds.labels(kind).observe(run.seconds)

    def internal_error(self, lease: Lease, error: BaseException) -> None:  # noqa: ARG002 - the log has them
        self._trouble.labels("internal_error").inc()

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:  # noqa: ARG002 - claims are jobs later
        self._steps.observe(seconds)
        self._committed.inc(finished)

    def trouble(self, event: Trouble, message: str) -> None:  # noqa: ARG002 - the log has it
        self._trouble.labels(event).inc()


def outcome(end: End) -> str:
    """`done`, `denied`, `again`, or the code of a failure."""
    match end:
        case Done():
            return "done"
        case Failed():
            return end.code
        case Again():
            return "again"
        case _:
            return "denied"
