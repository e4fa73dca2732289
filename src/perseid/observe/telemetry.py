"""The telemetry port on log events: one line per task outcome, none when nobody listens at that level."""

from __future__ import annotations

from perseid.observe import log
from perseid.ports.store import Again, Done, Failed, Finished, Lease, Refused
from perseid.ports.telemetry import Trouble


class LogTelemetry:
    """`Telemetry` over `perseid.observe.log`."""

    def job_finished(self, finished: Finished, *, seconds: float) -> None:
        lease, end = finished.lease, finished.end
        match end:
            case Done():
                if log.enabled("fetch.ok"):
                    document = end.document
                    log.event(
                        "fetch.ok",
                        url=lease.url,
                        status=document.status if document else None,
                        bytes=len(document.body) if document else 0,
                        links=len(finished.urls),
                        seconds=round(seconds, 4),
                    )
            case Failed():
                log.event("task.failed", url=lease.url, code=end.code, message=end.message)
            case Refused():
                log.event("task.denied", url=lease.url, reason=end.denial.reason.value, rule=end.denial.rule)
            case Again():
                log.event("task.retry", url=lease.url, code=end.code, message=end.message, host=end.host)

    def internal_error(self, lease: Lease, error: BaseException) -> None:
        log.event("extract.failed", url=lease.url, code="internal_error", error=repr(error))

    def step(self, *, finished: int, claimed: int, seconds: float) -> None:
        log.event("store.commit", finished=finished, claimed=claimed, seconds=round(seconds, 4))

    def trouble(self, event: Trouble, message: str) -> None:
        log.event(event, message=message)
