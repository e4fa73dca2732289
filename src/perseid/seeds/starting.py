"""Beginning the run of a seed that is due, or letting its time pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from perseid.errors import ConfigError
from perseid.model.ids import CrawlId
from perseid.model.seed import Seed
from perseid.ports.clock import Clock
from perseid.ports.seeds import SeedRow, Seeds, SeedState
from perseid.seeds import schedule
from perseid.seeds.run import RunOptions, new_run, own_rule
from perseid.seeds.site import NoRule, Sites

_USUAL_CONCURRENCY = 4


class Identity(NamedTuple):
    """Of a new run."""

    uid: str
    key_seed: int


class Starter:
    """`identity` makes those of new runs."""

    def __init__(self, seeds: Seeds, sites: Sites, *, clock: Clock, identity: Callable[[], Identity]) -> None:
        self._seeds = seeds
        self._sites = sites
        self._clock = clock
        self._identity = identity

    async def start(self, row: SeedRow) -> CrawlId | None:
        """Its run; None where its schedule lets this time pass, or somebody else was quicker.

        Raises `PerseidError` where it can't begin: see `put_off`.
        """
        seed = msgspec.json.decode(row.spec, type=Seed)
        now = self._clock.now_us()
        due = now if row.next_at is None else row.next_at
        turn = schedule.turn(seed.schedule, due, now)
        if not turn.run:
            await self._seeds.set_seed(row, SeedState.ACTIVE, next_at=turn.next_at)
            return None
        # A run that makes up for several times is for today; one of each, for the day of each.
        late = now - due > schedule.GRACE_US and seed.schedule.catch_up != "all"
        site = await self._sites.number(row.team, row.site)
        identity = self._identity()
        crawl = new_run(
            row,
            RunOptions(
                seed=seed, site=site, concurrency=await self._concurrency(row, seed), due_at=now if late else due
            ),
            uid=identity.uid,
            key_seed=identity.key_seed,
        )
        return await self._seeds.start_run(row, crawl, next_at=turn.next_at)

    async def put_off(self, row: SeedRow, seconds: float) -> None:
        """Have it due again a little later."""
        at = self._clock.now_us() + int(seconds * 1_000_000)
        await self._seeds.set_seed(row, SeedState.ACTIVE, next_at=at)

    async def _concurrency(self, row: SeedRow, seed: Seed) -> int:
        try:
            site = await self._sites.current(row.team, row.site, own=own_rule(seed))
        except (NoRule, ConfigError):
            # The run begins all the same, and its jobs say what is missing where people see it.
            return _USUAL_CONCURRENCY
        return site.limits.concurrency
