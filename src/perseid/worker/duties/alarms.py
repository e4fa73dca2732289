"""Watch what items lack, and tell of alarms; once more at the end, so that work of some seconds is watched too."""

from __future__ import annotations

from perseid.errors import StoreError
from perseid.items.alarms import Watch
from perseid.items.telling import Teller
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop


async def run(watch: Watch, teller: Teller, telemetry: Telemetry, stop: Stop, *, every_s: float) -> None:
    over = False
    while not over:
        over = await stop.sleep(every_s)
        try:
            await watch.round()
            await teller.round()
        except StoreError as error:
            telemetry.trouble("store.retry", str(error))
