"""The pause that a site asks for, held by two processes that crawl and scrape it at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from perseid.testing import Site

GAP_S = 0.2

# One crawl and ten scrapes of the same host, in a process of its own, on the store in argv[1].
WORK = """
import asyncio, sys
from pathlib import Path
import perseid

async def main() -> None:
    async with await perseid.Client.open(Path(sys.argv[1])) as client:
        crawl = await client.start_crawl(sys.argv[2])
        scrapes = [client.scrape(f"{sys.argv[2]}s/{sys.argv[3]}/{number}") for number in range(10)]
        await asyncio.gather(client.run(crawl.uid), *scrapes)

asyncio.run(main())
"""


async def test_two_crawls_and_twenty_scrapes_of_two_processes_keep_the_pause(tmp_path: Path) -> None:
    async with Site() as site:
        site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}\n")
        site.links({"/": ["/a", "/b", "/c"], "/a": ["/b"], "/b": [], "/c": ["/a"]})
        for process in "xy":
            for number in range(10):
                site.page(f"/s/{process}/{number}", "<h1>page</h1><p>Some text to be scraped.</p>")
        first = await client_process(tmp_path, site, "warm")
        assert await first.wait() == 0
        before = len(site.requests)
        both = [await client_process(tmp_path, site, name) for name in "xy"]
        assert [await process.wait() for process in both] == [0, 0]
    times = sorted(request.at_s for request in site.requests)
    assert min(later - earlier for earlier, later in pairwise(times)) >= GAP_S
    counts = site.counts()
    assert [counts[f"/s/{process}/{number}"] for process in "xy" for number in range(10)] == [1] * 20
    assert counts["/a"] == 3
    assert len(site.requests) > before


async def test_two_crawls_that_begin_at_once_on_an_unknown_host_keep_its_pause(tmp_path: Path) -> None:
    async with Site() as site:
        site.robots(f"User-agent: *\nCrawl-delay: {GAP_S}\n")
        site.links({"/": ["/a"], "/a": []})
        both = [await client_process(tmp_path, site, name) for name in ("warm", "warm")]
        assert [await process.wait() for process in both] == [0, 0]
    times = sorted(request.at_s for request in site.requests)
    assert min(later - earlier for earlier, later in pairwise(times)) >= GAP_S


async def client_process(store: Path, site: Site, name: str) -> asyncio.subprocess.Process:
    """`warm` crawls alone, so that the site's pause is known; others scrape ten pages beside their crawl."""
    code = WORK if name != "warm" else WORK.replace("range(10)", "range(0)")
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(store), site.url("/"), name, stderr=subprocess.DEVNULL
    )
