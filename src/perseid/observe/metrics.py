"""Metrics of a server's processes for Prometheus. Needs `prometheus-client`; only a server counts.

Each process writes its numbers into files under one folder, and whoever serves /metrics adds them up.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perseid.model.job import JobKind
from perseid.ports.telemetry import Run, Trouble
from perseid.ports.work import Again, Done, End, Failed, Lease

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

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


def fold(pid: int) -> None:
    """Put the numbers of a process that has ended with those of all that ended before, so that files don't gather.

    Not while somebody adds them up: whoever does both does them in one thread.
    """
    if not wanted():
        return
    from prometheus_client.mmap_dict import MmapedDict  # noqa: PLC0415 - an extra

    for kind in ("counter", "histogram"):
        ended = Path(os.environ[FOLDER_VARIABLE]) / f"{kind}_{pid}.db"
        if not ended.exists():
            continue
        numbers = MmapedDict.read_all_values_from_file(str(ended))  # type: ignore[no-untyped-call]
        together: Any = MmapedDict(str(ended.with_name(f"{kind}_ended.db")))  # type: ignore[no-untyped-call]
        for key, value, at, _position in numbers:
            before, seen_at = together.read_value(key)
            together.write_value(key, before + value, max(at, seen_at))
        together.close()
        ended.unlink()
    (Path(os.environ[FOLDER_VARIABLE]) / f"gauge_livemin_{pid}.db").unlink(missing_ok=True)  # it is nowhere any more


@cache
def _delivery_up() -> Gauge:
    """Made when there is something to tell: most processes have no broker that could be away."""
    from prometheus_client import Gauge  # noqa: PLC0415 - an extra

    what = "0 while a process goes without its broker and asks the store, 1 when it is back."
    return Gauge("perseid_delivery_up", what, multiprocess_mode="livemin")


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
        self._settled = Counter("perseid_sink_items", "Items that a sink's target has taken.", ["sink"])
        self._batch = Histogram("perseid_sink_seconds", "How long a batch took.", ["sink"], buckets=_SECONDS)
        self._trouble = Counter("perseid_trouble", "What an operator should look at.", ["event"])
        self._known: dict[tuple[JobKind, str], tuple[Counter, Histogram]] = {}

    def _of(self, kind: JobKind, outcome: str) -> tuple[Counter, Histogram]:
        found = self._known.get((kind, outcome))
        if found is None:
            name = kind.name.lower()
            found = self._known[kind, outcome] = self._jobs.labels(name, outcome), self._seconds.labels(name)
        return found

    def job_finished(self, run: Run) -> None:
        ended, lasted = self._of(run.finished.lease.kind, outcome(run.finished.end))
        ended.inc()
        lasted.observe(run.seconds)

    def internal_error(self, lease: Lease, error: BaseException) -> None:  # noqa: ARG002 - the log has them
        self._trouble.labels("internal_error").inc()

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:  # noqa: ARG002 - claims are jobs later
        self._steps.observe(seconds)
        self._committed.inc(finished)

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        self._settled.labels(sink).inc(items)
        self._batch.labels(sink).observe(seconds)

    def trouble(self, event: Trouble, message: str) -> None:  # noqa: ARG002 - the log has it
        self._trouble.labels(event).inc()
        if event in {"delivery.away", "delivery.back"}:
            _delivery_up().set(int(event == "delivery.back"))


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
