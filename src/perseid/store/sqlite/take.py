"""A page that somebody waits for: its crawl begins and its one job is claimed at once, without ever standing in line.

Such a job has neither queue nor lane until it must wait after all; then it gets both, like any other.
"""

from __future__ import annotations

from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.terms import EventKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import Lease, NewUrl
from perseid.store.lease import lease_of
from perseid.store.schema import BY_SITEMAP, COUNTED
from perseid.store.sqlite import gates
from perseid.store.sqlite.claim import host_room
from perseid.store.sqlite.start import insert_row, start
from perseid.store.sqlite.tx import Tx
from perseid.store.text import cleaned


def take(tx: Tx, new: NewCrawl, worker: WorkerId, lease_us: int) -> tuple[CrawlId, Lease | None]:
    """Start `new` and claim its job, if every gate has room and nobody waits at its host. Raises `KeyUsed`."""
    alive = tx.one("SELECT 1 FROM worker WHERE id = ?", (worker,)) is not None
    if alive and new.kind is CrawlKind.SCRAPE and len(new.first) == 1 and new.limit is None:
        url = cleaned(new.first[0])
        host = _host(tx, url.host) if gates.know_team(tx, new.team) > 0 else None
        if host is not None:
            return _lease(tx, new, url, host, (worker, lease_us))
    return start(tx, new), None


def _host(tx: Tx, name: str) -> tuple[int, int, int, int] | None:
    """A slot at this host: its row's number, gap, privacy and back-offs; None where it has no room now."""
    ask = "SELECT id, gap, private, backoffs, waiting, gave_up_at FROM host WHERE name = ?"
    row = tx.one(ask, (name,))
    if row is None or row[3] or row[5]:
        gates.trust_again(tx, gates.host_ids(tx, (name,)).values())
        row = tx.one(ask, (name,))
    assert row is not None
    host, gap, private, backoffs, waiting, _gave_up_at = row
    return (host, gap, private, backoffs) if not waiting and host_room(tx, host, 1) > 0 else None


def _lease(
    tx: Tx, new: NewCrawl, url: NewUrl, place: tuple[int, int, int, int], taker: tuple[WorkerId, int]
) -> tuple[CrawlId, Lease]:
    """Write the crawl, its job and the lease."""
    host, gap, private, backoffs = place
    worker, lease_us = taker
    crawl = insert_row(tx, new, url)
    if new.events and (row := tx.crawl(crawl)) is not None:
        tx.tell(row, EventKind.STARTED)
    job = tx.take_job_ids(1)
    flags = COUNTED * url.counted | BY_SITEMAP * url.sitemap
    lease = lease_of(
        (
            job, crawl, tx.random.getrandbits(62), url.kind, url.url, job, url.depth, 0, 0, flags, url.payload, b"",
            url.host, gap, private, backoffs, tx.now + lease_us,
        )
    )  # fmt: skip
    tx.execute(
        "INSERT INTO url (id, crawl, key, host, lane, kind, depth, flags, url, payload)"
        " VALUES (?1, ?2, ?1, ?3, 0, ?4, ?5, ?6, ?7, ?8)",
        (job, crawl, host, int(url.kind), url.depth, flags, url.url, url.payload),
    )
    tx.execute(
        "INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)"
        " VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?, ?)",
        (job, crawl, lease.lock, worker, host, new.team, tx.now, lease.expires_at),
    )
    gates.charge_team(tx, new.team, 1)
    return crawl, lease
