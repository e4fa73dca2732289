"""What a store on PostgreSQL does when the server is away, strange, or behind a pooler; and how workers hear of work."""

from __future__ import annotations

import asyncio
import contextlib
import time

import asyncpg
import pytest

from perseid.errors import ConfigError, StoreError, StoreUnavailable
from perseid.model.crawl import CrawlStatus
from perseid.ports.store import NewCrawl
from perseid.store.postgres.connection import address_of
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.store.desk import FREE, ended, page
from perseid.testing.postgres import url_of

FIRST = page("https://h.example/1")
NEW = NewCrawl(uid="c", url=FIRST.url, options=b"", key_seed=1, first=(FIRST,))


async def crawl_whole(store: PgStore) -> None:
    await store.start(NEW)
    worker = await store.register("here", 1, 1)
    leases = (await store.step(worker, [], 1)).leases
    for links in (("https://h.example/2", "https://i.example/3"), ()):
        leases = (await store.step(worker, [ended(lease, *links) for lease in leases], 5)).leases
    assert (await store.crawl("c")).status is CrawlStatus.COMPLETED
    assert await store.audit() == []


async def throw_out(name: str) -> None:
    """End every connection to this database, as a restart of the server does."""
    connection = await asyncpg.connect(url_of(name, admin=True))
    await connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    await connection.close()


@pytest.mark.parametrize("url", ["postgresql://u:secret@127.0.0.1:1/db", "postgresql://u:secret@no.invalid/db"])
async def test_a_server_that_is_away_is_named_without_its_password(url: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await PgStore.open(url)
    assert "database db on " in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_database_that_is_not_there_is_no_matter_of_waiting(name: str) -> None:
    with pytest.raises(StoreError, match="perseid_none") as caught:
        await PgStore.open(url_of("perseid_none"))
    assert not caught.value.retryable


@pytest.mark.parametrize("url", ["mysql://h/d", "postgresql://h:x/d"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="postgresql://"):
        address_of(url)


async def test_a_database_of_a_newer_release_is_left_alone(name: str) -> None:
    await (await PgStore.open(url_of(name))).close()
    connection = await asyncpg.connect(url_of(name))
    try:
        await connection.execute("INSERT INTO perseid_schema (version) VALUES (1000)")
        with pytest.raises(StoreError, match="newer Perseid"):
            await PgStore.open(url_of(name))
    finally:
        await connection.execute("DELETE FROM perseid_schema WHERE version = 1000")
        await connection.close()


async def test_many_processes_may_open_a_new_database_at_once(name: str) -> None:
    connection = await asyncpg.connect(url_of(name))
    await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await connection.close()
    stores = await asyncio.gather(*(PgStore.open(url_of(name)) for _ in range(5)))
    await crawl_whole(stores[0])
    for store in stores:
        await store.close()


async def test_a_lost_connection_costs_one_call_at_most(name: str) -> None:
    store = await PgStore.open(url_of(name), defaults=FREE, connections=2)
    await store.crawls()
    await throw_out(name)
    with contextlib.suppress(StoreUnavailable):
        await store.crawls()
    await crawl_whole(store)
    await store.close()


async def test_behind_a_pooler_nothing_is_kept_in_a_session(name: str) -> None:
    """Transactions go to whichever server connection is free: here to a new one each time."""
    store = await PgStore.open(f"{url_of(name)}?pooled=1", defaults=FREE, connections=2)
    connection = await asyncpg.connect(url_of(name))
    await crawl_whole(store)
    kept = await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perseid'")
    assert kept > 0
    async with store._pool.acquire() as theirs:
        assert await theirs.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''") == 0
        for setting in ("synchronous_commit", "enable_seqscan", "plan_cache_mode"):
            now, source = await theirs.fetchrow("SELECT setting, source FROM pg_settings WHERE name = $1", setting)
            assert source != "session", f"{setting} is {now}"
    await asyncio.wait_for(store.listen(lambda: None), 5)
    await connection.close()
    await store.close()


async def test_work_is_told_to_others_once_however_much_came_in(name: str) -> None:
    here, there = await PgStore.open(url_of(name), defaults=FREE), await PgStore.open(url_of(name), defaults=FREE)
    heard: list[float] = []
    told = asyncio.Event()

    def hear() -> None:
        heard.append(time.monotonic())
        told.set()

    listening = asyncio.create_task(there.listen(hear))
    await asyncio.wait_for(told.wait(), 10)  # of what may have come in before
    told.clear()
    for n in range(30):
        await here.start(NewCrawl(uid=f"c{n}", url=FIRST.url, options=b"", key_seed=1, first=(FIRST,)))
    await asyncio.wait_for(told.wait(), 10)
    await asyncio.sleep(0.1)
    assert 2 <= len(heard) <= 31
    told.clear()
    await throw_out(name)
    await asyncio.wait_for(told.wait(), 20)  # it hears again by itself, and says that it was deaf
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    await here.close()
    await there.close()


async def test_machines_agree_on_the_time_whatever_their_clocks_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = await PgStore.open(url_of(name), defaults=FREE)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    there = await PgStore.open(url_of(name), defaults=FREE)
    worker = await here.register("here", 1, 1)
    await there.start(NEW)
    (lease,) = (await here.step(worker, [], 1, lease_us=60_000_000)).leases
    connection = await asyncpg.connect(url_of(name))
    now: int = await connection.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
    await connection.close()
    assert abs(lease.expires_at - 60_000_000 - now) < 5_000_000
    assert await there.reap([]) == 0
    await here.close()
    await there.close()
