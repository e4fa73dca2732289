"""What a claim costs on PostgreSQL beside a million waiting and a million ended jobs, with most crawls at their limit,
with an old snapshot held open, and in the shape that suits lanes least.

python benchmarks/claims_postgres.py [--jobs 1000000] [--churn 20000] [--shapes bfohp]

`PERSEID_TEST_POSTGRES_URL` names a role that may create databases. Each line is one shape: times of single claims as
the caller sees them, before and after churn (jobs claimed and finished in steps of 10) with an old snapshot open.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg

from perseid.model.ids import WorkerId
from perseid.ports.store import HostDefaults
from perseid.ports.work import Done, Finished, Lease, StoredDocument
from perseid.store.postgres.store import PgStore
from perseid.testing.postgres import take_database, url_of

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
POLITE = HostDefaults(global_interval_us=0)
UNLIMITED = 1 << 40
CLAIMS = 200
STEP = 10

# Crawl n has `each` pages (`more` of them where it is not `blocked`), on `spread` of all `hosts`, in turn.
_SEED = """
INSERT INTO host (name, max_active, interval, burst) SELECT 'h' || n || '.example', {most}, {interval}, {burst}
  FROM generate_series(1, {hosts}) n;
INSERT INTO crawl (uid, team, kind, url, key_seed, keep_variants, max_denied, max_sitemaps, created_at, options,
    open, discovered, max_active)
  SELECT 'c' || n, 1, 'crawl', 'https://h1.example/', 1, 0, 1000, 1000, 0, '', s.pages, s.pages,
    CASE WHEN n <= {blocked} THEN 1 END
  FROM generate_series(1, {crawls}) n, LATERAL (SELECT CASE WHEN n <= {blocked} THEN {each} ELSE {more} END AS pages) s;
INSERT INTO queue (crawl, class, team, max_active, turn, ready)
  SELECT c.id, 2, 1, coalesce(c.max_active, 1099511627776), 0, {spread} FROM crawl c;
INSERT INTO lane (queue, host, tail, ord, state)
  SELECT q.id, 1 + (q.crawl * {spread} + n) % {hosts}, (c.discovered - n + {spread} - 1) / {spread}, 1, 1
  FROM queue q JOIN crawl c ON c.id = q.crawl, generate_series(0, {spread} - 1) n ORDER BY n, q.id;
INSERT INTO url (id, crawl, key, host, lane, seq, kind, depth, flags, url)
  SELECT nextval('job_number'), s.crawl, s.m, s.host, s.id, 1 + s.m / {spread}, 2, 1, 1,
    'https://h' || s.host || '.example/page/' || s.crawl || '/' || s.m
  FROM (SELECT q.crawl, l.host, l.id,
          (l.host - 1 - q.crawl * {spread} % {hosts} + {hosts}) % {hosts} + i * {spread} AS m
        FROM queue q JOIN lane l ON l.queue = q.id, LATERAL generate_series(0, l.tail - 1) i ORDER BY m, q.crawl) s;
UPDATE lane SET ord = u.id FROM url u WHERE u.lane = lane.id AND u.seq = 1;
"""


async def seed(connection: asyncpg.Connection, defaults: HostDefaults, **figures: int) -> None:
    """Crawls whose pages all wait: what the store itself would have written, in bulk."""
    politeness = {"most": defaults.max_active, "interval": defaults.interval_us, "burst": defaults.burst}
    await connection.execute(_SEED.format(**figures, **politeness))


async def bury(connection: asyncpg.Connection, ended: int) -> None:
    """A crawl that is over, with that many pages done."""
    await connection.execute(f"""
        INSERT INTO crawl (uid, team, kind, url, key_seed, keep_variants, max_denied, max_sitemaps, created_at, options,
            status, ended_at, discovered, done, swept)
          VALUES ('over', 1, 'crawl', 'https://h1.example/', 1, 0, 1000, 1000, 0, '', 1, 1, {ended}, {ended}, 1);
        INSERT INTO url (id, crawl, key, host, lane, seq, kind, depth, flags, url)
          SELECT nextval('job_number'), c.id, n, 1, 0, n, 2, 1, 1, 'https://h1.example/over/' || n
          FROM crawl c, generate_series(1, {ended}) n WHERE c.uid = 'over';
        INSERT INTO ended (job, crawl, state, at, attempts, seq, status)
          SELECT u.id, u.crawl, 0, 1, 1, u.key, 200 FROM url u JOIN crawl c ON c.id = u.crawl WHERE c.uid = 'over';
    """)


def done(leases: Sequence[Lease]) -> list[Finished]:
    body = b"x" * 300
    return [Finished(lease=it, end=Done(document=StoredDocument(it.url, 200, "Title", body))) for it in leases]


async def time_claims(store: PgStore, worker: WorkerId, want: int) -> str:
    """Claims that hold nothing; what they bring is finished in between. Milliseconds as the caller sees them, and of
    CPU in the server, where that is on this machine.
    """
    times, spent = [], 0.0
    (row,) = await store._all("SELECT pg_backend_pid()")  # noqa: SLF001 - its one connection
    for _ in range(CLAIMS):
        before, began = cpu_ms(row[0]), time.perf_counter()
        leases = (await store.step(worker, [], want)).leases
        times.append(1e3 * (time.perf_counter() - began))
        spent += cpu_ms(row[0]) - before
        await store.step(worker, done(leases), 0)
    times.sort()
    shown = f"p50 {statistics.median(times):6.2f}  p95 {times[int(len(times) * 0.95)]:6.2f} ms"
    return f"{shown}, {spent / CLAIMS:.2f} ms of CPU in the server"


def cpu_ms(pid: int) -> float:
    """What a process has spent so far, by the scheduler's own count."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    except OSError:
        return 0.0


async def churn(store: PgStore, worker: WorkerId, jobs: int) -> tuple[int, float, float]:
    """Work through that many jobs in steps of `STEP`; jobs, seconds, and the median of a step at the end in ms."""
    began = time.perf_counter()
    finished: list[Finished] = []
    count, last = 0, []
    while count < jobs:
        before = time.perf_counter()
        result = await store.step(worker, finished, STEP)
        last.append(1e3 * (time.perf_counter() - before))
        finished = done(result.leases)
        count += len(result.leases)
        if not result.leases:
            if result.wait_us is None:
                break
            await asyncio.sleep(result.wait_us / 1e6)
    await store.step(worker, finished, 0)
    return count, time.perf_counter() - began, statistics.median(last[-100:])


async def measure(name: str, *, ended: int, jobs: int, defaults: HostDefaults = FREE, **figures: int) -> None:
    url = url_of(await take_database())
    store = await PgStore.open(url, defaults=defaults, connections=1)
    connection = await asyncpg.connect(url)
    await seed(connection, defaults, **figures)
    await bury(connection, ended)
    await connection.execute("VACUUM ANALYZE")
    worker = await store.register("here", 1, 1)
    blocker = await store.register("elsewhere", 1, 1)
    await block(store, connection, blocker, figures["blocked"])
    findings = await store.audit(crawls=1)
    if findings:
        raise SystemExit(f"{name}: {findings[:3]}")
    print(f"{name}")
    for want in (1, 50):
        print(f"  {want:>3} at once                     {await time_claims(store, worker, want)}", flush=True)
    old = await asyncpg.connect(url)
    snapshot = old.transaction(isolation="repeatable_read")
    await snapshot.start()
    await old.fetchval("SELECT count(*) FROM worker")
    count, seconds, step = await churn(store, worker, jobs)
    updates = await connection.fetchval(
        "SELECT string_agg(relname || ' ' || n_tup_upd || ' (' || n_tup_hot_upd || ' in their place)', ', ')"
        " FROM pg_stat_user_tables WHERE relname IN ('queue', 'lane', 'host', 'team')"
    )
    print(f"  versions: {updates}")
    print(f"  churn: {count:,} jobs in {seconds:.1f} s with an old snapshot open, steps at its end {step:.2f} ms")
    for want in (1, 50):
        print(f"  {want:>3} at once, snapshot open      {await time_claims(store, worker, want)}", flush=True)
    await snapshot.rollback()
    await old.close()
    await connection.close()
    await store.close()


async def block(store: PgStore, connection: asyncpg.Connection, worker: WorkerId, blocked: int) -> None:
    """Bring the first crawls to their limits."""
    rows: list[Any] = await connection.fetch("SELECT id FROM crawl WHERE max_active = 1 ORDER BY id")
    for (crawl,) in rows:
        if len((await store.step(worker, [], 5, crawl=crawl, lease_us=10**12)).leases) != 1:
            raise SystemExit(f"crawl {crawl} is not at its limit")
    if len(rows) != blocked:
        raise SystemExit(f"{len(rows)} of {blocked} crawls are at their limit")


async def all_of_them(jobs: int, turnover: int, shapes: str) -> None:
    each = jobs // 1_000
    enough = turnover // 10 + 2 * CLAIMS * 6
    """Pages a crawl for the measurement to last, where ten are free."""
    if "b" in shapes:
        await measure(
            f"b: {jobs:,} queued, {jobs:,} done, 1,000 crawls, 990 of them at their limit", ended=jobs, jobs=turnover,
            crawls=1_000, each=each, more=max(each, enough), spread=10, hosts=1_000, blocked=990,
        )  # fmt: skip
    if "f" in shapes:
        await measure(
            f"f: {jobs:,} queued, {jobs:,} done, 1,000 crawls, none at its limit", ended=jobs, jobs=turnover,
            crawls=1_000, each=each, more=each, spread=10, hosts=1_000, blocked=0,
        )  # fmt: skip
    if "o" in shapes:
        await measure(
            f"o: {jobs:,} queued of one crawl and one host, {jobs:,} done", ended=jobs, jobs=turnover,
            crawls=1, each=jobs, more=jobs, spread=1, hosts=1, blocked=0,
        )  # fmt: skip
    if "h" in shapes:
        await measure(
            f"h: one crawl of 100,000 hosts with one URL each, {jobs:,} done", ended=jobs, jobs=turnover,
            crawls=1, each=100_000, more=100_000, spread=100_000, hosts=100_000, blocked=0,
        )  # fmt: skip
    if "p" in shapes:
        await measure(
            f"p: 100 crawls of 200 polite hosts (10 requests a second each), {jobs:,} done", ended=jobs,
            jobs=min(turnover, 10_000), defaults=POLITE,
            crawls=100, each=1_000, more=1_000, spread=10, hosts=200, blocked=0,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--churn", type=int, default=20_000)
    parser.add_argument("--shapes", default="bfohp", help="which of them, by their letters")
    options = parser.parse_args()
    asyncio.run(all_of_them(options.jobs, options.churn, options.shapes))


if __name__ == "__main__":
    main()
