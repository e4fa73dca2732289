"""Claims on PostgreSQL by several processes at once: no limit is exceeded, no job is lost or run twice, nobody deadlocks."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.queues import Queue
from typing import Any

import asyncpg
import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId, JobId, WorkerId
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Again, Finished, Lease
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.store.desk import FREE, ended, page
from perseid.testing.postgres import url_of

TIGHT = HostDefaults(max_active=3, interval_us=0, global_interval_us=0)
PROCESSES = 4
HOSTS = 7
CRAWLS = 12
PAGES = 150
"""Links lead from page n of a crawl to 2n and 2n + 1, up to this many."""
_LIMITS = """
ALTER TABLE host  ADD CONSTRAINT host_limit  CHECK (active BETWEEN 0 AND max_active);
ALTER TABLE queue ADD CONSTRAINT queue_limit CHECK (active BETWEEN 0 AND max_active);
ALTER TABLE team  ADD CONSTRAINT team_limit  CHECK (active BETWEEN 0 AND max_active);
"""
_NO_LIMITS = """
ALTER TABLE host  DROP CONSTRAINT host_limit;
ALTER TABLE queue DROP CONSTRAINT queue_limit;
ALTER TABLE team  DROP CONSTRAINT team_limit;
"""


@pytest.fixture
async def url(name: str) -> str:
    return url_of(name)


@asynccontextmanager
async def opened(url: str, defaults: HostDefaults = FREE) -> AsyncIterator[tuple[PgStore, asyncpg.Connection]]:
    """One process's way in, over a single connection, and one behind its back."""
    store = await PgStore.open(url, defaults=defaults, connections=1)
    connection = await asyncpg.connect(url)
    try:
        yield store, connection
    finally:
        await connection.close()
        await store.close()


async def begin(store: PgStore, number: int, *pages: str, **fields: Any) -> CrawlId:
    first = tuple(page(address) for address in pages or (f"https://h{number % HOSTS}.example/1",))
    new = {"uid": f"c{number}", "url": first[0].url, "options": b"{}", "key_seed": 7, "first": first, **fields}
    return await store.start(NewCrawl(**new))


# --- one of several processes ---


def _links(lease: Lease) -> list[str]:
    number = int(lease.url.rpartition("/")[2])
    return [f"https://h{(lease.crawl + n) % HOSTS}.example/{n}" for n in (2 * number, 2 * number + 1) if n <= PAGES]


async def _work(url: str, seed: int) -> tuple[list[JobId], Counter[str]]:
    chance = random.Random(seed)
    store = await PgStore.open(url, defaults=TIGHT)
    worker = await store.register("here", seed, 1)
    ran: list[JobId] = []
    held: list[Lease] = []
    idle = 0
    while idle < 40:
        chance.shuffle(held)
        cut = chance.randint(min(1, len(held)), len(held))
        finished: list[Finished] = []
        for lease in held[:cut]:
            if lease.attempts == 0 and chance.random() < 0.05:
                finished.append(ended(lease, end=Again(attempted=True, delay_us=chance.choice([0, 20_000]))))
            else:
                finished.append(ended(lease, *_links(lease)))
                ran.append(lease.job)
        result = await store.step(worker, finished, chance.randint(1, 12))
        assert all(result.kept), "a lease was lost that nobody took"
        held = held[cut:] + result.leases
        idle = 0 if held else idle + 1
        if not held:
            await asyncio.sleep(0.01)
    clashes = store.clashes
    await store.close()
    return ran, clashes


def _process(url: str, seed: int, outcome: Queue[Any]) -> None:
    try:
        outcome.put(asyncio.run(_work(url, seed)))
    except BaseException as error:
        outcome.put(repr(error))
        raise


async def in_processes(url: str, count: int) -> list[tuple[list[JobId], Counter[str]]]:
    context = multiprocessing.get_context("spawn")
    outcome: Queue[Any] = context.Queue()
    processes = [context.Process(target=_process, args=(url, seed, outcome)) for seed in range(count)]
    for process in processes:
        process.start()
    try:
        found = [await asyncio.to_thread(outcome.get, True, 120) for _ in processes]
    finally:
        for process in processes:
            process.join(5)
            process.kill()
    failures = [each for each in found if isinstance(each, str)]
    assert failures == []
    return found


async def test_limits_hold_at_every_instant_and_each_job_runs_once(url: str) -> None:
    """The database itself refuses a row over its limit, so not even a glimpse of one is possible."""
    async with opened(url, TIGHT) as (store, connection):
        await connection.execute(_LIMITS)
        try:
            for team, most in ((1, 5), (2, 7), (3, None)):
                await store.set_team_limit(team, most)
            crawls = [
                await begin(store, n, team=1 + n % 3, max_concurrency=(None, 1, 2, 4)[n % 4]) for n in range(CRAWLS)
            ]
            before = await connection.fetchval(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            )
            found = await in_processes(url, PROCESSES)
            runs = Counter(job for ran, _clashes in found for job in ran)
            assert set(runs.values()) == {1}, "a job ran twice"
            assert len(runs) == CRAWLS * PAGES
            assert sum((clashes for _ran, clashes in found), Counter()) == Counter()
            assert await store.unpark() == 0
            assert await store.audit() == []
            for number, crawl in enumerate(crawls):
                seen = await store.crawl(f"c{number}")
                assert (seen.id, seen.status, seen.counts.done) == (crawl, CrawlStatus.COMPLETED, PAGES)
            after = await connection.fetchval(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            )
            assert after == before
            assert min(len(ran) for ran, _clashes in found) > 0, "a process did nothing"
        finally:
            await connection.execute(_NO_LIMITS)


async def test_a_lone_claim_waits_for_a_row_that_is_locked(url: str) -> None:
    async with opened(url) as (store, connection):
        worker = await store.register("here", 1, 1)
        for table in ("team", "queue", "host"):
            await begin(store, len(table) * 100 + ord(table[0]), f"https://{table}.example/")
            holding = connection.transaction()
            await holding.start()
            await connection.fetch(f"SELECT 1 FROM {table} FOR NO KEY UPDATE")
            asked = asyncio.create_task(store.step(worker, [], 1))
            done, _pending = await asyncio.wait([asked], timeout=0.2)
            assert not done, f"it should wait for the {table}"
            await holding.rollback()
            (lease,) = (await asked).leases
            await store.step(worker, [ended(lease)], 0)


async def test_a_claim_goes_around_what_is_locked(url: str) -> None:
    async with opened(url) as (store, connection):
        worker = await store.register("here", 1, 1)
        locked = await begin(store, 1, "https://locked.example/")
        other = await begin(store, 2, "https://other.example/")
        async with connection.transaction():
            await connection.fetch("SELECT 1 FROM queue WHERE crawl = $1 FOR NO KEY UPDATE", locked)
            result = await asyncio.wait_for(store.step(worker, [], 5), 10)
            assert [lease.crawl for lease in result.leases] == [other]
        assert [lease.crawl for lease in (await store.step(worker, [], 5)).leases] == [locked]


async def test_nothing_is_claimed_under_a_worker_that_is_being_reaped(url: str) -> None:
    async with opened(url) as (store, connection):
        worker = await store.register("here", 1, 1)
        await begin(store, 1)
        async with connection.transaction():
            await connection.execute("DELETE FROM worker WHERE id = $1", worker)
            result = await asyncio.wait_for(store.step(worker, [], 5), 10)
            assert result.leases == []


async def test_all_processes_share_the_rate_of_all_hosts(url: str) -> None:
    rate = HostDefaults(interval_us=0, global_interval_us=200_000, global_burst=5)
    async with opened(url, rate) as (store, _connection), opened(url, rate) as (twin, _other):
        workers = [await side.register("here", 1, 1) for side in (store, twin)]
        await begin(store, 1, *(f"https://h{n}.example/" for n in range(60)))
        loop = asyncio.get_running_loop()
        started, claimed = loop.time(), 0
        while claimed < 15:
            both = [side.step(worker, [], 3) for side, worker in zip((store, twin), workers, strict=True)]
            claimed += sum(len(result.leases) for result in await asyncio.gather(*both))
            assert claimed <= 5 + 1 + (loop.time() - started) / 0.2
            await asyncio.sleep(0.01)


async def test_claims_on_one_connection_keep_their_plans_while_the_database_grows(url: str) -> None:
    """What was planned on empty tables must not read a table of thousands from end to end."""
    async with opened(url) as (store, connection):
        worker = await store.register("here", 1, 1)
        await begin(store, 0)
        for _ in range(10):
            await store.step(worker, [ended(lease) for lease in (await store.step(worker, [], 1)).leases], 0)
        for number in range(1, 6):
            await begin(store, number, *(f"https://h{n % 900}.example/{n}" for n in range(4_000)))
        before = await _read(store, connection)
        leases: list[Lease] = []
        for _ in range(50):
            leases = (await store.step(worker, [ended(lease) for lease in leases], 7)).leases
            assert len(leases) == 7
        after = await _read(store, connection)
        looked_at = after - before
        assert looked_at.pop("lane_ready") <= 50 * 4 * 256, "of each queue served no more than one shelf"
        # Rows of a few are read again with each of their versions; it is to be none of the thousands that wait.
        assert looked_at["url_waiting"] + looked_at["url_pkey"] < 4_000, looked_at
        assert max(looked_at.values()) < 20_000, looked_at


async def _read(store: PgStore, connection: asyncpg.Connection) -> Counter[str]:
    """Rows and index entries that were looked at, by table and by index."""
    await asyncio.sleep(1.1)
    await store.workers()  # a server process tells its figures at the end of a statement, once a second
    rows = await connection.fetch(
        "SELECT relname, seq_tup_read FROM pg_stat_user_tables UNION ALL"
        " SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes"
    )
    return Counter(dict(rows))


async def test_dead_entries_do_not_gather_in_front_of_a_claim(url: str) -> None:
    """An old snapshot keeps every version of every row: what a claim reads of its indexes stays the same."""
    async with opened(url) as (store, connection):
        worker = await store.register("here", 1, 1)
        await begin(store, 1, *(f"https://h{n % 2_000}.example/{n}" for n in range(4_000)))
        old = await asyncpg.connect(url)
        try:
            async with old.transaction(isolation="repeatable_read"):
                await old.fetchval("SELECT count(*) FROM worker")
                early = await _entries_read(store, connection, worker)
                leases: list[Lease] = []
                for _ in range(60):
                    leases = (await store.step(worker, [ended(lease) for lease in leases], 40)).leases
                await store.step(worker, [ended(lease) for lease in leases], 0)
                late = await _entries_read(store, connection, worker)
        finally:
            await old.close()
        assert late <= early + 200


async def _entries_read(store: PgStore, connection: asyncpg.Connection, worker: WorkerId) -> int:
    """Index entries of lanes, queues and hosts that one claim looks at."""
    before = await _entries(store, connection)
    leases = (await store.step(worker, [], 5)).leases
    after = await _entries(store, connection)
    assert len(leases) == 5
    await store.step(worker, [ended(lease) for lease in leases], 0)
    return after - before


async def _entries(store: PgStore, connection: asyncpg.Connection) -> int:
    await asyncio.sleep(1.1)
    await store.workers()  # a server process tells its figures at the end of a statement, once a second
    total: int = await connection.fetchval(
        "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes"
        " WHERE indexrelname IN ('lane_ready', 'queue_claimable', 'host_wakeable', 'lane_parked')"
    )
    return total
