"""One write transaction in progress: its clock, the rows it holds in memory, the slots it has freed.

What many statements of one step would update again and again (crawl counters, slots, the gate row)
is gathered here and written once by `flush`.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, fields

from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.terms import EventKind
from perseid.ports.store import HostDefaults
from perseid.store.schema import ERASED_AFTER_US
from perseid.store.seen import Learnt, Memory
from perseid.store.sqlite.connection import Connection, Row
from perseid.store.sqlite.post import News, post
from perseid.store.sqlite.usage import count_pages

SCRAPING = int(CrawlStatus.SCRAPING)
_LAST_EVENT = {
    CrawlStatus.COMPLETED: EventKind.COMPLETED,
    CrawlStatus.FAILED: EventKind.FAILED,
    CrawlStatus.CANCELLED: EventKind.CANCELLED,
}


@dataclass(slots=True)
class CrawlRow:
    """The mutable part of a crawl's row, loaded on first use and written back once."""

    id: int
    team: int
    kind: str
    key_seed: int
    status: int
    max_pages: int | None
    max_depth: int | None
    keep_variants: int
    max_denied: int
    max_sitemaps: int
    open: int
    discovered: int
    done: int
    failed: int
    duplicate: int
    denied: int
    cancelled: int
    documents: int
    superseded: int
    refused: int
    refused_beyond: int
    sitemap_files: int
    sitemap_urls: int
    ended_at: int | None
    swept: int
    events: int
    erase: int
    note: bytes
    refusals: Counter[str] = field(default_factory=Counter)
    dirty: bool = False

    @property
    def running(self) -> bool:
        return self.status == SCRAPING

    @property
    def is_batch(self) -> bool:
        return CrawlKind(self.kind).lists_pages

    @property
    def follows_links(self) -> bool:
        return CrawlKind(self.kind).follows_links

    @property
    def is_map(self) -> bool:
        """Its pages are listed, not fetched: they have a row each, and wait nowhere."""
        return self.kind == CrawlKind.MAP


_COLUMNS = tuple(f.name for f in fields(CrawlRow) if f.name not in {"refusals", "dirty"})
_WRITTEN = (
    "status", "open", "discovered", "done", "failed", "duplicate", "denied", "cancelled", "documents", "superseded",
    "refused", "refused_beyond", "sitemap_files", "sitemap_urls", "ended_at", "swept", "note",
)  # fmt: skip
_LOAD_CRAWL = f"SELECT {', '.join(_COLUMNS)} FROM crawl WHERE id = ?"  # noqa: S608 - column names are constants
_WRITE_CRAWL = f"UPDATE crawl SET {', '.join(f'{name} = ?' for name in _WRITTEN)} WHERE id = ?"  # noqa: S608 - constants


class Tx:
    """State of one transaction; every function of the sibling modules takes it first."""

    def __init__(self, connection: Connection, now: int, defaults: HostDefaults, memory: Memory) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.executemany = connection.executemany
        self.now = now
        self.defaults = defaults
        self.memory = memory
        self.random = random.SystemRandom()
        self.freed_hosts: Counter[int] = Counter()
        self.freed_queues: Counter[int] = Counter()
        self.freed_teams: Counter[int] = Counter()
        self.stirred_teams: set[int] = set()
        """Something may have become claimable there."""
        self.learnt = Learnt()
        self.used: Counter[int] = Counter()
        """Pages stored, by team."""
        self.completed: list[CrawlId] = []
        self._news: list[News] = []
        self._crawls: dict[int, CrawlRow | None] = {}
        row = self.one("SELECT next_job, turn, global_open FROM gate WHERE id = 1")
        assert row is not None
        self._gate = row
        self.next_job, self.turn, self.global_open = row

    def one(self, statement: str, bindings: tuple[object, ...] = ()) -> Row | None:
        row: Row | None = self.execute(statement, bindings).fetchone()
        return row

    def all(self, statement: str, bindings: tuple[object, ...] = ()) -> list[Row]:
        return list(self.execute(statement, bindings))

    def crawl(self, crawl: int) -> CrawlRow | None:
        """The crawl's row, or None once it was pruned."""
        if crawl not in self._crawls:
            row = self.one(_LOAD_CRAWL, (crawl,))
            self._crawls[crawl] = CrawlRow(*row) if row else None
        return self._crawls[crawl]

    def changed(self) -> list[CrawlRow]:
        """Rows that are otherwise in memory than in the database so far."""
        return [crawl for crawl in self._crawls.values() if crawl is not None and crawl.dirty]

    def tell(self, crawl: CrawlRow, kind: EventKind, job: int | None = None) -> None:
        """It happened: an event for the outbox, where somebody wants to be told of its kind."""
        if crawl.events & kind:
            self._news.append(News(crawl.id, kind, job))

    def take_job_ids(self, count: int) -> int:
        """Reserve `count` consecutive job numbers; the first of them."""
        first: int = self.next_job
        self.next_job += count
        return first

    def free(self, *, host: int, queue: int, team: int) -> None:
        self.freed_hosts[host] += 1
        self.freed_teams[team] += 1
        if queue:
            self.freed_queues[queue] += 1

    def release_slots(self) -> None:
        """Write the slots freed so far, so that claims of the same transaction can use them."""
        if self.freed_hosts:
            self.executemany(
                "UPDATE host SET active = active - ? WHERE id = ?",
                [(count, key) for key, count in sorted(self.freed_hosts.items())],
            )
            self.freed_hosts.clear()
        if self.freed_teams:
            self.executemany(
                "UPDATE team SET active = active - ? WHERE id = ?",
                [(count, key) for key, count in sorted(self.freed_teams.items())],
            )
            self.stirred_teams.update(self.freed_teams)
            self.freed_teams.clear()
        if self.freed_queues:
            # A crawl's own delay runs from the end of a page to the beginning of the next.
            self.executemany(
                "UPDATE queue SET active = active - ?, next_at = CASE WHEN gap > 0 THEN ? + gap ELSE next_at END"
                " WHERE id = ?",
                [(count, self.now, key) for key, count in sorted(self.freed_queues.items())],
            )
            self.freed_queues.clear()

    def stir_teams(self) -> None:
        """Teams in which something may have become claimable take part again, from the present turn on."""
        if self.stirred_teams:
            self.executemany(
                "UPDATE team SET ready = 1, turn = max(turn, ?) WHERE id = ? AND ready = 0",
                [(self.turn, team) for team in sorted(self.stirred_teams)],
            )
            self.stirred_teams.clear()

    def flush(self) -> None:
        """Write everything gathered; a crawl with no open job left is completed here and nowhere else."""
        self.release_slots()
        self.stir_teams()
        for crawl in self._crawls.values():
            if crawl is None or not crawl.dirty:
                continue
            if crawl.running and crawl.open == 0:
                self.end(crawl, CrawlStatus.COMPLETED)
            self.execute(_WRITE_CRAWL, (*(getattr(crawl, name) for name in _WRITTEN), crawl.id))
            if crawl.refusals:
                self.executemany(
                    "INSERT INTO denied_count (crawl, reason, n) VALUES (?, ?, ?)"
                    " ON CONFLICT (crawl, reason) DO UPDATE SET n = n + excluded.n",
                    [(crawl.id, reason, count) for reason, count in crawl.refusals.items() if count],
                )
        if self._news:
            post(self.connection, self.now, self._news)
        if self.used:
            count_pages(self.connection, self.now, self.used)
        gate = (self.next_job, self.turn, self.global_open)
        if gate != self._gate:
            self.execute("UPDATE gate SET next_job = ?, turn = ?, global_open = ? WHERE id = 1", gate)

    def end(self, crawl: CrawlRow, status: CrawlStatus) -> None:
        """The crawl ends now: its queues take no further part."""
        crawl.status = int(status)
        crawl.ended_at = self.now
        self.tell(crawl, _LAST_EVENT[status])
        if crawl.erase:
            self.execute("INSERT OR REPLACE INTO erasure VALUES (?, ?)", (crawl.id, self.now + ERASED_AFTER_US))
        crawl.dirty = True
        if status is CrawlStatus.COMPLETED:
            self.completed.append(CrawlId(crawl.id))
        else:
            crawl.swept = 0  # something of it may run yet
        if not crawl.swept:
            self.execute("UPDATE queue SET closed = 1 WHERE crawl = ?", (crawl.id,))

    def committed(self) -> None:
        """Called after the commit: what is now surely in the database may be remembered."""
        self.learnt.enter(self.memory)
