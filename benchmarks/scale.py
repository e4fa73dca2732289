"""Crawls of made-up sites that grow: pace, memory and database per page, and how they change within the largest.

    python benchmarks/scale.py [--pages 1000,10000,100000] [--processes N] [--links 20] [--page-bytes 2000]

The site runs in a process of its own, whose CPU is not counted. CPU is that of the whole process tree of the
crawl, the figure to compare on a busy machine. A million pages: --pages 1000000 (some GB below the temporary folder).
The curve within a crawl is printed as it goes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from perseid.testing.child import Command, Server, cpu_s, descendants, resident, served

TIMEOUT_S = 48 * 3600
MARKS = (1_000, 10_000, 100_000, 300_000)
TENTHS = 10


class Point(NamedTuple):
    """A moment of a crawl."""

    pages: int
    wall_s: float
    cpu_s: float
    rss: int
    database: int


class Run(NamedTuple):
    pages: int
    wall_s: float
    cpu_s: float
    rss: int
    database: int


def crawl(pages: int, options: argparse.Namespace, folder: Path) -> Run:
    shape = ("--pages", str(pages), "--links", str(options.links), "--page-bytes", str(options.page_bytes))
    with served("perseid.testing.site", *shape) as server:
        out = folder / str(pages)
        how = ("--json", "--processes", str(options.processes), "--concurrency", str(options.concurrency))
        command = Command("crawl", server.url, "--out", str(out), *how, folder=folder / f"{pages}.log")
        try:
            most = watch(command, server, out, pages)
            ended = command.wait(TIMEOUT_S)
        finally:
            command.kill()
        told = json.loads(ended.stdout)
        if ended.status or told["pages"] != pages:
            raise SystemExit(f"the crawl of {pages:,} pages ended with {ended.status}: {ended.stdout} {ended.stderr}")
        stats = server.ask("-/stats")
        if stats["distinct"] != pages or stats["most"] != 1:
            raise SystemExit(f"pages were lost or fetched twice: {stats}")
    return Run(pages, ended.wall_s, ended.cpu_s, max(ended.peak_bytes, most), database(out))


def watch(command: Command, server: Server, out: Path, pages: int) -> int:
    """Prints the curve: a line at each mark and after each tenth of the site. The most bytes in memory that it saw."""
    began, most = time.monotonic(), 0
    last = Point(0, 0.0, 0.0, 0, 0)
    marks = sorted({*(mark for mark in MARKS if mark < pages), *(pages * n // TENTHS for n in range(1, TENTHS))})
    print(f"\nwithin the crawl of {pages:,} pages: so far, and per page of the stretch that ends there")
    print(f"{'to page':>10} {'CPU ms':>7} {'DB bytes':>9} | {'pages/s':>8} {'CPU ms':>7} {'DB bytes':>9} {'MB now':>7}")
    while command.running():
        tree = descendants(command.pid)
        fetched = server.ask("-/stats")["distinct"]
        now = Point(fetched, time.monotonic() - began, sum(map(cpu_s, tree)), sum(map(resident, tree)), database(out))
        most = max(most, now.rss)
        if tree and marks and now.pages >= marks[0]:
            marks = [mark for mark in marks if mark > now.pages]
            stretch(last, now)
            last = now
        time.sleep(min(1.0, max(0.02, pages / 100_000)))
    return most


def stretch(before: Point, after: Point) -> None:
    pages = max(1, after.pages - before.pages)
    print(
        f"{after.pages:>10,} {1000 * after.cpu_s / after.pages:>7.2f} {after.database / after.pages:>9,.0f} |"
        f" {pages / max(1e-9, after.wall_s - before.wall_s):>8.0f} {1000 * (after.cpu_s - before.cpu_s) / pages:>7.2f}"
        f" {(after.database - before.database) / pages:>9,.0f} {after.rss / 1e6:>7.0f}",
        flush=True,
    )


def database(out: Path) -> int:
    """Bytes of the database, its log, and the bodies beside it."""
    total = 0
    for path in (out / ".perseid").rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # just gone
            continue
    return total


def table(runs: list[Run]) -> None:
    print(f"{'pages':>10} {'wall s':>8} {'pages/s':>8} {'CPU ms/page':>12} {'peak MB':>8} {'DB bytes/page':>14}")
    for run in runs:
        print(
            f"{run.pages:>10,} {run.wall_s:>8.1f} {run.pages / run.wall_s:>8.0f} {1000 * run.cpu_s / run.pages:>12.2f}"
            f" {run.rss / 1e6:>8.0f} {run.database / run.pages:>14,.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", default="1000,10000,100000", help="sizes, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--links", type=int, default=20, help="new pages that each page links to")
    parser.add_argument("--page-bytes", type=int, default=2_000)
    parser.add_argument("--keep", type=Path, help="folder for the results, kept afterwards")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="perseid-scale-") as temporary:
        runs = []
        for size in map(int, options.pages.split(",")):
            runs.append(crawl(size, options, options.keep or Path(temporary)))
            table(runs[-1:])
        print()
        table(runs)


if __name__ == "__main__":
    main()
