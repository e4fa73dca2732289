"""The telemetry port on log events: one line per task outcome, none when nobody listens at that level."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.job import JobKind
from perseid.observe import log
from perseid.ports.telemetry import Run, Telemetry, Trouble
from perseid.ports.work import Again, Done, Failed, Lease, Refused


class LogTelemetry:
    """`Telemetry` over `perseid.observe.log`."""

    def job_finished(self, run: Run) -> None:
        kind = run.finished.lease.kind
        match end := run.finished.end:
            case Done() | Again(code="") if kind is JobKind.EXPAND:
                log.event("seed.expanded", **_job(run), tasks=len(run.finished.urls), last=isinstance(end, Done))
            case Done():
                # Tasks of seeds tell of themselves, with what was found.
                if kind is not JobKind.TASK and log.enabled("fetch.ok"):
                    document = end.document
                    log.event(
                        "fetch.ok",
                        **_job(run),
                        status=document.status if document else None,
                        bytes=len(document.body) if document else 0,
                        links=len(run.finished.urls),
                        seconds=round(run.seconds, 4),
                    )
            case Failed():
                log.event("task.failed", **_job(run), code=end.code, **_text(run, message=end.message))
            case Refused():
                log.event(
                    "task.denied", **_job(run), reason=end.denial.reason.value, **_text(run, rule=end.denial.rule)
                )
            case Again():
                log.event("task.retry", **_job(run), code=end.code, to=end.host, **_text(run, message=end.message))

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        log.event("extract.failed", job=lease.job, code="internal_error", error=repr(error))

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        log.event("store.commit", finished=finished, claimed=claimed, seconds=round(seconds, 4))

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        log.event("sink.acked", sink=sink, items=items, seconds=round(seconds, 4))

    def trouble(self, event: Trouble, message: str) -> None:
        log.event(event, message=message)


def _job(run: Run) -> dict[str, object]:
    lease = run.finished.lease
    named: dict[str, object] = {"crawl": run.crawl, "job": lease.job, "attempt": lease.attempts + 1}
    return {**named, "host": lease.host, "url": lease.url} if run.shown else named


def _text(run: Run, **fields: str) -> dict[str, str]:
    """What may quote a page or its URL."""
    return fields if run.shown else {}


class SeveralTelemetries:
    """Tells each of them."""

    def __init__(self, listeners: Sequence[Telemetry]) -> None:
        self._listeners = listeners

    def job_finished(self, run: Run) -> None:
        for listener in self._listeners:
            listener.job_finished(run)

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        for listener in self._listeners:
            listener.internal_error(lease, error)

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        for listener in self._listeners:
            listener.step(finished=finished, claimed=claimed, seconds=seconds)

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        for listener in self._listeners:
            listener.sink_acked(sink=sink, items=items, seconds=seconds)

    def trouble(self, event: Trouble, message: str) -> None:
        for listener in self._listeners:
            listener.trouble(event, message)
