"""Pages that somebody waits for: their crawls begin and their one job is claimed at once, without standing in line.

Such a job has neither queue nor lane until it must wait after all; then it gets both, like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from perseid.errors import PerseidError
from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.terms import EventKind
from perseid.ports.work import NewUrl
from perseid.store.lease import lease_of
from perseid.store.order import Order, Taken
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.quota import hold
from perseid.store.postgres.start import insert_row, know_team, line_up, meet, start
from perseid.store.postgres.tx import PgTx
from perseid.store.schema import BY_SITEMAP, COUNTED
from perseid.store.text import cleaned


async def take_all(tx: PgTx, orders: Sequence[Order]) -> None:
    """Carry out these orders; one that can't be is told why, and harms none beside it.

    What others may be waited for comes first: their workers, teams, hosts, then the keys of crawls in one order, then
    the gates in that of all transactions.
    """
    # Under a worker that is being reaped nothing may be claimed: whoever reaps waits for us, or we for him.
    alive = await _alive(tx, [order.worker for order in orders])
    hosts = await meet(tx, [url for order in orders for url in order.new.first])
    for team in sorted({order.new.team for order in orders}):
        await know_team(tx, team)
    await hold(tx, [order.new.team for order in orders])
    begun: list[tuple[Order, NewUrl, CrawlId]] = []
    rest: list[Order] = []
    for order in sorted(orders, key=_by_key):
        if order.worker not in alive or not _is_single(order):
            rest.append(order)
            continue
        url = cleaned(order.new.first[0])
        if (crawl := await _begin(tx, order, url, alone=len(orders) == 1)) is not None:
            begun.append((order, url, crawl))
    numbers = [hosts[order.new.first[0].host] for order, _url, _crawl in begun]
    await tx.all("SELECT 1 FROM host WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE", numbers)
    teams = [order.new.team for order, _url, _crawl in begun]
    await tx.all("SELECT 1 FROM team WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE", teams)
    for order, url, crawl in begun:
        order.taken = await _take(tx, order, url, crawl, hosts)
    for order in rest:
        await _start(tx, order, alone=len(orders) == 1)


def _by_key(order: Order) -> tuple[int, str, str]:
    return order.new.team, order.new.idempotency_key or "", order.new.uid


def _is_single(order: Order) -> bool:
    new = order.new
    return new.kind is CrawlKind.SCRAPE and len(new.first) == 1 and new.limit is None


async def _alive(tx: PgTx, workers: Sequence[WorkerId]) -> set[WorkerId]:
    rows = await tx.all("SELECT id FROM worker WHERE id = ANY ($1) ORDER BY id FOR KEY SHARE", sorted(set(workers)))
    return {WorkerId(row[0]) for row in rows}


async def _begin(tx: PgTx, order: Order, url: NewUrl, *, alone: bool) -> CrawlId | None:
    """Write the crawl, as if its job were running already; None where that is refused."""
    if not alone:
        await tx.execute("SAVEPOINT one")
    try:
        crawl = await insert_row(tx, order.new, url)
        if order.new.events:
            await tx.execute("SELECT post_v1($1, $2, $3)", tx.now, crawl, int(EventKind.STARTED))
    except PerseidError as error:
        order.error = error
        if alone:
            raise
        await tx.execute("ROLLBACK TO one")
        return None
    if not alone:
        await tx.execute("RELEASE one")
    return crawl


async def _start(tx: PgTx, order: Order, *, alone: bool) -> None:
    """Like any other crawl: nobody may take it at once."""
    await tx.execute("SAVEPOINT one")
    try:
        order.taken = await start(tx, order.new), None
    except PerseidError as error:
        order.error = error
        if alone:
            raise
        await tx.execute("ROLLBACK TO one")
    await tx.execute("RELEASE one")


async def _take(tx: PgTx, order: Order, url: NewUrl, crawl: CrawlId, hosts: dict[str, int]) -> Taken:
    """The lease, where every gate has room; else the job gets in line."""
    new = order.new
    host = order.new.first[0].host
    flags = COUNTED * url.counted | BY_SITEMAP * url.sitemap
    row = await tx.one(
        "SELECT * FROM take_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        crawl, new.team, hosts[host], order.worker, order.lease_us, int(url.kind), url.depth,
        flags, url.url, url.payload, tx.now, tx.settings,
    )  # fmt: skip
    if row is None:
        nature = Nature(crawl, new.kind.value, new.max_discovery_depth, new.keep_variants)
        await line_up(tx, nature, new.first, {host: hosts[host]})
        await tx.execute("SELECT settle_v1($1, $2, $3, '{}', '{}')", tx.now, tx.settings, [crawl])
        return crawl, None
    job, lock, gap, private, backoffs = row
    return crawl, lease_of(
        (
            job, crawl, lock, url.kind, url.url, job, url.depth, 0, 0, flags, url.payload, b"", url.host, gap, private,
            backoffs, tx.now + order.lease_us,
        )
    )  # fmt: skip
