"""What a test module of limits has to bring along, and what the suite makes of it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, Self

from perseid.limit.shelf import Terms
from perseid.limit.shelved import ShelvedLimits
from perseid.model.ids import WorkerId
from perseid.ports.clock import Clock
from perseid.ports.limit import Blocks, Gate, GateKind, Limits, Permit
from perseid.ports.store import HostDefaults
from perseid.ports.teams import Team
from perseid.ports.truth import Truth
from perseid.store.sqlite.store import SqliteStore

SHORT = Terms(lease_us=1_500_000, margin_us=300_000, hold_us=700_000, least_us=100_000, grace_us=100_000)
"""What takes seconds in earnest."""
LEASE_S = SHORT.lease_us / 1_000_000
HOLD_S = SHORT.hold_us / 1_000_000
SOON_S = 8.0
"""Everything happens within that, however busy the machine is."""
PAUSE_S = 0.002
"""Between questions that are to come far more often than they may be answered with yes."""
_APART_S = 420.0
"""By so much the clocks of the store and of each process differ."""
HOST_RATE = HostDefaults(max_active=8, interval_us=200_000, burst=3, global_interval_us=0)


class LimitBackend(Protocol):
    """One place of its own; each `Limits` made stands for a process."""

    async def begin(self) -> None: ...

    def make(self, blocks: Blocks, whose: Callable[[], WorkerId], clock: Clock) -> Limits:
        """One more process, by the terms `SHORT`."""
        ...

    async def dispose(self) -> None: ...


class Losable(LimitBackend, Protocol):
    """A backend whose server can be lost. All processes reach it through what is cut here."""

    async def cut(self) -> None:
        """End all connections, and refuse new ones until `mend`."""
        ...

    def mute(self) -> None:
        """Nothing passes any more, until `mend`, and nobody is told."""
        ...

    async def mend(self) -> None: ...

    async def wipe(self) -> None:
        """All that it holds is gone."""
        ...

    async def forget_scripts(self) -> None: ...

    async def crash(self) -> None:
        """It is killed, and begins again with what it had written down, perhaps a moment ago."""
        ...

    async def restore(self, backup: object) -> None:
        """It is killed, and begins again with what it had at the time of the backup."""
        ...

    async def backup(self) -> object: ...

    async def squeeze(self) -> None:
        """Others fill it until it throws away what it likes."""
        ...


NewLimits = Callable[[], LimitBackend]
NewStore = Callable[[Path, HostDefaults, Callable[[], int]], Awaitable[Truth]]


async def sqlite_store(folder: Path, defaults: HostDefaults, clock: Callable[[], int]) -> Truth:
    return await SqliteStore.open(folder / "crawl.db", defaults=defaults, clock=clock)


class Apart:
    """The clock of a process whose machine was set wrongly, and began to count long ago."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now_us(self) -> int:
        return time.time_ns() // 1_000 + int(self._seconds * 1_000_000)

    def monotonic_s(self) -> float:
        return time.monotonic() + 10 * abs(self._seconds)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Process:
    """One process's limits, and the permits that it holds."""

    def __init__(self, limits: Limits, clock: Apart, worker: WorkerId) -> None:
        self.limits = limits
        self.clock = clock
        self.worker = worker
        self.held: list[Permit] = []

    async def get(self, gate: Gate, wait_s: float = 0.0) -> Permit | None:
        permit = await self.limits.acquire(gate, wait_s=wait_s)
        if permit is not None:
            self.held.append(permit)
        return permit

    async def get_all(self, gate: Gate, most: int, wait_s: float = 0.4) -> int:
        """So many of `most` that are asked for at once."""
        return sum(
            permit is not None for permit in await asyncio.gather(*(self.get(gate, wait_s) for _ in range(most)))
        )

    async def free(self, count: int = 1_000) -> None:
        for permit in self.held[:count]:
            await self.limits.release(permit)
        del self.held[:count]

    async def extend(self) -> None:
        self.held = [await self.limits.extend(permit) for permit in self.held]

    @property
    def live(self) -> int:
        """Permits whose time is not up."""
        now = self.clock.monotonic_s()
        return sum(permit.until > now for permit in self.held)

    async def tend(self) -> None:
        if isinstance(self.limits, ShelvedLimits):
            await self.limits.tend()


class Bench:
    def __init__(self, backend: LimitBackend, new_store: NewStore) -> None:
        self.backend = backend
        self._new_store = new_store
        self._folder = tempfile.TemporaryDirectory(prefix="perseid-limit-")
        self.processes: list[Process] = []

    async def begin(self, defaults: HostDefaults = HOST_RATE) -> Self:
        await self.backend.begin()
        self.store = await self._new_store(Path(self._folder.name), defaults, Apart(_APART_S).now_us)
        return self

    async def close(self) -> None:
        for process in self.processes:
            await process.limits.close()
        await self.store.close()
        await self.backend.dispose()
        self._folder.cleanup()

    async def process(self) -> Process:
        number = len(self.processes)
        worker = await self.store.register("here", 1_000 + number, 1)
        clock = Apart(-_APART_S * number)
        self.processes.append(Process(self.backend.make(self.store, lambda: worker, clock), clock, worker))
        return self.processes[-1]

    async def team(self, most: int) -> Gate:
        made = await self.store.put_team(Team(id=0, name=f"team of {most}", max_active=most))
        return Gate(GateKind.TEAM, str(made.id))

    async def active(self, gate: Gate) -> int:
        return (await self.store.load(int(gate.name))).active

    @property
    def live(self) -> int:
        return sum(process.live for process in self.processes)

    async def reap_until(self, gate: Gate, active: int) -> None:
        """Let time go on, and idle slots come home, until so many count in the store."""
        async with asyncio.timeout(SOON_S):
            while await self.active(gate) != active:
                for process in self.processes:
                    await process.tend()
                await self.store.reap([])
                await asyncio.sleep(0.05)
