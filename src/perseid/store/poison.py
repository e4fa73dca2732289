"""A page whose data the database refuses: less and less of it is tried."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from perseid.errors import StoreError
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.store import StepResult
from perseid.ports.work import Failed, Finished


def poisoned(item: Finished, message: str) -> Finished | None:
    """The same end of a lease with less in it that could upset the database; None when nothing is left to drop.

    What was learnt about hosts is kept as long as it can be: a pause must hold though its page is lost.
    """
    end = Failed(code=FailureCode.STORE_ERROR.value, message=message)
    if isinstance(item.end, Failed) and item.end.code == end.code:
        return Finished(lease=item.lease, end=end) if item.hosts else None
    return Finished(lease=item.lease, end=end, hosts=item.hosts)


class Halving:
    """The part of a store that finds the page over which a step failed."""

    @abstractmethod
    async def step(
        self,
        worker: WorkerId,
        finished: Sequence[Finished],
        want: int,
        *,
        kinds: Sequence[JobKind] = tuple(JobKind),
        lease_us: int = 120_000_000,
        crawl: CrawlId | None = None,
    ) -> StepResult: ...

    async def _halve(
        self,
        worker: WorkerId,
        finished: Sequence[Finished],
        want: int,
        error: Exception,
        *,
        kinds: Sequence[JobKind],
        lease_us: int,
        crawl: CrawlId | None,
    ) -> StepResult:
        """The batch failed on data: find the culprit by halving and end it as `failed(store_error)`."""
        if not finished:
            raise StoreError(f"the store could not claim work: {error!r}") from error
        if len(finished) == 1:
            text = f"the page could not be stored: {error!r}"[:500].encode("ascii", "replace").decode()
            only = poisoned(finished[0], text)
            if only is None:
                raise StoreError(f"the store could not record a failure: {error!r}") from error
            return await self.step(worker, [only], want, kinds=kinds, lease_us=lease_us, crawl=crawl)
        middle = len(finished) // 2
        first = await self.step(worker, finished[:middle], 0)
        second = await self.step(worker, finished[middle:], want, kinds=kinds, lease_us=lease_us, crawl=crawl)
        return StepResult(first.kept + second.kept, second.leases, second.wait_us, [*first.ended, *second.ended])
