"""A real site, a real store in a temporary folder and a real worker loop, for tests of whole crawls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.config.settings import RobotsSettings, Settings, WorkerSettings
from perseid.crawls.summary import Summary
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.model.document import Document
from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions
from perseid.ports.inspect import DeniedRow, Explanation, FailureRow
from perseid.runtime import Client
from perseid.runtime.stores import DATABASE
from perseid.testing import Site
from perseid.testing.ground import Ground, folders_hold_stores, give_back, take
from perseid.testing.sqlite import put_empty

SETTINGS = Settings(
    worker=WorkerSettings(beat_s=0.2, sweep_s=0.2, poll_s=0.1, dead_after_s=2.0), robots=RobotsSettings()
)


def crawl_options(
    *, scope: dict[str, Any] | None = None, scrape: dict[str, Any] | None = None, **rest: Any
) -> CrawlOptions:
    return CrawlOptions(scope=ScopeRules(**(scope or {})), scrape=ScrapeOptions(**(scrape or {})), **rest)


@dataclass
class Outcome:
    """Everything a crawl left behind, read back from the store."""

    crawl: Crawl
    documents: list[Document]
    failures: dict[str, FailureRow]
    denied: dict[str, DeniedRow]
    summary: Summary

    @property
    def urls(self) -> list[str]:
        return sorted(document.url for document in self.documents)

    @property
    def paths(self) -> list[str]:
        return sorted(document.url.split("/", 3)[3].join(("/", "")) for document in self.documents)

    @property
    def reasons(self) -> dict[str, str]:
        return {url: row.reason for url, row in self.denied.items()}

    @property
    def codes(self) -> dict[str, str]:
        return {url: row.code for url, row in self.failures.items()}


class Lab:
    """One store and one worker process (this one)."""

    def __init__(self, client: Client, place: Path, ground: Ground) -> None:
        self.client = client
        self.place = place
        self.ground = ground

    async def start(self, url: str, **options: Any) -> Crawl:
        return await self.client.start_crawl(url, crawl_options(**options))

    async def crawl(self, url: str, *, concurrency: int = 8, **options: Any) -> Outcome:
        crawl = await self.start(url, **options)
        await self.client.run(crawl.uid, concurrency=concurrency)
        return await self.outcome(crawl.uid)

    async def batch(self, urls: list[str], *, concurrency: int = 8, **options: Any) -> Outcome:
        crawl = await self.client.start_batch(urls, ScrapeOptions(**options))
        await self.client.run(crawl.uid, concurrency=concurrency)
        return await self.outcome(crawl.uid)

    async def outcome(self, uid: str) -> Outcome:
        client = self.client
        assert await client.audit() == []
        return Outcome(
            crawl=await client.crawl(uid),
            documents=[document async for _seq, _line, document in client.documents(uid)],
            failures={row.url: row async for row in client.failures(uid)},
            denied={row.url: row async for row in client.denied(uid)},
            summary=await client.summary(uid),
        )

    async def until(self, holds: Callable[[], Awaitable[bool]], timeout_s: float = 10.0) -> None:
        """Wait for a state of the store, which tells nobody when it changes."""
        async with asyncio.timeout(timeout_s):
            while not await holds():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def ended(self, uid: str) -> bool:
        return (await self.client.crawl(uid)).status is not CrawlStatus.SCRAPING

    async def explain(self, url: str, uid: str) -> Explanation:
        (explanation,) = await self.client.explain(url, uid)
        return explanation


OpenLab = Callable[..., Any]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """One site with two neighbours, `other` and `third`."""
    async with Site("other", "third") as site:
        yield site


@pytest.fixture
async def open_lab(tmp_path: Path) -> AsyncIterator[OpenLab]:
    """Opens further labs, on the same folder unless told otherwise; settings by section."""
    opened: list[Client] = []
    grounds: dict[Path, Ground] = {}

    async def open_one(folder: Path | None = None, **sections: dict[str, Any]) -> Lab:
        settings = SETTINGS
        for name, values in sections.items():
            section = msgspec.structs.replace(getattr(settings, name), **values)
            settings = msgspec.structs.replace(settings, **{name: section})
        place = folder or tmp_path / "store"
        if place not in grounds:
            grounds[place] = await take()
            if folders_hold_stores():
                put_empty(place / DATABASE)
        client = await Client.open(place, grounds[place].under(settings))
        opened.append(client)
        return Lab(client, place, grounds[place])

    yield open_one
    for client in opened:
        await client.close()
    for ground in grounds.values():
        await give_back(ground)


@pytest.fixture
async def lab(open_lab: OpenLab) -> Lab:
    return await open_lab()  # type: ignore[no-any-return]
