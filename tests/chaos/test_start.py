"""A command that is killed before it could write down which crawl it has begun."""

from __future__ import annotations

import asyncio
from pathlib import Path

from perseid.model.crawl import CrawlStatus
from perseid.runtime import Client
from perseid.sink.place import Place
from perseid.testing import Site, in_thread
from perseid.testing.child import command


def test_a_crawl_that_nobody_knows_of_does_not_run_for_ever(tmp_path: Path) -> None:
    place = Place(tmp_path / "out")

    async def begin(url: str) -> None:
        async with await Client.open(place.state) as client:
            await client.start_crawl(url)

    async def running() -> list[str]:
        async with await Client.open(place.state) as client:
            return [crawl.url for crawl in await client.crawls() if crawl.status is CrawlStatus.SCRAPING]

    with in_thread(Site()) as site:
        site.links({"/": ["/a"]})
        asyncio.run(begin(site.url("/")))
        with command("crawl", site.url("/"), "--out", str(place.out), "--json", folder=tmp_path) as again:
            assert again.wait(60).status == 0
    assert asyncio.run(running()) == []
