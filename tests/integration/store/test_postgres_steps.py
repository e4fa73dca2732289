"""Steps on PostgreSQL by several processes at once, with all that can end a page and all that people do meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence

import asyncpg
import pytest

from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobState
from perseid.model.terms import EventKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import Again, Done, Failed, Finished, HostNote, Lease, NewUrl
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.store.desk import FREE, denied, document, ended, page
from perseid.testing.postgres import url_of

PROCESSES = 3
HOSTS = 5
PAGES = 120
SHAPES: tuple[dict[str, object], ...] = (
    {},
    {"max_discovery_depth": 4},
    {"keep_variants": True},
    {"limit": 50},
    {"events": int(EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED)},
    {"max_concurrency": 2},
)
TEAMS = 2


def address(crawl: int, number: int) -> str:
    return f"https://h{(crawl + number) % HOSTS}.example/{number}"


def links_of(lease: Lease) -> list[NewUrl]:
    if lease.key == lease.job:  # of a batch, which follows no links
        return []
    number = int(lease.url.rpartition("/")[2])
    ahead = [n for n in (2 * number, 2 * number + 1) if n <= PAGES]
    found = [page(address(lease.crawl, n)) for n in [*ahead, 1, number // 2 or 1, (number * 7) % PAGES + 1]]
    # The same page under another spelling: a variant, where the crawl keeps them.
    return [*found, *(link._replace(url=link.url.replace("https", "http")) for link in found[:1])]


def outcome(lease: Lease, chance: random.Random) -> Finished:
    """Mostly a page; now and then all else that can become of one."""
    fate = chance.random()
    if lease.attempts == 0 and fate < 0.06:
        host = chance.choice([None, f"h{chance.randrange(HOSTS)}.example"])
        return ended(lease, end=Again(attempted=True, delay_us=chance.choice([0, 5_000]), host=host))
    if fate < 0.10:
        return ended(lease, end=Failed("http_404", "gone", 404, document(lease.url, status=404)))
    number = int(lease.url.rpartition("/")[2])
    fields: dict[str, object] = {"denied": [denied(f"https://else.example/{number % 30}")]}
    if fate < 0.18:
        other = address(lease.crawl, (number * 3) % PAGES + 1)
        fields |= {"final_key": page(other).key, "final_url": other}
    if fate < 0.25:
        fields["hosts"] = [HostNote(host=f"h{chance.randrange(HOSTS)}.example", answered=True)]
    end = Done(document=document(lease.url, site=f"s{number % 3}.example", description="d"))
    return ended(lease, *links_of(lease), end=end, cut=True, **fields)


async def work(store: PgStore, worker: WorkerId, seed: int, until: float) -> None:
    """Step until nothing is left or the time is over, in batches that overlap those of the others."""
    chance = random.Random(seed)
    held: list[Lease] = []
    idle = 0
    while idle < 100 and time.monotonic() < until:
        chance.shuffle(held)
        cut = chance.randint(min(1, len(held)), len(held))
        result = await store.step(worker, [outcome(lease, chance) for lease in held[:cut]], chance.randint(1, 12))
        held = held[cut:] + result.leases
        idle = 0 if held else idle + 1
        if not held:
            await asyncio.sleep(0.01)


async def disturb(store: PgStore, crawls: Sequence[CrawlId], seed: int, until: float) -> None:
    """What people and duties do while others work."""
    chance = random.Random(seed)
    while time.monotonic() < until:
        crawl = chance.choice(crawls)
        match chance.randrange(8):
            case 0:
                jobs = [view.job for view in await store.jobs(crawl=crawl, state=JobState.FAILED, limit=20)]
                await store.retry_jobs(jobs)
            case 1:
                jobs = [view.job for view in await store.jobs(crawl=crawl, state=JobState.QUEUED, limit=3)]
                await store.cancel_jobs(jobs)
            case 2:
                await store.reap([])
            case 3:
                await store.sweep()
            case 4:
                await store.set_crawl_limits(crawl, max_concurrency=chance.choice([1, 3, None]))
            case 5:
                await store.set_team_limit(chance.randint(1, TEAMS), chance.choice([4, None]))
            case 6:
                await store.set_host(f"h{chance.randrange(HOSTS)}.example", max_active=chance.choice([2, -1]))
            case _:
                await store.add(crawl, [page(address(crawl, chance.randint(1, PAGES)))])
        await asyncio.sleep(0.002)


async def begin(store: PgStore, rounds: int) -> list[CrawlId]:
    crawls = []
    for number in range(rounds * len(SHAPES)):
        first = page(address(number, 1))
        values = {"uid": f"c{number}", "url": first.url, "options": b"", "key_seed": 1, "team": 1 + number % TEAMS}
        crawls.append(await store.start(NewCrawl(**values, first=(first,), **SHAPES[number % len(SHAPES)])))
    return crawls


async def agree(store: PgStore, crawls: Sequence[CrawlId], url: str, deadlocks: int) -> None:
    """Everything ended and every counter is true."""
    assert await store.audit() == []
    assert await store.unpark() == 0
    for number, crawl in enumerate(crawls):
        seen = await store.crawl(f"c{number}")
        counts = seen.counts
        assert (seen.id, seen.status, counts.open) == (crawl, CrawlStatus.COMPLETED, 0)
        ends = counts.done + counts.failed + counts.duplicate + counts.denied + counts.cancelled
        assert counts.discovered == ends
        rows = await store.documents(crawl, limit=10_000)
        assert len({row.job for row in rows}) == len(rows), "a page is there twice"
    assert await deadlocks_of(url) == deadlocks


async def deadlocks_of(url: str) -> int:
    connection = await asyncpg.connect(url)
    await asyncio.sleep(1.1)  # the server's figures are a second old at most
    found: int = await connection.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    await connection.close()
    return found


def process(url: str, seed: int, seconds: float) -> subprocess.Popen[str]:
    """A worker of its own process, which says its number once it works."""
    command = [sys.executable, __file__, url, str(seed), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def _process(url: str, seed: int, seconds: float) -> None:
    store = await PgStore.open(url, defaults=FREE, connections=1)
    worker = await store.register("here", os.getpid(), 1)
    sys.stdout.write(f"{worker}\n")
    sys.stdout.flush()
    await work(store, worker, seed, time.monotonic() + seconds)
    sys.stdout.write(f"{dict(store.clashes)}\n")
    await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_whatever_happens_at_once_nobody_deadlocks_and_all_counters_are_true(name: str, seed: int) -> None:
    url = url_of(name)
    store = await PgStore.open(url, defaults=FREE, connections=4)
    crawls = await begin(store, 2)
    before = await deadlocks_of(url)
    workers = [process(url, seed * 100 + n, 60) for n in range(PROCESSES)]
    try:
        until = time.monotonic() + 6
        await asyncio.gather(disturb(store, crawls, seed, until), disturb(store, crawls, seed + 50, until))
        for number in range(1, TEAMS + 1):
            await store.set_team_limit(number, None)
        for worker in workers:
            said = await asyncio.to_thread(worker.communicate, timeout=90)
            assert said[0].splitlines()[-1] == "{}", "transactions clashed"
            assert worker.returncode == 0
    finally:
        for worker in workers:
            worker.kill()
    await work(store, await store.register("here", 1, 1), seed, time.monotonic() + 30)
    assert store.clashes == Counter()
    await agree(store, crawls, url, before)
    await store.close()


@pytest.mark.slow
async def test_killed_processes_lose_and_double_nothing(name: str) -> None:
    url = url_of(name)
    store = await PgStore.open(url, defaults=FREE, connections=2)
    crawls = await begin(store, 1)
    before = await deadlocks_of(url)
    chance = random.Random(3)
    for round_ in range(6):
        victims = [process(url, 10 * round_ + n, 60) for n in range(2)]
        numbers = []
        for victim in victims:
            assert victim.stdout is not None
            numbers.append(WorkerId(int(await asyncio.to_thread(victim.stdout.readline))))
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        for victim in victims:
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
        await store.reap(numbers)
        assert await store.audit() == []
    await work(store, await store.register("here", 1, 1), 4, time.monotonic() + 60)
    await agree(store, crawls, url, before)
    await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{}, {"max_discovery_depth": 9}, {"keep_variants": True}], ids=str)
async def test_steps_on_one_connection_keep_their_plans_from_an_empty_database_to_a_large_one(
    unused: str, shape: dict[str, object]
) -> None:
    """Entries of indexes that a step reads: as few with 100,000 URLs as with a handful."""
    url = url_of(unused)
    store = await PgStore.open(url, defaults=FREE, connections=1)
    connection = await asyncpg.connect(url)
    tables = "url, denied, ended, document, edge, cut, variant, lane, queue, host, crawl, lease, retry"
    await connection.execute(f"TRUNCATE {tables}")
    await connection.execute(f"VACUUM {tables}")  # known to be empty: the worst that a plan can be made on
    worker = await store.register("here", 1, 1)
    first = page("https://h.example/1")
    new = {"uid": "c", "url": first.url, "options": b"", "key_seed": 1, "first": (first,)}
    crawl = await store.start(NewCrawl(**new, **shape))

    async def entries() -> Counter[str]:
        await asyncio.sleep(1.1)
        await store.workers()  # a server process tells its figures at the end of a statement, once a second
        rows = await connection.fetch("SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes")
        return Counter(dict(rows))

    async def costs(at: int) -> Counter[str]:
        """Of ten steps alike."""
        leases = (await store.step(worker, [], 5)).leases
        before = await entries()
        for n in range(10):
            batch = [
                ended(lease, *(f"https://h{i % 9}.example/{at}-{n}-{i}" for i in range(6)), "https://h.example/1",
                      denied=[denied(f"https://no.example/{at}-{n}-{lease.job}")], cut=True)
                for lease in leases
            ]  # fmt: skip
            leases = (await store.step(worker, batch, 5)).leases
            assert len(leases) == 5
        cost = await entries() - before
        await store.step(worker, [ended(lease) for lease in leases], 0)
        return cost

    (lease,) = (await store.step(worker, [], 1)).leases
    await store.step(worker, [ended(lease, *(f"https://h{i % 9}.example/{i}" for i in range(30)))], 0)
    early = await costs(0)
    for chunk in range(20):
        urls = [
            page(f"https://h{n % 9}.example/{n}", depth=1) for n in range(chunk * 5_000 + 100, chunk * 5_000 + 5_100)
        ]
        assert await store.add(crawl, urls) == 5_000
    late = await costs(1)
    dearer = {index: (early[index], read) for index, read in late.items() if read > 2 * early[index] + 500}
    assert dearer == {}
    await connection.close()
    await store.close()


@pytest.mark.slow
async def test_batches_take_and_double_nothing_where_processes_append_to_them(name: str) -> None:
    """A batch that completes and goes on again, while others work on it."""
    url = url_of(name)
    stores = [await PgStore.open(url, defaults=FREE, connections=2) for _ in range(3)]
    first = tuple(page(f"https://h{n}.example/{n}") for n in range(3))
    new = NewCrawl(uid="c0", url=first[0].url, options=b"", key_seed=1, kind=CrawlKind.BATCH, first=first)
    crawl = await stores[0].start(new)
    appended = 3
    async with asyncio.TaskGroup() as group:
        for number, store in enumerate(stores[:2]):
            worker = await store.register("here", number, 1)
            group.create_task(work(store, worker, number, time.monotonic() + 30))
        for n in range(60):
            urls = [page(f"https://h{i % HOSTS}.example/{n}") for i in range(3)]
            appended += await stores[2].append(crawl, urls)
            await asyncio.sleep(0.005)
    await work(stores[0], await stores[0].register("here", 9, 1), 5, time.monotonic() + 30)
    assert appended == 3 + 180
    seen = await stores[2].crawl("c0")
    assert seen.status is CrawlStatus.COMPLETED
    assert await stores[2].audit() == []
    assert [store.clashes for store in stores] == [Counter()] * 3
    for store in stores:
        await store.close()


if __name__ == "__main__":
    asyncio.run(_process(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
