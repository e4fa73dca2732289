"""The read side: every listing pages by key, each statement on its own, so that no snapshot stays open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.model.job import END_STATES, EndState, JobKind, JobState
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.delivery import Prospect
from perseid.ports.inspect import (
    DeniedRow,
    DocumentRow,
    Explanation,
    FailureRow,
    HostView,
    JobView,
    Progress,
    Stats,
    WorkerView,
)
from perseid.ports.truth import Relocation
from perseid.ports.work import Lease
from perseid.store.reading import overview
from perseid.store.reading.crawls import CRAWL, SEEN, CrawlFilter, crawl_of, newest
from perseid.store.reading.explain import explain
from perseid.store.reading.hosts import HOST, host_view
from perseid.store.reading.jobs import JobFilter, jobs
from perseid.store.reading.leases import held
from perseid.store.reading.prospect import prospect
from perseid.store.reading.rows import Row, Rows
from perseid.store.schema import clean

_FEW = 100


def _document(row: Row) -> DocumentRow:
    seq, job, url, status, state, body, blob = row
    return DocumentRow(seq, JobId(job), url, status, END_STATES[EndState(state)], body, blob)


class Reader:
    """`Inspect` over the rows of either database; `clock` gives µs since the epoch."""

    def __init__(self, rows: Rows, clock: Callable[[], int]) -> None:
        self._rows = rows
        self._clock = clock

    async def crawl(self, uid: str) -> Crawl:
        rows = await self._rows.all(f"{CRAWL} WHERE uid = $1 AND {SEEN}", uid, brief=True)
        if not rows:
            raise NotFound(f"no crawl {uid} in {self._rows.place}")
        return crawl_of(rows[0])

    async def crawl_by_id(self, crawl: CrawlId) -> Crawl:
        rows = await self._rows.all(f"{CRAWL} WHERE id = $1 AND {SEEN}", crawl, brief=True)
        if not rows:
            raise NotFound(f"no crawl number {crawl} in {self._rows.place}")
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
        return await newest(self._rows, CrawlFilter(team, kinds, status, before), limit)

    async def held(self, worker: WorkerId) -> list[Lease]:
        return await held(self._rows, worker)

    async def documents(self, crawl: CrawlId, *, after: int = 0, limit: int = 100) -> list[DocumentRow]:
        rows = await self._rows.all(
            "SELECT seq, job, url, status, state, body, blob FROM document WHERE crawl = $1 AND seq > $2"
            " AND superseded = 0 ORDER BY seq LIMIT $3",
            crawl, after, limit, brief=limit <= _FEW,
        )  # fmt: skip
        return [_document(row) for row in rows]

    async def document_of(self, job: JobId) -> DocumentRow | None:
        rows = await self._rows.all(
            "SELECT d.seq, d.job, d.url, d.status, d.state, d.body, d.blob FROM ended e"
            " JOIN document d ON d.crawl = e.crawl AND d.seq = e.seq WHERE e.job = $1",
            job,
        )
        return _document(rows[0]) if rows else None

    async def failures(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[FailureRow]:
        rows = await self._rows.all(
            "SELECT e.job, u.url, e.code, coalesce(e.message, ''), e.status, e.attempts, e.at, p.url"
            " FROM ended e JOIN url u ON u.id = e.job LEFT JOIN url p ON p.id = u.parent"
            " WHERE e.crawl = $1 AND e.state <> 0 AND e.state = 1 AND e.job > $2 ORDER BY e.job LIMIT $3",
            crawl, after, limit,
        )  # fmt: skip
        return [FailureRow(JobId(row[0]), *row[1:]) for row in rows]

    async def failure_counts(self, crawl: CrawlId) -> dict[str, int]:
        return dict(
            await self._rows.all(
                "SELECT code, count(*) FROM ended WHERE crawl = $1 AND state <> 0 AND state = 1"
                " GROUP BY code ORDER BY 2 DESC, 1",
                crawl,
            )
        )

    async def denied(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[DeniedRow]:
        rows = await self._rows.all(
            "SELECT d.id, d.url, d.reason, d.rule, d.value, p.url FROM denied d LEFT JOIN url p ON p.id = d.parent"
            " WHERE d.crawl = $1 AND d.id > $2 AND d.reason <> '' ORDER BY d.id LIMIT $3",
            crawl, after, limit,
        )  # fmt: skip
        return [
            DeniedRow(number, url, reason, Denial(DenialReason(reason), rule, value).message, referrer)
            for number, url, reason, rule, value, referrer in rows
        ]

    async def denied_counts(self, crawl: CrawlId) -> dict[str, int]:
        return dict(
            await self._rows.all(
                "SELECT reason, n FROM denied_count WHERE crawl = $1 AND n > 0 ORDER BY n DESC, reason", crawl
            )
        )

    async def open_of(self, crawl: CrawlId, kinds: Sequence[JobKind]) -> int:
        if not kinds:
            return 0
        classes = ", ".join(str(int(kind)) for kind in kinds)
        ((count,),) = await self._rows.all(
            "SELECT (SELECT coalesce(sum(l.tail - l.head), 0) FROM queue q JOIN lane l ON l.queue = q.id"  # noqa: S608 - integers
            f"  WHERE q.crawl = $1 AND q.class IN ({classes}))"
            " + (SELECT count(*) FROM lease l JOIN url u ON u.id = l.job"
            f"  WHERE l.crawl = $1 AND u.kind IN ({classes}))"
            " + (SELECT count(*) FROM retry r JOIN url u ON u.id = r.job"
            f"  WHERE r.crawl = $1 AND u.kind IN ({classes}))",
            crawl,
        )
        return int(count)

    async def admitted(self, crawl: CrawlId, *, after: int = 0, limit: int = 1000) -> list[tuple[JobId, str]]:
        rows = await self._rows.all(
            f"SELECT id, url FROM url WHERE {self._rows.along}crawl = $1 AND id > $2"  # noqa: S608 - a constant
            " AND flags >= 0 AND flags & 1 <> 0 ORDER BY id LIMIT $3",
            crawl, after, limit,
        )  # fmt: skip
        return [(JobId(job), url) for job, url in rows]

    async def sitemap_coverage(self, crawl: CrawlId) -> tuple[int, int]:
        ((named, crawled),) = await self._rows.all(
            "SELECT count(*), count(CASE WHEN e.state IN (0, 2) THEN 1 END)"
            " FROM url u LEFT JOIN ended e ON e.job = u.id WHERE u.crawl = $1 AND u.flags & 2 <> 0",
            crawl,
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
        return await jobs(self._rows, JobFilter(crawl, team, host, state), after=after, limit=limit)

    async def explain(self, crawl: CrawlId, keys: list[int], url: str) -> Explanation:
        return await explain(self._rows, crawl, keys, url)

    async def progress(self, crawl: CrawlId) -> Progress:
        (counts,) = await self._rows.all(
            "SELECT (SELECT open FROM crawl WHERE id = $1 AND status = 0), (SELECT"
            " coalesce(sum(active), 0) FROM queue WHERE crawl = $1),"
            " (SELECT count(*) FROM retry WHERE crawl = $1)",
            crawl,
        )
        hosts = await self._rows.all(
            "SELECT h.name, count(*) FROM lease l JOIN host h ON h.id = l.host WHERE l.crawl = $1"
            " GROUP BY h.id ORDER BY 2 DESC LIMIT 5",
            crawl,
        )
        waiting, active, retrying = (int(count or 0) for count in counts)
        return Progress(max(0, waiting - active - retrying), active, retrying, [(name, n) for name, n in hosts])

    async def hosts(self, *, limit: int = 100) -> list[HostView]:
        rows = await self._rows.all(f"{HOST} WHERE name <> '' ORDER BY active DESC, waiting DESC, id LIMIT $1", limit)
        return [host_view(row) for row in rows]

    async def workers_view(self) -> list[WorkerView]:
        return await overview.workers(self._rows)

    async def stats(self) -> Stats:
        return await overview.stats(self._rows, self._clock())

    async def prospect(self, most: int) -> Prospect:
        return await prospect(self._rows, self._clock(), most)

    async def relocation(self) -> Relocation | None:
        rows = await self._rows.all("SELECT arrived, other, at FROM relocation")
        return Relocation(bool(rows[0][0]), rows[0][1], rows[0][2]) if rows else None

    async def get_robots(self, origin: str) -> tuple[int, int, bytes] | None:
        rows = await self._rows.all("SELECT fetched_at, status, body FROM robots WHERE origin = $1", clean(origin))
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None
