"""Show life every few seconds, and learn which crawls ended, whether we are to go, and whether somebody declared us
dead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from perseid.errors import StoreError
from perseid.model.ids import CrawlId, WorkerId
from perseid.ports.store import Drain, Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop


class Beating(Protocol):
    """Who holds leases under a worker's row."""

    worker: WorkerId

    def drop(self, crawls: set[CrawlId]) -> None:
        """These crawls have ended."""
        ...

    async def start_over(self) -> None:
        """The row is gone, and all leases with it."""
        ...


async def run(
    store: Store,
    loop: Beating,
    telemetry: Telemetry,
    stop: Stop,
    *,
    every_s: float,
    on_drain: Callable[[Drain], None] | None = None,
) -> None:
    """`on_drain` is called, with each beat anew, while the operator wants this worker to go."""
    while not await stop.sleep(every_s):
        try:
            beat = await store.beat(loop.worker)
            if beat is None:
                telemetry.trouble("worker.dead", "this worker's beat was missed; its leases are lost to it")
                await loop.start_over()
                continue
            if beat.ended:
                loop.drop(beat.ended)
            if beat.drain is not Drain.NO and on_drain is not None:
                on_drain(beat.drain)
        except StoreError as error:
            # The next beat tries again: until then the store has no row of ours, and hands us nothing.
            telemetry.trouble("store.retry", str(error))
