"""The life of crawls beside their steps: start, add, append, cancel, retry, sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perseid.errors import StoreError
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId
from perseid.model.verdict import Denied
from perseid.ports.store import NewCrawl
from perseid.ports.work import Lease, NewUrl
from perseid.store.postgres.admit import Found, Harvest, bring_in
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.quota import afford, hold
from perseid.store.postgres.start import line_up, meet, start
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import clean

_JOBS_AT_ONCE = 500
_SETTLE = "SELECT settle_v1($1, $2, $3, '{}', '{}')"


class PgLiving(PgBase):
    """The part of the store that begins and ends crawls."""

    async def start(self, crawl: NewCrawl) -> CrawlId:
        return await self._write(lambda tx: start(tx, crawl), synced=True)

    async def add(
        self,
        crawl: CrawlId,
        urls: Sequence[NewUrl],
        *,
        parent: Lease | None = None,
        denied: Sequence[Denied] = (),
    ) -> int:
        async def work(tx: PgTx, hosts: Mapping[str, int]) -> int:
            nature, status = await _hold(tx, crawl)
            if nature is None or status != CrawlStatus.SCRAPING:
                return 0
            job = None
            if parent is not None:
                job = parent.job
                held = "SELECT 1 FROM lease WHERE job = $1 AND lock = $2"
                if await tx.one(held, job, parent.lock) is None:
                    return 0
            harvest = Harvest(
                nature, [Found(url, job, url.depth) for url in urls], [(refusal, job) for refusal in denied]
            )
            admitted = await bring_in(tx, {crawl: harvest}, hosts)
            await tx.execute(_SETTLE, tx.now, tx.settings, [crawl])
            return admitted

        return await self._write_at({url.host for url in urls}, work)

    async def append(self, crawl: CrawlId, urls: Sequence[NewUrl]) -> int:
        async def work(tx: PgTx) -> int:
            hosts = await meet(tx, urls)
            team = await tx.value("SELECT team FROM crawl WHERE id = $1", crawl)
            await hold(tx, () if team is None else (team,))
            nature, _status = await _hold(tx, crawl)
            if nature is None or not await tx.value("SELECT may_go_on_v1($1, $2)", tx.now, crawl):
                return 0
            if nature.kind != CrawlKind.BATCH:
                raise StoreError(f"crawl number {crawl} is a {nature.kind}: only a batch takes further URLs")
            await afford(tx, team, len(urls))
            admitted = await line_up(tx, nature, urls, hosts)
            if admitted:
                await tx.execute("SELECT go_on_v1($1, $2)", tx.now, crawl)
            await tx.execute(_SETTLE, tx.now, tx.settings, [crawl])
            return admitted

        return await self._write(work, synced=True)

    async def retry_jobs(self, jobs: Sequence[JobId]) -> int:
        return await self._in_chunks("SELECT retry_jobs_v1($1, $2, $3)", jobs)

    async def cancel_jobs(self, jobs: Sequence[JobId]) -> int:
        return await self._in_chunks("SELECT cancel_jobs_v1($1, $2, $3)", jobs)

    async def _in_chunks(self, statement: str, jobs: Sequence[JobId]) -> int:
        """Other writers get between them."""
        done = 0
        for at in range(0, len(jobs), _JOBS_AT_ONCE):
            done += await self._one_chunk(statement, list(jobs[at : at + _JOBS_AT_ONCE]))
        return done

    async def _one_chunk(self, statement: str, jobs: list[JobId]) -> int:
        async def work(tx: PgTx) -> int:
            changed = int(await tx.value(statement, tx.now, tx.settings, jobs))
            tx.stirred = changed > 0
            return changed

        return await self._write(work, synced=True)

    async def cancel(self, crawl: CrawlId) -> bool:
        return await self._end(crawl, CrawlStatus.CANCELLED, None)

    async def pause(self, crawl: CrawlId, *, paused: bool = True) -> bool:
        async def work(tx: PgTx) -> bool:
            changed = bool(await tx.value("SELECT pause_v1($1, $2)", crawl, int(paused)))
            tx.stirred = tx.stirred or changed
            return changed

        return await self._write(work, synced=True)

    async def fail(self, crawl: CrawlId, error: str) -> bool:
        return await self._end(crawl, CrawlStatus.FAILED, clean(error))

    async def _end(self, crawl: CrawlId, status: CrawlStatus, error: str | None) -> bool:
        async def work(tx: PgTx) -> bool:
            _nature, before = await _hold(tx, crawl)
            if before != CrawlStatus.SCRAPING:
                return False
            await tx.execute("SELECT end_v1($1, $2, $3, $4)", tx.now, crawl, int(status), error)
            return True

        return await self._write(work, synced=True)

    async def sweep(self, *, chunk: int = 5_000) -> int:
        """One bounded round, of three transactions: mend times, fail what is past its deadline, clear ended crawls."""

        async def mend(tx: PgTx) -> None:
            await tx.execute("SELECT mend_times_v1($1, $2)", tx.now, tx.settings)

        async def past_deadline(tx: PgTx) -> int:
            return int(await tx.value("SELECT past_deadline_v1($1, $2)", tx.now, chunk))

        async def clear(tx: PgTx) -> int:
            return int(await tx.value("SELECT clear_ended_v1($1)", chunk))

        await self._write(mend)
        return await self._write(past_deadline) + await self._write(clear)

    async def checkpoint(self) -> None:
        """A server moves its log into its tables by itself."""


async def _hold(tx: PgTx, crawl: int) -> tuple[Nature | None, int | None]:
    """Lock a crawl and its queues; what it is, and its status."""
    row = await tx.one(
        "SELECT kind, max_depth, keep_variants, status FROM crawl WHERE id = $1 FOR NO KEY UPDATE", crawl
    )
    if row is None:
        return None, None
    await tx.execute("SELECT 1 FROM queue WHERE crawl = $1 ORDER BY id FOR NO KEY UPDATE", crawl)
    kind, max_depth, keep_variants, status = row
    return Nature(crawl, kind, max_depth, bool(keep_variants)), status
