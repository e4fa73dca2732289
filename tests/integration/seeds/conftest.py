"""Seeds collected from a real site into a real store by a real worker, in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from tests.integration.conftest import Lab, OpenLab

from perseid.model.crawl import Crawl
from perseid.model.seed import Seed
from perseid.ports.configs import ConfigKind, Version
from perseid.ports.items import RunStats, StoredException, StoredItem
from perseid.ports.seeds import SeedRow
from perseid.publishing.draft import draft
from perseid.runtime.collecting import Collector
from perseid.runtime.engine import Engine
from perseid.runtime.sites import Sites
from perseid.seeds.loading import from_value
from perseid.worker.stop import Stop

SHOP = {
    "site_id": "shop",
    "fields": {
        "title": {"css": "h1", "required": True},
        "price": {"css": ".price", "type": "price", "currency": "EUR"},
    },
    "follow": "h2 a",
    "fetch": {"backoff": {"base": 0.01, "max": 0.1}},
}


def product(number: int) -> str:
    return f"<html lang=en><h1>Product {number}</h1><p class=price>{number}.50 €</p></html>"


@dataclass
class Collected:
    """What a store holds after the runs."""

    items: list[StoredItem]
    exceptions: list[StoredException]
    runs: list[Crawl]
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def titles(self) -> list[str]:
        return sorted(str(json.loads(item.fields)["title"]) for item in self.items)


class Farm:
    """One team's sites on one store."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.engine: Engine = lab.client._engine
        self.store = self.engine.store
        self.sites: Sites = lab.client.sites(author="tests")

    async def publish(self, rule: dict[str, Any]) -> Version:
        return await self.config(ConfigKind.RULE, rule["site_id"], rule)

    async def config(self, kind: ConfigKind, name: str, value: dict[str, Any]) -> Version:
        published = await self.sites.publishing.publish(draft(kind, json.dumps(value), name=name))
        return published.version

    async def put(self, seed_id: str = "s1", site_id: str = "shop", **said: Any) -> SeedRow:
        return await self.sites.seeding.put(self.seed(seed_id, site_id, **said))

    def seed(self, seed_id: str = "s1", site_id: str = "shop", **said: Any) -> Seed:
        if "urls" in said:
            said["payload"] = {"urls": said.pop("urls")}
        return from_value({"seed_id": seed_id, "site_id": site_id, "task_type": "urls", **said}).seed

    async def collect(self, *, concurrency: int = 8, timeout_s: float = 120.0) -> Collected:
        """Work until nothing is due and no run goes on."""
        async with asyncio.timeout(timeout_s):
            await Collector(self.engine).run_until_idle(Stop(), concurrency=concurrency)
        return await self.collected()

    async def collected(self) -> Collected:
        assert await self.lab.client.audit() == []
        runs: list[Crawl] = []
        failures: dict[str, str] = {}
        for row in await self.sites.seeding.rows():
            for view in await self.sites.seeding.runs(row):
                runs.append(view.crawl)
                failures |= {each.url: each.code for each in await self.store.failures(view.crawl.id)}
        items = [item async for item in self.sites.all_items()]
        return Collected(items, await self.store.items.exceptions(1), runs, failures)

    async def stats(self, seed_id: str = "s1") -> RunStats:
        view = await self.sites.seeding.newest(await self.sites.seeding.row(seed_id))
        assert view is not None
        return view.stats

    async def working(self) -> Working:
        return Working(self, Stop())


class Working:
    """A worker in the background: `async with`."""

    def __init__(self, farm: Farm, stop: Stop) -> None:
        self._farm = farm
        self._stop = stop
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._farm.lab.client.work(self._stop, concurrency=8))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.ask()
        assert self._task is not None
        await self._task


async def told(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    """Whether an event was logged that says so."""
    return any(words in str(record.__dict__) for record in caplog.records)


OpenFarm = Callable[..., Any]


@pytest.fixture
async def open_farm(open_lab: OpenLab) -> AsyncIterator[OpenFarm]:
    async def open_one(**sections: Any) -> Farm:
        return Farm(await open_lab(**sections))

    return open_one


@pytest.fixture
async def farm(open_farm: OpenFarm) -> Farm:
    return await open_farm()  # type: ignore[no-any-return]
