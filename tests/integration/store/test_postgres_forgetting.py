"""What PostgreSQL keeps of what was deleted: nothing in its tables, once zero retention says that it is done."""

from __future__ import annotations

import asyncio

import asyncpg

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.store import NewCrawl
from perseid.store.postgres.forget import TOUCHED
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.store.desk import FREE, HOME, denied, ended, page
from perseid.testing.postgres import url_of


async def crawl(store: PgStore, uid: str, pages: int = 300) -> CrawlId:
    """A crawl under zero retention that has ended, with rows of many kinds."""
    first = tuple(page(f"{uid}/{n}") for n in range(pages))
    number = await store.start(
        NewCrawl(uid=uid, url=HOME, options=b"{}", key_seed=1, zero_retention=True, keep_variants=True, first=first)
    )
    worker = await store.register("here", 1, 1)
    while leases := (await store.step(worker, [], 50, crawl=number)).leases:
        refused = [denied(f"https://x.example/{uid}/{n}") for n in range(3)]
        await store.step(worker, [ended(lease, denied=refused) for lease in leases], 0)
    await store.blobs.put(f"{number}/1/document", b"x" * 3_000_000)
    await store.blobs.delete_prefix(str(number))
    while await store.sweep():
        pass
    assert (await store.crawl(uid)).status is CrawlStatus.COMPLETED
    return number


async def dead_rows(name: str) -> dict[str, int]:
    """As they lie on the tables' pages, those of what is stored beside a table too."""
    connection = await asyncpg.connect(url_of(name, admin=True))
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS pgstattuple")
        found = await connection.fetch(
            "SELECT c.relname, (pgstattuple(c.oid)).dead_tuple_count FROM pg_class t JOIN pg_class c"
            " ON c.oid IN (t.oid, t.reltoastrelid) WHERE t.relname = ANY ($1::text[]) AND t.relkind = 'r'",
            list(TOUCHED),
        )
        await connection.execute("DROP EXTENSION pgstattuple")
    finally:
        await connection.close()
    return {table: rows for table, rows in found if rows}


async def test_no_dead_row_is_left_of_what_was_erased(store: PgStore, name: str) -> None:
    number = await crawl(store, "one")
    assert await dead_rows(name) != {}
    assert await store.erase(number)
    left = await dead_rows(name)
    left.pop("erasure", None)  # its last row, which is a number and a time
    assert left == {}


async def test_it_is_not_done_while_a_snapshot_of_others_holds_what_is_to_go(store: PgStore, name: str) -> None:
    number = await crawl(store, "one")
    other = await asyncpg.connect(url_of(name))
    snapshot = other.transaction(isolation="repeatable_read", readonly=True)
    await snapshot.start()
    assert await other.fetchval("SELECT count(*) FROM url") == 300
    assert not await store.erase(number)
    assert await store.documents(number) == []
    assert await dead_rows(name) != {}
    await snapshot.rollback()
    await other.close()
    assert await store.erase(number)
    assert not (await dead_rows(name)).keys() - {"erasure"}


async def test_others_work_while_a_crawl_is_erased(store: PgStore, name: str) -> None:
    doomed = [await crawl(store, f"doomed {n}", 200) for n in range(3)]
    second = await PgStore.open(url_of(name), defaults=FREE)
    try:
        erasing = asyncio.create_task(store.erase(*doomed))
        pruning = asyncio.create_task(second.prune(ended_before_us=2**62))
        worker = await second.register("here", 2, 2)
        first = tuple(page(f"https://alive.example/{n}") for n in range(200))
        alive = await second.start(NewCrawl(uid="alive", url=HOME, options=b"{}", key_seed=1, first=first))
        while leases := (await second.step(worker, [], 20, crawl=alive)).leases:
            await second.step(worker, [ended(lease) for lease in leases], 0)
        assert (await second.crawl("alive")).counts.done == 200
        await pruning
        await erasing
        assert store.clashes == second.clashes == {}
        while not await store.erase(*doomed):
            pass
        assert await store.erasures() == []
        assert await store.audit() == []
    finally:
        await second.close()


async def test_a_large_crawl_is_pruned_in_time_though_a_snapshot_keeps_its_rows(store: PgStore, name: str) -> None:
    """Each round passes the deleted rows of those before it, which can't be cleared away yet."""
    number = await crawl(store, "large", 10)
    connection = await asyncpg.connect(url_of(name))
    other = await asyncpg.connect(url_of(name))
    await connection.execute(
        "INSERT INTO url (id, crawl, key, kind, depth, flags, url) SELECT 1000000 + g, $1, g, 2, 0, 0, 'u' || g"
        " FROM generate_series(1, 120000) g",
        number,
    )
    snapshot = other.transaction(isolation="repeatable_read", readonly=True)
    await snapshot.start()
    assert await other.fetchval("SELECT count(*) FROM url") == 120_010
    async with asyncio.timeout(30):
        assert await store.prune(ended_before_us=2**62) == [number]
    await snapshot.rollback()
    await other.close()
    await connection.close()
