"""Begin the runs of seeds that are due. Any number of processes may: of two that are as quick, one begins it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from perseid.errors import PerseidError, QuotaExceeded, StoreError
from perseid.ports.seeds import SeedRow, Seeds
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop

if TYPE_CHECKING:
    # Who works on a store without seeds loads nothing of them.
    from perseid.seeds.starting import Starter

_BATCH = 16
_AT_ONCE = 8
_SOONEST_S = 0.02
_PUT_OFF_S = 60.0
_QUOTA_PUT_OFF_S = 600.0


class Scheduler:
    """`begun` is called after runs began here; `every_s` bounds how late it learns what others have scheduled."""

    def __init__(
        self,
        seeds: Seeds,
        starter: Callable[[], Starter],
        *,
        telemetry: Telemetry,
        begun: Callable[[], None],
        every_s: float = 2.0,
    ) -> None:
        """`starter` is asked for when the first seed is due."""
        self._seeds = seeds
        self._starter = starter
        self._telemetry = telemetry
        self._begun = begun
        self._every_s = every_s

    async def run(self, stop: Stop) -> None:
        pause_s = 0.0
        while not await stop.sleep(pause_s):
            try:
                pause_s = await self.round()
            except StoreError as error:
                self._telemetry.trouble("store.retry", str(error))
                pause_s = self._every_s

    async def round(self) -> float:
        """Begin all that is due; how long to wait then. Raises `StoreError`."""
        began = 0
        due_us = await self._seeds.next_due_us()
        while due_us is not None and due_us <= 0:
            rows = await self._seeds.due_seeds(limit=_BATCH)
            begun = 0
            for few in (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE)):
                begun += sum(await asyncio.gather(*map(self._start, few)))
            began += begun
            due_us = await self._seeds.next_due_us()
            if not begun:
                # Others were quicker, or it could not begin: look again after a breath.
                break
        if began:
            self._begun()
        return self._every_s if due_us is None else min(max(due_us / 1_000_000, _SOONEST_S), self._every_s)

    async def _start(self, row: SeedRow) -> bool:
        starter = self._starter()
        try:
            return await starter.start(row) is not None
        except StoreError:
            raise
        except QuotaExceeded as error:
            await self._put_off(starter, row, _QUOTA_PUT_OFF_S, error)
        except PerseidError as error:
            await self._put_off(starter, row, _PUT_OFF_S, error)
        except Exception as error:  # noqa: BLE001 - what a newer release wrote, say, must hold up no other seed
            await self._put_off(starter, row, _QUOTA_PUT_OFF_S, f"it can't be begun here: {type(error).__name__}")
        return False

    async def _put_off(self, starter: Starter, row: SeedRow, seconds: float, why: object) -> None:
        self._telemetry.trouble("seed.put_off", f"the seed {row.seed!r} begins {seconds:g} s later: {why}")
        await starter.put_off(row, seconds)
