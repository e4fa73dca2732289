"""Where the time of a whole crawl goes, on real documentation; and what the store asks for a page.

    python benchmarks/engine.py [FOLDER_OF_HTML [START]]

The site is served by a process of its own, and is not counted. The crawl is measured once by the clock of its process
tree, then once more under cProfile, whose figures are shares of a slower whole: only compare them with one another.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from perseid.config.settings import Settings
from perseid.model.job import JobKind
from perseid.model.options import CrawlOptions
from perseid.ports.store import NewCrawl
from perseid.ports.work import Done, Finished, HostNote, Lease, NewUrl, StoredDocument
from perseid.runtime import Client
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.child import command, served

FOLDER = "/usr/share/doc/postgresql-doc-15/html"
CALLS = 25
REPEATS = 3
PAGES, BATCH, LINKS, BODY = 5_000, 50, 30, b"x" * 3_000


def whole(url: str, folder: Path) -> None:
    """CPU of the command, of which the least counts."""
    least = float("inf")
    for repeat in range(REPEATS):
        out = folder / f"out-{repeat}"
        with command("crawl", url, "--out", str(out), "--json", folder=folder / f"log-{repeat}") as running:
            ended = running.wait(600)
        if ended.status:
            raise SystemExit(ended.stderr)
        told = json.loads(ended.stdout)
        least = min(least, 1000 * ended.cpu_s / told["pages"])
    print(f"whole crawl, one process: {told['pages']:,} pages, {least:.2f} ms of CPU per page, start-up included")
    print(f"  last run: {told['pages'] / ended.wall_s:.0f} pages/s, peak {ended.peak_bytes / 1e6:.0f} MB")


def profile(url: str, folder: Path) -> None:
    """Own time by room of the package, and the functions that cost most. The store's threads are not seen."""

    async def crawl() -> int:
        async with await Client.open(folder / "profiled", Settings()) as client:
            begun = await client.start_crawl(url, CrawlOptions())
            return (await client.run(begun.uid)).counts.done

    profiler = cProfile.Profile(time.process_time)
    pages = profiler.runcall(asyncio.run, crawl())
    stats = pstats.Stats(profiler)
    rooms: dict[str, float] = defaultdict(float)
    for (file, _line, _name), (_calls, _again, own, _below, _callers) in stats.stats.items():  # type: ignore[attr-defined]
        rooms[room(file)] += own
    total = sum(rooms.values())
    print(f"\nunder cProfile: {1000 * total / pages:.2f} ms per page, of which (own time)")
    for name, own in sorted(rooms.items(), key=lambda item: -item[1])[:12]:
        print(f"  {100 * own / total:5.1f} %  {name}")
    print("\nfunctions by own time")
    ordered = sorted(stats.stats.items(), key=lambda item: -item[1][2])[:CALLS]  # type: ignore[attr-defined]
    for (file, line, name), (calls, _again, own, _below, _callers) in ordered:
        place = f"{room(file)}/{Path(file).name}:{line}" if line else room(file)
        print(f"  {100 * own / total:5.1f} %  {calls / pages:8.1f} calls/page  {place} {name}")


def room(file: str) -> str:
    """`perseid.links`, the name of another package, or `built in`."""
    parts = Path(file).parts
    if "perseid" in parts:
        at = len(parts) - 1 - parts[::-1].index("perseid")
        return ".".join(parts[at : at + 2]).removesuffix(".py")
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    return "python" if len(parts) > 1 else "built in"


async def store(folder: Path) -> None:
    """µs of the store for a page with links, half of them new, in steps that finish and claim."""
    opened = await SqliteStore.open(folder / "store.db")
    first = NewUrl("http://h.example/0", 0, "h.example")
    crawl = await opened.start(NewCrawl(uid="bench", url=first.url, options=b"{}", key_seed=1, first=(first,)))
    await opened.step(await opened.register("here", 1, 1), [], 0)
    worker = await opened.register("here", 2, 2)
    leases = (await opened.step(worker, [], BATCH, crawl=crawl)).leases
    made, done, spent = 1, 0, 0.0
    while done < PAGES and leases:
        finished = []
        for lease in leases:
            finished.append(page(lease, made))
            made += LINKS // 2
        began = time.process_time()
        leases = (await opened.step(worker, finished, BATCH, crawl=crawl)).leases
        if len(finished) == BATCH:
            spent += time.process_time() - began
            done += len(finished)
    await opened.close()
    print(f"\nstore: {1e6 * spent / max(1, done):.0f} µs of CPU per page with {LINKS} links, in steps of {BATCH}")


def page(lease: Lease, made: int) -> Finished:
    numbers = [*range(made, made + LINKS // 2), *range(max(0, made - LINKS // 2), made)]
    return Finished(
        lease=lease,
        end=Done(document=StoredDocument(lease.url, 200, "Title", BODY)),
        urls=[NewUrl(f"http://h.example/page/{n}", scattered(n), "h.example", JobKind.PAGE) for n in numbers],
        hosts=(HostNote(host="h.example", answered=True, private=True),),
    )


def scattered(number: int) -> int:
    """As a hash scatters keys: else each look into the index would be beside the last one."""
    return (number * 0x9E3779B97F4A7C15 & (1 << 63) - 1) ^ number


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    with tempfile.TemporaryDirectory(prefix="perseid-engine-") as temporary:
        folder = Path(temporary)
        if root.is_dir():
            with served("perseid.testing.folder", str(root)) as server:
                url = server.url + (sys.argv[2] if len(sys.argv) > 2 else "")
                whole(url, folder)
                profile(url, folder)
        else:
            print(f"no {root}: install the Debian package postgresql-doc-15, or name a folder of HTML")
        asyncio.run(store(folder))


if __name__ == "__main__":
    main()
