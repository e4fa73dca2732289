"""A page costs the same whether it is the hundredth or the ten-thousandth: in memory, in bytes and in statements."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from perseid.model.options import CrawlOptions
from perseid.runtime import Client
from perseid.testing.child import Ended, command, served
from perseid.testing.result import check

pytestmark = pytest.mark.slow

SMALL, LARGE = 600, 6_000
TIMEOUT_S = 300


def crawl(pages: int, folder: Path) -> tuple[Ended, int]:
    """How it ended, and the bytes of its database."""
    with served("perseid.testing.site", "--pages", str(pages), "--links", "20", "--page-bytes", "1500") as server:
        out = folder / "out"
        with command("crawl", server.url, "--out", str(out), "--json", folder=folder) as running:
            ended = running.wait(TIMEOUT_S)
        assert ended.status == 0, ended.stderr
        assert server.ask("-/stats") | {"requests": 0} == {"requests": 0, "pages": pages, "distinct": pages, "most": 1}
    result = check(out)
    assert result.problems == []
    assert len(result.urls) == pages
    return ended, (out / ".perseid" / "perseid.db").stat().st_size


def test_memory_and_database_grow_no_faster_than_the_site(tmp_path: Path) -> None:
    small, few_bytes = crawl(SMALL, tmp_path / "small")
    large, many_bytes = crawl(LARGE, tmp_path / "large")
    # The visited keys of a worker are held in memory, and caches fill: some 100 bytes a page, not kilobytes.
    assert large.peak_bytes - small.peak_bytes < 25_000_000
    assert large.peak_bytes < 200_000_000
    assert many_bytes / LARGE < 1.2 * few_bytes / SMALL
    assert many_bytes / LARGE < 2_500


def test_statements_of_a_page_do_not_grow_with_the_crawl(tmp_path: Path) -> None:
    """Steps of SQLite's virtual machine, which a scan that grows with the crawl can't hide from."""
    few, many = (steps_per_page(pages, tmp_path / str(pages)) for pages in (SMALL // 2, LARGE // 2))
    assert many < 1.5 * few


def steps_per_page(pages: int, folder: Path) -> float:
    count = 0
    per_call = 100

    def tick() -> bool:
        nonlocal count
        count += per_call
        return False

    def watch(connection: apsw.Connection) -> None:
        connection.set_progress_handler(tick, per_call)

    async def work(url: str) -> int:
        async with await Client.open(folder) as client:
            begun = await client.start_crawl(url, CrawlOptions())
            return (await client.run(begun.uid, concurrency=8)).counts.done

    apsw.connection_hooks.append(watch)
    try:
        with served("perseid.testing.site", "--pages", str(pages), "--page-bytes", "200") as server:
            assert asyncio.run(work(server.url)) == pages
    finally:
        apsw.connection_hooks.remove(watch)
    assert count > pages
    return count / pages
