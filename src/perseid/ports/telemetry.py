"""What the work tells whoever watches: log, metrics, traces. Costs next to nothing when nobody does."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from perseid.ports.work import Finished, Lease

Trouble = Literal[
    "store.failed",
    "store.retry",
    "worker.dead",
    "worker.reaped",
    "audit.finding",
    "alarm.raised",
    "alarm.cleared",
    "webhook.unreachable",
    "webhook.given_up",
    "webhook.failed",
    "delivery.away",
    "delivery.back",
    "seed.put_off",
    "sink.failed",
    "sink.unfit",
]


class Run(NamedTuple):
    """One run of a job: what it brought home, for whom, how long it took."""

    finished: Finished
    crawl: str
    """Public id; empty where the crawl is not known any more."""
    shown: bool
    """False under zero retention: no URL and no text of the page may be written down."""
    seconds: float


class Telemetry(Protocol):
    def job_finished(self, run: Run) -> None: ...

    def internal_error(self, lease: Lease, error: BaseException) -> None: ...

    def step(self, *, finished: int, claimed: int, seconds: float) -> None: ...

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        """A target has taken a batch durably, and its line is shorter by that."""
        ...

    def trouble(self, event: Trouble, message: str) -> None:
        """Something an operator should know: the store is away, a worker was declared dead, an audit finding."""
        ...
