"""Worker processes against one crawl and against many on PostgreSQL: pages a second, CPU, log and size per page.

    python -m benchmarks.fleet [--pages 3000] [--processes 1 2 4] [--crawls 1 100] [--urls 100000]

`perseid worker --processes N` works on a PostgreSQL of its own, which is started for it (its package's server has to be
installed), and on a made-up site in a process of its own that isn't counted. CPU is that of all processes of the
workers, and of all of the server: backends, writers, autovacuum. At last the tables of a crawl of `--urls` URLs that
wait are measured, and those of the last crawl that was worked off.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import asyncpg
import msgspec

from perseid.config.settings import Settings, StoreSettings
from perseid.model.crawl import CrawlKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl
from perseid.runtime import Client
from perseid.store.postgres.store import PgStore
from perseid.testing.child import Command, cpu_s, descendants, served
from perseid.testing.cluster import PostgresCluster

LIMIT_S = 300.0
_CHILDREN_S = 1 / os.sysconf("SC_CLK_TCK")
_SIZES = """
SELECT relname, (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname), false, true, '')))
    [1]::text::bigint AS rows,
  pg_relation_size(oid) AS heap, pg_indexes_size(oid) AS indexes,
  pg_total_relation_size(oid) - pg_relation_size(oid) - pg_indexes_size(oid) AS beside
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_total_relation_size(oid) > 100000
ORDER BY pg_total_relation_size(oid) DESC
"""


class Meter(NamedTuple):
    """Sums so far."""

    at: float
    workers_s: float
    server_s: float
    log_bytes: int
    commits: int


async def ask(url: str, statement: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


async def read(url: str, server: int, workers: int) -> Meter:
    row = (
        await ask(
            url,
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, xact_commit FROM pg_stat_database"
            " WHERE datname = current_database()",
        )
    )[0]
    return Meter(
        time.perf_counter(),
        sum(map(cpu_s, descendants(workers))),
        sum(map(cpu_s, descendants(server))) + gone_s(server),
        int(row[0]),
        int(row[1]),
    )


def gone_s(pid: int) -> float:
    """CPU of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * _CHILDREN_S


async def new_database(cluster: PostgresCluster, name: str) -> str:
    await ask(cluster.url, f"CREATE DATABASE {name}")
    return cluster.url.rpartition("/")[0] + f"/{name}"


async def measure(cluster: PostgresCluster, pages: int, crawls: int, processes: int, folder: Path) -> str:
    """The address of its database, to look at."""
    url = await new_database(cluster, f"fleet_{crawls}_{processes}")
    settings = msgspec.structs.replace(Settings(), store=StoreSettings(url=url))
    shape = ("--pages", str(pages // crawls), "--page-bytes", "2000")
    here = folder / f"{crawls}-{processes}"
    with served("perseid.testing.site", *shape) as site:
        async with await Client.open(here / "client", settings=settings) as client:
            command = Command(
                "worker",
                *("--processes", str(processes), "--data", str(here / "data")),
                folder=here / "log",
                environment={"PERSEID_STORE__URL": url, "PERSEID_FETCH__ALLOW_PRIVATE": "true"},
            )
            try:
                await until(url, f"SELECT count(*) >= {processes} FROM worker WHERE slots > 0")
                before = await read(url, await server_of(url), command.pid)
                for _ in range(crawls):
                    await client.start_crawl(site.url)
                await until(url, "SELECT count(*) = 0 FROM crawl WHERE open > 0")
                after = await read(url, await server_of(url), command.pid)
            finally:
                command.kill()
    found = (await ask(url, "SELECT count(*), (SELECT count(*) FROM crawl WHERE status = 1) FROM document"))[0]
    done, took = found[0], after.at - before.at
    assert tuple(found) == (pages // crawls * crawls, crawls), f"{tuple(found)} documents and completed crawls"
    per_page = [1e6 * (b - a) / done for a, b in zip(before[1:3], after[1:3], strict=True)]
    print(
        f"| {crawls} | {processes} | {done:,} | {done / took:,.0f} | {per_page[0]:,.0f} | {per_page[1]:,.0f} |"
        f" {(after.workers_s - before.workers_s) / took:.2f} | {(after.server_s - before.server_s) / took:.2f} |"
        f" {(after.log_bytes - before.log_bytes) / done:,.0f} | {(after.commits - before.commits) / done:.3f} |"
        f" {os.getloadavg()[0]:.1f} |",
        flush=True,
    )
    return url


async def server_of(url: str) -> int:
    folder = (await ask(url, "SHOW data_directory"))[0][0]
    return int((Path(folder) / "postmaster.pid").read_text().split()[0])


async def until(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    async with asyncio.timeout(LIMIT_S):
        while not await connection.fetchval(statement):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.1)
    await connection.close()


async def waiting(cluster: PostgresCluster, urls: int) -> None:
    """A batch of so many URLs, none of them claimed yet."""
    url = await new_database(cluster, "waiting")
    store = await PgStore.open(url)

    def made(number: int) -> NewUrl:
        host = f"www{number % 100}.example.com"
        return NewUrl(f"https://{host}/docs/chapter-{number % 997}/section-{number}.html", number * 2**40, host)

    first = made(0)
    new = NewCrawl(uid="waiting", url=first.url, options=b"{}", key_seed=1, kind=CrawlKind.BATCH, first=(first,))
    crawl = await store.start(new)
    for at in range(1, urls, 500):
        await store.append(crawl, [made(number) for number in range(at, min(at + 500, urls))])
    await store.close()
    await sizes(url, urls, "URL that waits")


async def sizes(url: str, by: int, what: str) -> None:
    await ask(url, "VACUUM ANALYZE")
    print(f"\n| table | rows | heap bytes per {what} | indexes | large values |\n|---|---:|---:|---:|---:|")
    total = 0
    for row in await ask(url, _SIZES):
        total += row["heap"] + row["indexes"] + row["beside"]
        print(
            f"| {row['relname']} | {row['rows']:,} | {row['heap'] / by:,.0f} | {row['indexes'] / by:,.0f} |"
            f" {row['beside'] / by:,.0f} |"
        )
    print(f"all: {total / by:,.0f} bytes per {what}", flush=True)


async def run(asked: argparse.Namespace, folder: Path) -> None:
    cluster = PostgresCluster()
    try:
        cluster.start()
        print(
            "| crawls | processes | pages | pages/s | workers µs/page | server µs/page | workers' cores |"
            " server's cores |"
            " log bytes/page | commits/page | load |\n|" + "---:|" * 11
        )
        last = ""
        for crawls in asked.crawls:
            for processes in asked.processes:
                last = await measure(cluster, asked.pages, crawls, processes, folder)
        if last:
            await sizes(last, asked.pages, "page that is done")
        await waiting(cluster, asked.urls)
    finally:
        cluster.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=3_000, help="over all crawls")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--crawls", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--urls", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perseid-fleet-") as folder:
        asyncio.run(run(asked, Path(folder)))


if __name__ == "__main__":
    main()
