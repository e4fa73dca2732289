"""The read side: every listing pages by key, each statement on its own, so that no snapshot stays open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import orjson

from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import END_STATES, EndState, JobKind, JobState
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.inspect import (
    DeniedRow,
    DocumentRow,
    Explanation,
    FailureRow,
    HostView,
    JobView,
    Progress,
)
from perseid.store.sqlite.connection import Connection, Row, reading
from perseid.store.sqlite.crawls import CRAWL, crawl_of, newest
from perseid.store.sqlite.explain import explain
from perseid.store.sqlite.jobs import JobFilter, jobs
from perseid.store.sqlite.rule import HOST, host_view

T = TypeVar("T")


def _document(row: Row) -> DocumentRow:
    seq, job, url, status, state, body, blob = row
    return DocumentRow(seq, JobId(job), url, status, END_STATES[EndState(state)], body, blob)


class SqliteReader:
    """`Inspect` on its own read-only connection."""

    def __init__(self, path: Path, reader: Connection) -> None:
        self.path = path
        self._reader = reader
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="perseid-reader")

    async def close_reader(self) -> None:
        await self._read(lambda connection: connection.close())
        self._reading.shutdown()

    async def _read(self, query: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, lambda: reading(self._reader, self.path, query))

    async def _all(self, statement: str, bindings: tuple[object, ...] = ()) -> list[Row]:
        return await self._read(lambda connection: list(connection.execute(statement, bindings)))

    async def crawl(self, uid: str) -> Crawl:
        rows = await self._all(f"{CRAWL} AND uid = ?", (uid,))
        if not rows:
            raise NotFound(f"no crawl {uid} in {self.path}")
        return crawl_of(rows[0])

    async def crawl_by_id(self, crawl: CrawlId) -> Crawl:
        rows = await self._all(f"{CRAWL} AND id = ?", (crawl,))
        if not rows:
            raise NotFound(f"no crawl number {crawl} in {self.path}")
        return crawl_of(rows[0])

    async def crawls(
        self,
        *,
        team: int | None = None,
        kinds: Sequence[CrawlKind] | None = None,
        status: CrawlStatus | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Crawl]:
        return await self._read(
            lambda connection: newest(connection, team=team, kinds=kinds, status=status, before=before, limit=limit)
        )

    async def documents(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[DocumentRow]:
        rows = await self._all(
            "SELECT seq, job, url, status, state, body, blob FROM document WHERE crawl = ? AND seq >"
            " ? AND NOT superseded ORDER BY seq LIMIT ?",
            (crawl, after, limit),
        )
        return [_document(row) for row in rows]

    async def document_of(self, job: JobId) -> DocumentRow | None:
        rows = await self._all(
            "SELECT d.seq, d.job, d.url, d.status, d.state, d.body, d.blob FROM ended e"
            " JOIN document d ON d.crawl = e.crawl AND d.seq = e.seq WHERE e.job = ?",
            (job,),
        )
        return _document(rows[0]) if rows else None

    async def failures(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[FailureRow]:
        rows = await self._all(
            "SELECT e.job, u.url, e.code, coalesce(e.message, ''), e.status, e.attempts, e.at, p.url"
            " FROM ended e INDEXED BY ended_other_than_done"
            " JOIN url u ON u.id = e.job LEFT JOIN url p ON p.id = u.parent"
            " WHERE e.crawl = ? AND e.state <> 0 AND e.state = 1 AND e.job > ? ORDER BY e.job LIMIT ?",
            (crawl, after, limit),
        )
        return [FailureRow(JobId(row[0]), *row[1:]) for row in rows]

    async def failure_counts(self, crawl: CrawlId) -> dict[str, int]:
        return dict(
            await self._all(
                "SELECT code, count(*) FROM ended INDEXED BY ended_other_than_done WHERE crawl = ?"
                " AND state <> 0 AND state = 1 GROUP BY code ORDER BY 2 DESC",
                (crawl,),
            )
        )

    async def denied(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[DeniedRow]:
        rows = await self._all(
            "SELECT d.id, d.url, d.reason, d.rule, d.value, p.url FROM denied d INDEXED BY"
            " denied_listing LEFT JOIN url p ON p.id = d.parent"
            " WHERE d.crawl = ? AND d.id > ? ORDER BY d.id LIMIT ?",
            (crawl, after, limit),
        )
        return [
            DeniedRow(number, url, reason, Denial(DenialReason(reason), rule, value).message, referrer)
            for number, url, reason, rule, value, referrer in rows
        ]

    async def denied_counts(self, crawl: CrawlId) -> dict[str, int]:
        return dict(
            await self._all("SELECT reason, n FROM denied_count WHERE crawl = ? AND n > 0 ORDER BY n DESC", (crawl,))
        )

    async def open_of(self, crawl: CrawlId, kinds: Sequence[JobKind]) -> int:
        classes = orjson.dumps([int(kind) for kind in kinds]).decode()
        ((count,),) = await self._all(
            "SELECT (SELECT coalesce(sum(l.tail - l.head), 0) FROM queue q JOIN lane l ON l.queue = q.id"
            "  WHERE q.crawl = ?1 AND q.class IN (SELECT value FROM json_each(?2)))"
            " + (SELECT count(*) FROM lease l JOIN url u ON u.id = l.job"
            "  WHERE l.crawl = ?1 AND u.kind IN (SELECT value FROM json_each(?2)))"
            " + (SELECT count(*) FROM retry r JOIN url u ON u.id = r.job"
            "  WHERE r.crawl = ?1 AND u.kind IN (SELECT value FROM json_each(?2)))",
            (crawl, classes),
        )
        return int(count)

    async def admitted(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[tuple[JobId, str]]:
        rows = await self._all(
            "SELECT id, url FROM url WHERE +crawl = ? AND id > ? AND flags & 1 ORDER BY id LIMIT ?",
            (crawl, after, limit),
        )
        return [(JobId(job), url) for job, url in rows]

    async def sitemap_coverage(self, crawl: CrawlId) -> tuple[int, int]:
        ((named, crawled),) = await self._all(
            "SELECT count(*), coalesce(sum(e.state IN (0, 2)), 0) FROM url u LEFT JOIN ended e ON e.job = u.id"
            " WHERE u.crawl = ? AND u.flags & 2",
            (crawl,),
        )
        return named, crawled

    async def jobs(
        self,
        *,
        crawl: CrawlId | None = None,
        team: int | None = None,
        host: str | None = None,
        state: JobState | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[JobView]:
        return await self._read(
            lambda connection: jobs(connection, JobFilter(crawl, team, host, state), after=after, limit=limit)
        )

    async def explain(self, crawl: CrawlId, keys: list[int], url: str) -> Explanation:
        return await self._read(lambda connection: explain(connection, crawl, keys, url))

    async def progress(self, crawl: CrawlId) -> Progress:
        (counts,) = await self._all(
            "SELECT (SELECT open FROM crawl WHERE id = ?1 AND status = 0), (SELECT"
            " coalesce(sum(active), 0) FROM queue WHERE crawl = ?1),"
            " (SELECT count(*) FROM retry WHERE crawl = ?1)",
            (crawl,),
        )
        hosts = await self._all(
            "SELECT h.name, count(*) FROM lease l JOIN host h ON h.id = l.host WHERE l.crawl = ?"
            " GROUP BY h.id ORDER BY 2 DESC LIMIT 5",
            (crawl,),
        )
        waiting, active, retrying = counts
        return Progress(max(0, (waiting or 0) - active - retrying), active, retrying, [(name, n) for name, n in hosts])

    async def hosts(self, *, limit: int = 100) -> list[HostView]:
        rows = await self._all(
            f"{HOST} ORDER BY active DESC, waiting DESC, id LIMIT ?",
            (limit,),
        )
        return [host_view(row) for row in rows]
