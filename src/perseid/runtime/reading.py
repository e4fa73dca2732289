"""What a store's crawls are and hold, as a team may see it, and what an operator does about single jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perseid.crawls import explain as explaining
from perseid.crawls.pack import read, unpack
from perseid.crawls.summary import Summary, summarize
from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.document import Document
from perseid.model.ids import JobId, WorkerId
from perseid.model.job import JobState
from perseid.model.terms import DEFAULT_TEAM
from perseid.ports.inspect import DeniedRow, Explanation, FailureRow, HostView, JobView
from perseid.ports.store import Drain
from perseid.runtime.engine import Engine

_PAGE_OF_ROWS = 1_000


class JobFilter(NamedTuple):
    """Which jobs of a team are meant."""

    team: int
    crawl: str | None = None
    state: JobState | None = None
    host: str | None = None


class Reading:
    """The read side of a service."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.settings = engine.settings
        self.store = engine.store

    async def crawl(self, team: int, uid: str) -> Crawl:
        """Raises `NotFound`, in the same words, for an unknown one, another team's, and one whose time is over."""
        try:
            crawl = await self.store.crawl(uid)
        except NotFound:
            raise NotFound(f"no crawl {uid}") from None
        expired = crawl.expires_at is not None and crawl.expires_at <= self.engine.clock.now_us()
        if crawl.team != team or expired:
            raise NotFound(f"no crawl {uid}")
        return crawl

    async def crawls(
        self,
        team: int,
        *,
        kinds: Sequence[CrawlKind] | None = None,
        status: CrawlStatus | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Crawl]:
        """Newest first."""
        return await self.store.crawls(team=team, kinds=kinds, status=status, before=before, limit=limit)

    async def documents(
        self, crawl: Crawl, *, after: int = 0, limit: int = 100, max_bytes: int = 10 * 1024 * 1024
    ) -> list[tuple[int, Document]]:
        """Those with a number above `after`: up to `limit` of them, and `max_bytes` of JSON unless the first has more.

        Pages that answered 4xx or 5xx are among them.
        """
        found: list[tuple[int, Document]] = []
        size = 0
        for row in await self.store.documents(crawl.id, after=after, limit=limit):
            line = unpack(await self.engine.blobs.get(row.blob) if row.blob else row.body)
            size += len(line)
            if found and size > max_bytes:
                break
            found.append((row.seq, read(line)))
        return found

    async def delivered(self, crawl: Crawl, number: int) -> None:
        """The caller has the documents up to `number`: under zero retention they may go once the crawl has ended."""
        await self.store.mark_delivered(crawl.id, number)

    async def _read(self, body: bytes, blob: str | None) -> Document:
        return read(unpack(await self.engine.blobs.get(blob) if blob else body))

    async def failures(self, crawl: Crawl, *, after: int = 0, limit: int = _PAGE_OF_ROWS) -> list[FailureRow]:
        return await self.store.failures(crawl.id, after=after, limit=limit)

    async def denied(self, crawl: Crawl, *, after: int = 0, limit: int = _PAGE_OF_ROWS) -> list[DeniedRow]:
        return await self.store.denied(crawl.id, after=after, limit=limit)

    async def summary(self, crawl: Crawl) -> Summary:
        return await summarize(self.store, crawl.uid, now_us=self.engine.clock.now_us())

    async def cancel(self, crawl: Crawl) -> bool:
        """False if it had ended."""
        return await self.store.cancel(crawl.id)

    async def ping(self) -> None:
        """Raises `StoreUnavailable` when the store doesn't answer."""
        await self.store.team(DEFAULT_TEAM)

    async def explain(self, team: int, url: str, uid: str | None = None) -> list[Explanation]:
        """Why `url` is, or is not, among the pages of a crawl, or of each recent crawl of the team."""
        crawls = [await self.crawl(team, uid)] if uid else await self.crawls(team)
        found = [await explaining.explain(self.store, crawl, url) for crawl in crawls]
        return [told for told in found if told.state != "unknown"] or found

    async def jobs(self, wanted: JobFilter, *, after: int = 0, limit: int = 100) -> list[JobView]:
        """Raises `NotFound` for a crawl that is not the team's."""
        crawl = None if wanted.crawl is None else (await self.crawl(wanted.team, wanted.crawl)).id
        return await self.store.jobs(
            crawl=crawl, state=wanted.state, host=wanted.host, team=wanted.team, after=after, limit=limit
        )

    async def figures(self) -> dict[str, dict[str, int]]:
        """The whole store in numbers: crawls and jobs by state, hosts in trouble, workers, items in line for sinks."""
        stats = await self.store.stats()
        lines = [state for team in await self.store.teams() for state in await self.store.items.sink_states(team.id)]
        return {
            "crawls": {status.name.lower(): number for status, number in stats.crawls.items()},
            "jobs": {state.value: number for state, number in stats.jobs.items()},
            "hosts": {"backed_off": stats.hosts_backed_off, "paused": stats.hosts_paused},
            "scrapes": {"open": stats.scrapes},
            "workers": {"alive": stats.workers},
            "sink_items": {
                "waiting": sum(line.waiting for line in lines if not line.error),
                "held": sum(line.waiting for line in lines if line.error),
            },
            "sinks": {
                "working": sum(not line.error for line in lines),
                "failing": sum(bool(line.error) for line in lines),
            },
        }

    async def drain(self, worker: int, how: Drain) -> None:
        """Ask a worker to go, or take that back. Raises `NotFound` for none, and for a server's own."""
        if not await self.store.drain(WorkerId(worker), how):
            raise NotFound(f"there is no worker {worker} that could be asked to go; GET /api/workers lists them")

    async def change_host(
        self, name: str, *, pause_s: float | None, max_active: int | None, requests_per_second: float | None
    ) -> HostView:
        """The operator's word on a host; what is None stays. Raises `NotFound` for one nobody has asked for."""
        now_us = self.engine.clock.now_us()
        return await self.store.set_host(
            name,
            paused_until=None if pause_s is None else now_us + int(pause_s * 1_000_000),
            max_active=max_active,
            interval_us=None if requests_per_second is None else int(1_000_000 / requests_per_second),
        )

    async def retry_jobs(self, wanted: JobFilter, ids: Sequence[int] = ()) -> int:
        """Failed pages are tried again; the number of them."""
        return await self.store.retry_jobs(await self._chosen(wanted, ids))

    async def cancel_jobs(self, wanted: JobFilter, ids: Sequence[int] = ()) -> int:
        """Waiting pages end; the number of them."""
        return await self.store.cancel_jobs(await self._chosen(wanted, ids))

    async def _chosen(self, wanted: JobFilter, ids: Sequence[int]) -> list[JobId]:
        """These jobs, as far as they are the team's, or all that the filter finds."""
        if ids:
            return [JobId(number) for number in ids if await self._is_of(wanted.team, number)]
        chosen: list[JobId] = []
        after = 0
        while rows := await self.jobs(wanted, after=after, limit=_PAGE_OF_ROWS):
            chosen += [row.job for row in rows]
            after = rows[-1].job
        return chosen

    async def _is_of(self, team: int, job: int) -> bool:
        return any(row.job == job for row in await self.store.jobs(team=team, after=job - 1, limit=1))
