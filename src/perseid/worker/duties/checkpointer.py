"""Move the write-ahead log into the database, so that commits of pages reach the disk and the log stays short."""

from __future__ import annotations

from perseid.errors import StoreError
from perseid.ports.store import Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop


async def run(store: Store, telemetry: Telemetry, stop: Stop, *, every_s: float) -> None:
    while not await stop.sleep(every_s):
        try:
            await store.checkpoint()
        except StoreError as error:
            telemetry.trouble("store.retry", str(error))
