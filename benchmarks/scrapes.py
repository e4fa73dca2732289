"""What the store asks for a scrape that somebody waits for: to begin it, and to end it in batches.

python benchmarks/scrapes.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from perseid.model.crawl import CrawlKind
from perseid.model.ids import WorkerId
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Done, Finished, HostNote, Lease, NewUrl, StoredDocument
from perseid.store.sqlite.store import SqliteStore

BATCH, ROUNDS, BODY = 50, 200, b"x" * 3_000
LEASE_US = 120_000_000
HOSTS = 20


def scrape(number: int) -> NewCrawl:
    host = f"h{number % HOSTS}.example"
    url = f"https://{host}/page/{number}"
    return NewCrawl(
        uid=f"{number * 0x9E3779B97F4A7C15 & (1 << 64) - 1:016x}-{number}",
        url=url,
        options=b'{"scrape":{"formats":["markdown"]}}',
        key_seed=number,
        kind=CrawlKind.SCRAPE,
        ttl_us=86_400_000_000,
        terms=b'{"ttl_s":86400}',
        first=(NewUrl(url, number, host),),
    )


def ended(lease: Lease) -> Finished:
    return Finished(
        lease=lease,
        end=Done(document=StoredDocument(lease.url, 200, "Title", BODY)),
        hosts=(HostNote(host=lease.host, answered=True, private=False),),
    )


async def taken(store: SqliteStore, worker: WorkerId, number: int) -> Lease:
    _crawl, lease = await store.take(scrape(number), worker, lease_us=LEASE_US)
    if lease is None:
        raise SystemExit(f"scrape {number} got no lease")
    return lease


async def measure(folder: Path, *, together: bool) -> None:
    generous = HostDefaults(max_active=1_000, interval_us=0, global_interval_us=0)
    store = await SqliteStore.open(folder / f"{together}.db", defaults=generous)
    worker = await store.register("here", 1, 1)
    taking = ending = 0.0
    for round_ in range(ROUNDS):
        numbers = range(round_ * BATCH, (round_ + 1) * BATCH)
        began = time.process_time()
        if together:
            leases = list(await asyncio.gather(*(taken(store, worker, number) for number in numbers)))
        else:
            leases = [await taken(store, worker, number) for number in numbers]
        taking += time.process_time() - began
        finished = [ended(lease) for lease in leases]
        began = time.process_time()
        result = await store.step(worker, finished, 0)
        ending += time.process_time() - began
        if not all(result.kept):
            raise SystemExit("a scrape was not kept")
        await store.checkpoint()
    began = time.process_time()
    swept = await store.sweep()
    sweeping = time.process_time() - began
    await store.close()
    scrapes = ROUNDS * BATCH
    print(
        f"to take a scrape, {f'{BATCH} at once' if together else 'one by one'}: {1e6 * taking / scrapes:.0f} µs of CPU"
    )
    print(f"  to end it: {1e6 * ending / scrapes:.0f} µs of CPU, {BATCH} a transaction")
    print(f"  to sweep after {scrapes:,} of them: {1e3 * sweeping:.1f} ms, {swept} rows")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perseid-scrapes-") as folder:
        for together in (False, True):
            asyncio.run(measure(Path(folder), together=together))


if __name__ == "__main__":
    main()
