"""Return the work of dead workers, and leases past their expiry, to waiting.

A worker is dead when its beat stood still for `dead_after_s` of our own monotonic time in which we could
read the store: neither a database outage nor a laptop that slept makes the fleet look dead. One of this host whose
process is gone is dead at once.
"""

from __future__ import annotations

from perseid.errors import StoreError
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.store import Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.enroll import dead_here
from perseid.worker.stop import Stop


class Reaper:
    """Keeps what it saw of each worker's beat; one a process."""

    def __init__(
        self, store: Store, clock: Clock, telemetry: Telemetry, *, every_s: float, dead_after_s: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._every_s = every_s
        self._dead_after_s = dead_after_s
        self._still: dict[WorkerId, tuple[int, float]] = {}
        self._looked_at = clock.monotonic_s()

    async def run(self, stop: Stop) -> None:
        while not await stop.sleep(self._every_s):
            try:
                await self.look()
            except StoreError as error:
                self._telemetry.trouble("store.retry", str(error))

    async def look(self) -> int:
        """One round; the number of leases returned to waiting."""
        seen = await self._store.workers()
        now = self._clock.monotonic_s()
        # Time in which we could not look proves nothing about others.
        elapsed = min(now - self._looked_at, 2 * self._every_s)
        self._looked_at = now
        still: dict[WorkerId, tuple[int, float]] = {}
        for worker in seen:
            beat, stood = self._still.get(worker.id, (-1, 0.0))  # what was before we first saw it doesn't count
            still[worker.id] = (worker.beat, stood + elapsed if worker.beat == beat else 0.0)
        self._still = still
        silent = [worker for worker, (_beat, stood) in still.items() if stood >= self._dead_after_s]
        dead = list(dict.fromkeys([*silent, *dead_here(seen)]))
        returned = await self._store.reap(dead)
        if dead or returned:
            self._telemetry.trouble("worker.reaped", f"{len(dead)} dead workers, {returned} leases returned to waiting")
        return returned
