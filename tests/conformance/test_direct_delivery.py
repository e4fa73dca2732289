"""The delivery without a broker keeps every promise that one process can be made."""

from __future__ import annotations

from perseid.delivery.direct import Direct
from perseid.ports.delivery import Delivery
from perseid.ports.telemetry import Telemetry
from perseid.testing.conformance.delivery.suite import delivery_suite


class InOneProcess:
    async def begin(self) -> None:
        pass

    def make(self, telemetry: Telemetry) -> Delivery:
        return Direct()

    async def dispose(self) -> None:
        pass


globals().update(delivery_suite(InOneProcess, brokered=False))
