"""Pages with many links through the PostgreSQL store: pages a second, and what each costs the database and the client.

`python benchmarks/store_postgres.py --pages 20000 --links 30 --batch 50 --processes 1 4 --crawls 1`

Each process finishes and claims batches; a page links to pages all over its site, one of which is new on average. The
database is one of the tests' (`perseid.testing.postgres`). Database CPU is that of the server's backends, read from
/proc, so the server has to run on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import asyncpg

from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Done, Finished, Lease, NewUrl, StoredDocument
from perseid.store.postgres.store import PgStore
from perseid.testing.postgres import give_back, take_database, url_of

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
BODY = random.Random(1).randbytes(3_000)
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def page(site: int, number: int) -> NewUrl:
    return NewUrl(f"https://site{site}.example/chapter/{number}.html", number, f"site{site}.example")


def links_of(site: int, number: int, pages: int, links: int) -> list[NewUrl]:
    """The same for the same page; all pages can be reached from page 0."""
    chance = random.Random(number)
    ahead = [to for to in (2 * number + 1, 2 * number + 2) if to < pages]
    return [page(site, to) for to in [*ahead, *(chance.randrange(pages) for _ in range(links - len(ahead)))]]


def brought_home(lease: Lease, pages: int, links: int) -> Finished:
    site, number = int(lease.host.removeprefix("site").partition(".")[0]), lease.key
    document = StoredDocument(lease.url, 200, f"Chapter {number}", BODY, None, lease.host, "What it is about")
    return Finished(lease=lease, end=Done(document=document), urls=links_of(site, number, pages, links))


async def work(url: str, pages: int, links: int, batch: int) -> None:
    """One worker process: steps until nothing is left; then says what it did, and waits to be told to go."""
    store = await PgStore.open(url, defaults=FREE)
    worker = await store.register("here", os.getpid(), 1)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    before, done, idle, waits = time.process_time(), 0, 0, []
    made = 0.0
    held: list[Lease] = []
    while idle < 40:
        began = time.process_time()
        finished = [brought_home(lease, pages, links) for lease in held]
        made += time.process_time() - began
        started = time.perf_counter()
        result = await store.step(worker, finished, batch)
        waits.append(time.perf_counter() - started)
        done += sum(result.kept)
        held = result.leases
        idle = 0 if held or finished else idle + 1
        if not held:
            await asyncio.sleep(0.005)
    clashes = sum(store.clashes.values())
    waits.sort()
    print(done, time.process_time() - before - made, waits[len(waits) // 2], clashes, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await store.close()


async def backends_cpu(url: str) -> float:
    """Seconds that the backends connected to this database have used so far."""
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'perseid'"
    )
    await connection.close()
    total = 0
    for (pid,) in rows:
        total += _ticks(pid)
    return total * _TICK_S


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def measure(pages: int, links: int, batch: int, processes: int, crawls: int, *, variants: bool) -> None:
    name = await take_database()
    url = url_of(name)
    store = await PgStore.open(url, defaults=FREE)
    started: list[CrawlId] = []
    for site in range(crawls):
        first = page(site, 0)
        new = NewCrawl(uid=f"c{site}", url=first.url, options=b"{}", key_seed=1, first=(first,), keep_variants=variants)
        started.append(await store.start(new))
    command = [sys.executable, __file__, "--work", url, "--pages", str(pages // crawls), "--links", str(links)]
    workers = [_begin([*command, "--batch", str(batch)]) for _ in range(processes)]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    before, began = await backends_cpu(url), time.perf_counter()
    _tell(workers)
    while any([(await store.crawl(f"c{site}")).status == 0 for site in range(crawls)]):  # noqa: ASYNC110 - others work
        await asyncio.sleep(0.05)
    took = time.perf_counter() - began
    results = []
    for worker in workers:
        assert worker.stdout is not None
        results.append([float(part) for part in worker.stdout.readline().split()])
    database = await backends_cpu(url) - before
    _tell(workers)
    for worker in workers:
        worker.wait()
    done = sum(result[0] for result in results)
    findings = await store.audit()
    await store.close()
    await give_back(name)
    print(
        f"{processes} process(es), {crawls} crawl(s): {done / took:,.0f} pages/s; per page: database"
        f" {database / done * 1e6:.0f} µs, client {sum(r[1] for r in results) / done * 1e6:.0f} µs; step p50"
        f" {max(r[2] for r in results) * 1e3:.1f} ms; clashes {sum(r[3] for r in results):.0f};"
        f" audit {findings or 'clean'}"
    )


def _begin(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _tell(workers: list[subprocess.Popen[str]]) -> None:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000, help="over all crawls")
    parser.add_argument("--links", type=int, default=30)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--crawls", type=int, default=1)
    parser.add_argument("--variants", action="store_true", help="crawls that fold similar URLs, as over the API")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        asyncio.run(work(asked.work, asked.pages, asked.links, asked.batch))
        return
    for processes in asked.processes:
        asyncio.run(measure(asked.pages, asked.links, asked.batch, processes, asked.crawls, variants=asked.variants))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
