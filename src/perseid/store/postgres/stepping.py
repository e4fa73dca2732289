"""Finishing and claiming, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from perseid.errors import StoreError, StoreUnavailable
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.store import StepResult
from perseid.ports.work import Finished
from perseid.store.poison import Halving
from perseid.store.postgres.claim import Claimed, claim
from perseid.store.postgres.claiming import PgClaiming
from perseid.store.postgres.finish import finish_all, hosts_named
from perseid.store.postgres.recall import recall
from perseid.store.postgres.tx import PgTx

_ALL_KINDS = tuple(JobKind)


class PgStepping(Halving, PgClaiming):
    """The part of the store that workers call again and again."""

    async def _ask(self, statement: str, *bindings: Any) -> Any:
        return (await self._all(statement, bindings))[0][0]

    async def step(
        self,
        worker: WorkerId,
        finished: Sequence[Finished],
        want: int,
        *,
        kinds: Sequence[JobKind] = _ALL_KINDS,
        lease_us: int = 120_000_000,
        crawl: CrawlId | None = None,
    ) -> StepResult:
        asked = partial(claim, worker=worker, want=want, kinds=kinds, lease_us=lease_us, only=crawl)

        async def work(tx: PgTx, hosts: Mapping[str, int]) -> tuple[list[bool], list[CrawlId], Claimed]:
            kept = await finish_all(tx, finished, hosts)
            return kept, tx.completed, await asked(tx) if want > 0 else Claimed([])

        await recall(self._memory, finished, self._ask)
        try:
            if finished:
                kept, done, got = await self._write_at(hosts_named(finished), work)
            else:
                kept, done, got = [], [], await self._write(asked, single=True) if want > 0 else Claimed([])
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one page's data did must not cost the others theirs
            return await self._halve(worker, finished, want, error, kinds=kinds, lease_us=lease_us, crawl=crawl)
        with suppress(StoreUnavailable):  # what was finished is: nobody may believe otherwise now
            got = await self._claim_after(got, worker, want, kinds=kinds, lease_us=lease_us, only=crawl)
        return StepResult(kept, got.leases, None if got.leases else got.wait_us, done)
