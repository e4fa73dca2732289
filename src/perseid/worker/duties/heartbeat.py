"""Show life every few seconds, and learn which crawls ended and whether somebody declared us dead."""

from __future__ import annotations

from typing import Protocol

from perseid.errors import StoreError
from perseid.model.ids import CrawlId, WorkerId
from perseid.ports.store import Store
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


async def run(store: Store, loop: Beating, telemetry: Telemetry, stop: Stop, *, every_s: float) -> None:
    while not await stop.sleep(every_s):
        try:
            ended = await store.beat(loop.worker)
            if ended is None:
                telemetry.trouble("worker.dead", "this worker's beat was missed; its leases are lost to it")
                await loop.start_over()
            elif ended:
                loop.drop(ended)
        except StoreError as error:
            # The next beat tries again: until then the store has no row of ours, and hands us nothing.
            telemetry.trouble("store.retry", str(error))
