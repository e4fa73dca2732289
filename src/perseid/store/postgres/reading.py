"""What people and skins read of the store, and what changes no job."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.ports.delivery import Prospect
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Check
from perseid.store.postgres import health
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.blobs import PgBlobs
from perseid.store.postgres.configs import PgConfigs
from perseid.store.postgres.connection import Address
from perseid.store.postgres.forgetting import PgForgetting
from perseid.store.postgres.items import PgItems
from perseid.store.postgres.known import PgKnown
from perseid.store.postgres.memory import Memory
from perseid.store.postgres.outbox import PgOutbox
from perseid.store.postgres.pages import PgPageCache
from perseid.store.postgres.rows import PgRows
from perseid.store.postgres.seeds import PgSeeds
from perseid.store.postgres.teams import PgTeams
from perseid.store.reading.prospect import prospect
from perseid.store.reading.teams import TeamReader


class PgReading(PgTeams, PgForgetting):
    """`Inspect` and `Teams`, and the ways to all that lies beside the jobs."""

    def __init__(
        self,
        address: Address,
        pool: asyncpg.Pool,
        defaults: HostDefaults,
        clock: Callable[[], int] | None,
        memory: Memory,
    ) -> None:
        PgBase.__init__(self, address, pool, defaults, clock, memory)
        TeamReader.__init__(self, PgRows(self._all, address.shown), self._clock)
        self._pages = PgPageCache(self._write, self._rows, self._clock)

    async def prospect(self, most: int) -> Prospect:
        """Asked many times a second: under the settings of a write the plan is made once, and is the right one."""
        return await self._write(lambda tx: prospect(tx, tx.now, most))

    @property
    def pages(self) -> PgPageCache:
        return self._pages

    @property
    def items(self) -> PgItems:
        return PgItems(self._write, self._rows, self._clock)

    @property
    def known(self) -> PgKnown:
        return PgKnown(self._write, self._rows)

    @property
    def configs(self) -> PgConfigs:
        return PgConfigs(partial(self._write, synced=True), self._rows)

    @property
    def seeds(self) -> PgSeeds:
        return PgSeeds(partial(self._write, synced=True), self._rows, self._clock)

    @property
    def outbox(self) -> PgOutbox:
        return PgOutbox(self._write, self._rows, self._clock)

    @property
    def blobs(self) -> PgBlobs:
        return PgBlobs(self._write, self._rows)

    async def checks(self) -> list[Check]:
        return await health.checks(self._rows)
