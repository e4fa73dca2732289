"""Compare slots with leases once a minute. It alarms and repairs nothing: a finding is a bug to be found."""

from __future__ import annotations

from perseid.errors import StoreError
from perseid.ports.store import Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop


async def run(store: Store, telemetry: Telemetry, stop: Stop, *, every_s: float) -> None:
    while not await stop.sleep(every_s):
        try:
            findings = await store.audit(crawls=0)
        except StoreError as error:
            telemetry.trouble("store.retry", str(error))
            continue
        for finding in findings:
            telemetry.trouble("audit.finding", f"{finding.what}: expected {finding.expected}, found {finding.found}")
