"""Let go of what nobody keeps any longer: crawls, caches, known URLs, pages of sites, the log of deliveries, and what
is to be erased.

Bounded in each round; what is left is for the next one. Only a server runs it: on a laptop people prune by hand.
"""

from __future__ import annotations

import msgspec

from perseid.errors import NotFound, StoreError
from perseid.model.ids import CrawlId
from perseid.ports.blob import Blobs
from perseid.ports.clock import Clock
from perseid.ports.inspect import Inspect
from perseid.ports.items import Items
from perseid.ports.known import Known
from perseid.ports.outbox import Outbox
from perseid.ports.pages import PageCache
from perseid.ports.store import Store
from perseid.ports.telemetry import Telemetry
from perseid.worker.stop import Stop

_BODIES_A_ROUND = 1_000
_ERASURES_A_ROUND = 100
_PRUNINGS_A_ROUND = 20
_PAGES_AT_ONCE = 500
_PAGES_A_ROUND = 20 * _PAGES_AT_ONCE


class Shelves(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are kept."""

    store: Store
    inspect: Inspect
    pages: PageCache
    known: Known
    items: Items
    outbox: Outbox
    blobs: Blobs


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """For how long; of crawls each knows it itself."""

    cache_s: float
    known_s: float
    page_s: float
    log_s: float


class Pruner:
    """One a store is enough; several do each other no harm."""

    def __init__(self, shelves: Shelves, keeping: Keeping, *, clock: Clock, telemetry: Telemetry) -> None:
        self._shelves = shelves
        self._keeping = keeping
        self._clock = clock
        self._telemetry = telemetry
        self._looked_at = 0

    async def run(self, stop: Stop, *, every_s: float) -> None:
        while not await stop.sleep(every_s):
            try:
                await self.round()
            except StoreError as error:
                self._telemetry.trouble("store.retry", str(error))

    async def round(self) -> None:
        await self.erase()
        await self._shelves.store.prune(rounds=_PRUNINGS_A_ROUND)  # only those whose own time to live is over
        await self._drop_bodies()
        now, keeping = self._clock.now_us(), self._keeping
        await self._shelves.pages.expire(now - int(keeping.cache_s * 1_000_000))
        await self._shelves.known.forget_urls(now - int(keeping.known_s * 1_000_000))
        await self._shelves.known.forget_snapshots(now - int(keeping.known_s * 1_000_000))
        await self._shelves.outbox.expire_attempts(now - int(keeping.log_s * 1_000_000))
        await self._drop_pages(now - int(keeping.page_s * 1_000_000))

    async def _drop_pages(self, before_us: int) -> None:
        """Of sites; and what their items lacked."""
        for _ in range(_PAGES_A_ROUND // _PAGES_AT_ONCE):
            if await self._shelves.items.forget_pages(fetched_before=before_us, limit=_PAGES_AT_ONCE) < _PAGES_AT_ONCE:
                break
        await self._shelves.items.forget_rates(before=before_us)

    async def erase(self) -> None:
        """Zero retention: bodies outside first, so that nothing is left when the store says that all is done."""
        due = await self._shelves.store.erasures(limit=_ERASURES_A_ROUND)
        if not due:
            return
        for crawl in due:
            await self._shelves.blobs.delete_prefix(str(crawl))
        if not await self._shelves.store.erase(*due):
            self._telemetry.trouble("store.retry", f"{len(due)} crawls under zero retention wait to be erased: in use")

    async def _drop_bodies(self) -> None:
        """Bodies of crawls that are gone: of a pruning by whomever, and of one that was cut off.

        And of erased ones, which a worker may have written that was declared dead and was not.
        """
        ahead = await self._shelves.blobs.prefixes(after=self._looked_at, limit=_BODIES_A_ROUND)
        for number in ahead:
            try:
                gone = (await self._shelves.inspect.crawl_by_id(CrawlId(number))).erased
            except NotFound:
                gone = True
            if gone:
                await self._shelves.blobs.delete_prefix(str(number))
        self._looked_at = ahead[-1] if len(ahead) == _BODIES_A_ROUND else 0
