"""What a claim costs beside many crawls: it must be the same beside one and beside a thousand, blocked or not.

python benchmarks/claims.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Done, Finished, Lease, NewUrl, StoredDocument
from perseid.store.sqlite.store import SqliteStore

BATCH, STEPS = 20, 100
PAGES = 60
FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)


async def begin(store: SqliteStore, number: int, *, team: int, pages: int, most: int | None) -> None:
    urls = [NewUrl(f"https://h{number}.example/{n}", n, f"h{number}.example") for n in range(pages)]
    await store.start(
        NewCrawl(
            uid=f"c{number}", url=urls[0].url, options=b"{}", key_seed=1, team=team, max_concurrency=most,
            first=tuple(urls),
        )
    )  # fmt: skip


def ended(lease: Lease) -> Finished:
    return Finished(lease=lease, end=Done(document=StoredDocument(lease.url, 200, "Title", b"x" * 500)))


async def measure(name: str, folder: Path, *, crawls: int, blocked: int = 0, teams: int = 1) -> None:
    store = await SqliteStore.open(folder / f"{name}.db", defaults=FREE)
    worker = await store.register("here", 1, 1)
    for number in range(blocked):
        await begin(store, number, team=1 + number % teams, pages=2, most=1)
    held = 0
    while leases := (await store.step(worker, [], 500)).leases:
        held += len(leases)
    if held != blocked:
        raise SystemExit(f"{held} of {blocked} crawls are at their limit")
    pages = max(PAGES, (STEPS + 3) * BATCH // crawls + 1)
    for number in range(blocked, blocked + crawls):
        await begin(store, number, team=1 + number % teams, pages=pages, most=None)
    leases = (await store.step(worker, [], BATCH)).leases
    spent = 0.0
    for _ in range(STEPS):
        finished = [ended(lease) for lease in leases]
        await store.step(worker, finished, 0)
        began = time.process_time()
        leases = (await store.step(worker, [], BATCH)).leases
        spent += time.process_time() - began
        if len(leases) != BATCH:
            raise SystemExit(f"{name}: a claim gave {len(leases)} of {BATCH}")
    print(f"{name:<44} {1e6 * spent / STEPS / BATCH:6.0f} µs of CPU per lease, {BATCH} at once")
    await store.close()


async def all_of_them(folder: Path) -> None:
    await measure("one crawl", folder, crawls=1)
    await measure("10 crawls", folder, crawls=10)
    await measure("1,000 crawls", folder, crawls=1_000)
    await measure("10 crawls beside 990 at their limit", folder, crawls=10, blocked=990)
    await measure("1,000 crawls of 100 teams", folder, crawls=1_000, teams=100)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perseid-claims-") as folder:
        asyncio.run(all_of_them(Path(folder)))


if __name__ == "__main__":
    main()
