"""What the work tells whoever watches: log, metrics, traces. Costs next to nothing when nobody does."""

from __future__ import annotations

from typing import Literal, Protocol

from perseid.ports.store import Finished, Lease

Trouble = Literal["store.failed", "store.retry", "worker.dead", "worker.reaped", "audit.finding"]


class Telemetry(Protocol):
    def job_finished(self, finished: Finished, *, seconds: float) -> None: ...

    def internal_error(self, lease: Lease, error: BaseException) -> None: ...

    def step(self, *, finished: int, claimed: int, seconds: float) -> None: ...

    def trouble(self, event: Trouble, message: str) -> None:
        """Something an operator should know: the store is away, a worker was declared dead, an audit finding."""
        ...
