"""What the server adds to fetching and converting a page, how it bears many callers, and whether its memory stays flat.

    python benchmarks/server.py [overhead] [load] [memory] [--folder FOLDER_OF_HTML]

Site, server, the bare loop (fetch and convert, nothing kept) and the floor (the same behind the server's own HTTP
protocol, without checks, store or framework) are processes of their own and take turns over the same pages, so that
what else runs on the machine falls on all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
import uvicorn

from perseid.api.patience import PatientProtocol
from perseid.api.server import event_loop
from perseid.content.pipeline import Built, Page
from perseid.crawls.convert import Converter
from perseid.fetch.guard import Allowance
from perseid.fetch.http import HttpFetcher
from perseid.model.document import Document
from perseid.model.options import ScrapeOptions
from perseid.ports.fetch import FetchRequest, Response
from perseid.testing.child import cpu_s, descendants, resident, served
from perseid.testing.service import serving

FOLDER = "/usr/share/doc/postgresql-doc-15/html"
ROUNDS, PAGES = 4, 400
CONCURRENCIES = (1, 16)
SCRAPES, AT_ONCE, CRAWLS, CRAWL_PAGES = 2_000, 200, 50, 20
MANY = 10_000


class Run(NamedTuple):
    """`latencies` in seconds; CPU of the one process that did the work."""

    cpu_s: float
    wall_s: float
    latencies: list[float]

    @property
    def median_ms(self) -> float:
        return 1000 * statistics.median(self.latencies)


async def pace(jobs: Sequence[str], at_once: int, one: Callable[[int, str], Awaitable[None]]) -> list[float]:
    """How long each job took, with so many under way; `one` is told by which of the workers it is done."""
    waiting, latencies = list(reversed(jobs)), []

    async def work(number: int) -> None:
        while waiting:
            job, began = waiting.pop(), time.perf_counter()
            await one(number, job)
            latencies.append(time.perf_counter() - began)

    await asyncio.gather(*[work(number) for number in range(at_once)])
    return latencies


class Plain:
    """Fetches and converts, and keeps nothing."""

    def __init__(self) -> None:
        self.fetcher, self._converter = HttpFetcher(allowance=Allowance(allow_private=True)), Converter()
        self._options = ScrapeOptions(formats=("markdown",))

    async def document(self, url: str) -> Document:
        got = await self.fetcher.fetch(FetchRequest(url=url))
        if not isinstance(got, Response):
            raise SystemExit(f"not fetched: {got}")
        page = Page(url, url, got.status, got.headers, got.body, 0)
        built = await self._converter.document_of(page, self._options)
        if not isinstance(built, Built):
            raise SystemExit(f"not converted: {built}")
        return built.document


# The bare loop, in a process of its own: one line of JSON in, one out.


async def bare() -> None:
    plain = Plain()

    async def one(_number: int, url: str) -> None:
        await plain.document(url)

    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        cpu, began = time.process_time(), time.perf_counter()
        latencies = await pace(order["urls"], order["at_once"], one)
        run = Run(time.process_time() - cpu, time.perf_counter() - began, latencies)
        print(json.dumps(run), flush=True)
    await plain.fetcher.close()


async def floor() -> None:
    """The least that a server could do."""
    plain = Plain()

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        document = await plain.document(orjson.loads((await receive())["body"])["url"])
        body = orjson.dumps({"success": True, "data": {"markdown": document.markdown, "metadata": document.metadata}})
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(app, http=PatientProtocol, lifespan="off", ws="none", log_config=None, access_log=False)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        await uvicorn.Server(config).serve([listening])


@asynccontextmanager
async def on_the_floor() -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, "floor", stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    server = Server((await process.stdout.readline()).decode().strip(), process.pid)
    try:
        yield server
    finally:
        await server.close()
        process.kill()
        await process.wait()


class Bare:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Bare:
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(sys.executable, __file__, "bare", stdin=pipe, stdout=pipe, limit=2**24)
        )

    async def run(self, urls: Sequence[str], at_once: int) -> Run:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"urls": urls, "at_once": at_once}).encode() + b"\n")
        return Run(*json.loads(await self._process.stdout.readline()))

    async def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


# The server, asked over connections that stay open.


class Caller:
    """One kept-alive connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._address, self._streams = (parts.hostname, parts.port), None

    async def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        data = b"" if body is None else orjson.dumps(body)
        method = "GET" if body is None else "POST"
        request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        while True:
            kept = self._streams is not None
            if self._streams is None:
                self._streams = await asyncio.open_connection(*self._address, limit=2**24)
            reader, writer = self._streams
            writer.write(request)
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            except (asyncio.IncompleteReadError, ConnectionError):
                self._streams = None
                if not kept:  # else it was idle for too long
                    raise
                continue
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            return int(head.split()[1]), orjson.loads(await reader.readexactly(length))

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


class Server:
    def __init__(self, url: str, pid: int) -> None:
        self.url, self._pid = url, pid
        self.statuses: Counter[int] = Counter()
        self._callers: list[Caller] = []

    async def run(self, urls: Sequence[str], at_once: int) -> Run:
        """Synchronous scrapes; other statuses than 200 are counted."""
        while len(self._callers) < at_once:
            self._callers.append(Caller(self.url))

        async def one(number: int, url: str) -> None:
            status, _told = await self._callers[number].ask("/v2/scrape", {"url": url, "formats": ["markdown"]})
            self.statuses[status] += 1

        cpu, began = cpu_s(self._pid), time.perf_counter()
        latencies = await pace(urls, at_once, one)
        return Run(cpu_s(self._pid) - cpu, time.perf_counter() - began, latencies)

    def resident_mb(self) -> float:
        return sum(resident(pid) for pid in descendants(self._pid)) / 1e6

    async def close(self) -> None:
        for caller in self._callers:
            await caller.close()


async def overhead(site: str, names: list[str], folder: Path) -> None:
    urls = [site + name for name in names[:PAGES]]
    bare_loop = await Bare.start()
    with serving(folder, workers=0) as (url, process):
        async with on_the_floor() as least:
            server = Server(url, process.pid)
            sides: dict[str, Bare | Server] = {"bare": bare_loop, "floor": least, "served": server}
            for at_once in CONCURRENCIES:
                runs: dict[str, list[Run]] = {name: [] for name in sides}
                for number in range(ROUNDS + 1):
                    for name, side in sides.items():
                        run = await side.run(urls, at_once)
                        if number:  # the first warms up
                            runs[name].append(run)
                _tell(f"{at_once} at once, {len(urls)} pages, least of {ROUNDS} rounds:", runs, len(urls))
            await server.close()
    await bare_loop.stop()
    if set(server.statuses) != {200}:
        raise SystemExit(f"statuses: {dict(server.statuses)}")


def _tell(headline: str, runs: dict[str, list[Run]], pages: int) -> None:
    print(headline)
    cpu = {name: 1000 * min(run.cpu_s for run in found) / pages for name, found in runs.items()}
    median = {name: min(run.median_ms for run in found) for name, found in runs.items()}
    for what, figures in (("CPU a page", cpu), ("median latency", median)):
        told = ", ".join(f"{figure:.2f} ms {name}" for name, figure in figures.items())
        least, floor_ = figures["served"] / figures["bare"], figures["served"] / figures["floor"]
        print(f"  {what}: {told}; {least:.2f} times the bare, {floor_:.2f} times the floor")


async def load(site: str, names: list[str], folder: Path) -> None:
    """Many callers at once, while crawls run; all that may go wrong is that a caller is told to wait."""
    with serving(folder, workers=1) as (url, process):
        server, caller = Server(url, process.pid), Caller(url)
        await server.run([site + names[0]], 1)
        crawls = [(await caller.ask("/v2/crawl", {"url": site, "limit": CRAWL_PAGES}))[1]["id"] for _ in range(CRAWLS)]
        jobs = [site + names[number % len(names)] for number in range(SCRAPES)]
        run = await server.run(jobs, AT_ONCE)
        cuts = statistics.quantiles(run.latencies, n=100)
        ended: Counter[str] = Counter()
        for uid in crawls:
            while (told := (await caller.ask(f"/api/crawls/{uid}"))[1])["status"] == "scraping":  # noqa: ASYNC110  it ends elsewhere
                await asyncio.sleep(0.2)
            ended[f"{told['status']} with {told['counts']['done']} pages"] += 1
        await server.close()
        await caller.close()
    print(f"{SCRAPES} scrapes, {AT_ONCE} at once, beside {CRAWLS} crawls of {CRAWL_PAGES} pages:")
    print(f"  statuses {dict(server.statuses)}; crawls: {dict(ended)}")
    print(f"  {SCRAPES / run.wall_s:.0f} a second, p50 {1000 * cuts[49]:.0f} ms, p99 {1000 * cuts[98]:.0f} ms")
    if set(server.statuses) - {200, 429}:
        raise SystemExit("there were other answers than pages and requests to wait")


async def memory(site: str, names: list[str], folder: Path) -> None:
    with serving(folder, workers=1) as (url, process):
        server = Server(url, process.pid)
        seen = []
        for part in range(6):
            jobs = [site + names[number % len(names)] for number in range(MANY // 5)]
            await server.run(jobs, 16)
            seen.append(server.resident_mb())
            print(f"  after {(part + 1) * MANY // 5:,} scrapes {seen[-1]:.0f} MB", flush=True)
        await server.close()
    print(f"memory of all processes from {MANY // 5:,} to {6 * MANY // 5:,} scrapes: {seen[-1] - seen[0]:+.0f} MB")


async def measure(which: list[str], folder: Path, names: list[str]) -> None:
    with served("perseid.testing.folder", str(folder)) as site, tempfile.TemporaryDirectory() as scratch:
        for name, part in (("overhead", overhead), ("load", load), ("memory", memory)):
            if not which or name in which:
                await part(site.url, names, Path(scratch) / name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("which", nargs="*", choices=["overhead", "load", "memory", "bare", "floor"])
    parser.add_argument("--folder", type=Path, default=Path(FOLDER))
    told = parser.parse_args()
    if told.which == ["bare"]:
        asyncio.run(bare())
    elif told.which == ["floor"]:
        with asyncio.Runner(loop_factory=event_loop) as runner:
            runner.run(floor())
    elif not told.folder.is_dir():
        raise SystemExit(f"{told.folder} is no folder; --folder names one of HTML pages")
    else:
        names = [str(path.relative_to(told.folder)) for path in sorted(told.folder.rglob("*.html"))]
        asyncio.run(measure(told.which, told.folder, names))


if __name__ == "__main__":
    main()
