"""How crawls begin: their row, their key, and their first jobs in line."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.errors import KeyUsed, StoreError
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.model.terms import EventKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl
from perseid.store.quota import wanted
from perseid.store.schema import clean
from perseid.store.sqlite import gates
from perseid.store.sqlite.admit import Found, admit
from perseid.store.sqlite.quota import afford
from perseid.store.sqlite.tx import CrawlRow, Tx
from perseid.store.text import cleaned

_COLUMNS = (
    "uid", "team", "kind", "url", "key_seed", "max_pages", "max_depth", "keep_variants", "max_denied", "max_sitemaps",
    "max_active", "gap", "created_at", "ttl", "deadline", "deadline_at", "events", "erase", "terms", "options", "swept",
    "open", "discovered", "sitemap_urls", "priority",
)  # fmt: skip
_INSERT = (
    f"INSERT INTO crawl ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - constants
    " ON CONFLICT (uid) DO NOTHING RETURNING id"
)


def start(tx: Tx, new: NewCrawl) -> CrawlId:
    """Write the crawl and put its first jobs in line. Raises `KeyUsed`."""
    gates.know_team(tx, new.team)
    crawl = insert(tx, new)
    if new.delay_us and new.kind.follows_links:
        # Its pause runs from the end of the start page, when none of its pages may be known yet.
        gates.queue_id(tx, crawl, JobKind.PAGE)
    line_up(tx, crawl, new.first)
    return CrawlId(crawl.id)


def line_up(tx: Tx, crawl: CrawlRow, urls: Sequence[NewUrl]) -> int:
    """Admit what the caller named, at hosts that are trusted anew for it; the number admitted."""
    shy = any(url.kind is JobKind.KICKOFF for url in urls)
    gates.trust_again(tx, gates.host_ids(tx, (clean(url.host) for url in urls), shy=shy).values())
    admitted = admit(tx, crawl, [Found(cleaned(url), None, url.depth) for url in urls])
    crawl.dirty = True
    return admitted


def insert(tx: Tx, new: NewCrawl) -> CrawlRow:
    """The crawl's own row. Raises `KeyUsed`."""
    crawl = tx.crawl(insert_row(tx, new))
    assert crawl is not None
    tx.tell(crawl, EventKind.STARTED)
    return crawl


def insert_row(tx: Tx, new: NewCrawl, only: NewUrl | None = None) -> CrawlId:
    """The crawl's own row, `swept` until a queue is made for it; with the counters of its `only` job.

    Raises `KeyUsed`, `QuotaExceeded`.
    """
    afford(tx, new.team, wanted(new))
    deadline = None if new.deadline_us is None else tx.now + new.deadline_us
    values = (
        new.uid, new.team, new.kind.value, clean(new.url), new.key_seed, new.limit, new.max_discovery_depth,
        int(new.keep_variants), new.max_denied, new.max_sitemap_files, new.max_concurrency, new.delay_us, tx.now,
        new.ttl_us, new.deadline_us, deadline, new.events, int(new.zero_retention), new.terms, new.options, 1,
        int(only is not None), int(only is not None and only.counted), int(only is not None and only.sitemap),
        min(9, max(0, new.priority)),
    )  # fmt: skip
    row = tx.one(_INSERT, values)
    if row is None:
        raise StoreError(f"a crawl with the id {new.uid} exists already; ids are used once")
    if new.idempotency_key is not None:
        _use_key(tx, new.team, new.idempotency_key, row[0])
    return CrawlId(row[0])


def _use_key(tx: Tx, team: int, key: str, crawl: int) -> None:
    taken = "INSERT INTO idempotency (team, key, crawl) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING crawl"
    if tx.one(taken, (team, clean(key), crawl)) is None:
        raise KeyUsed(f"a crawl was started under the idempotency key {key!r} before; use each key once")
