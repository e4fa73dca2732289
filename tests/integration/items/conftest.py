"""A shop whose pages were read by its rule, on a real store, with the clock in hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.crawls.pack import squeeze
from perseid.items.reading import page_of
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.rule import Rule
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import KeptPage
from perseid.ports.seeds import SiteRow
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.truth import Truth
from perseid.ports.work import Done, Finished, NewUrl
from perseid.publishing.draft import draft
from perseid.rules.extracting import extract
from perseid.rules.harvesting import Origin, harvest
from perseid.testing import ground
from perseid.testing.clock import FakeClock

FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
SHOP: dict[str, Any] = {
    "site_id": "shop",
    "fields": {"title": {"css": "h1", "required": True}, "price": {"css": ".price", "type": "number"}},
    "sinks": ["out"],
}
_numbers = count()


def product(number: int, *, heading: str = "h1", price: str = "price") -> str:
    return f"<html lang=en><{heading}>Product {number}</{heading}><p class={price}>{number}.50</p></html>"


class Shop:
    """One team's site."""

    def __init__(self, store: Truth, clock: FakeClock, row: SiteRow) -> None:
        self.store = store
        self.clock = clock
        self.row = row
        self.version = 0

    async def publish(self, **changed: Any) -> int:
        """The next version of the rule."""
        made = draft(ConfigKind.RULE, json.dumps({**SHOP, **changed}), name="shop")
        new = NewVersion(team=1, kind=ConfigKind.RULE, name="shop", body=made.body)
        self.version = (await self.store.configs.publish(new)).version
        return self.version

    async def rule(self, version: int) -> Rule:
        found = await self.store.configs.version(1, ConfigKind.RULE, "shop", version)
        assert found is not None
        return msgspec.json.decode(found.body, type=Rule)

    async def collect(self, pages: dict[str, str], *, own: Rule | None = None, **origin: Any) -> None:
        """Tasks that fetched these pages just now, read by the rule as it was last published, or by their own."""
        first = tuple(NewUrl(url, n, "shop.example", JobKind.TASK) for n, url in enumerate(pages))
        uid = f"run {next(_numbers)}"
        run = await self.store.start(
            NewCrawl(uid=uid, url="", options=b"{}", key_seed=1, kind=CrawlKind.SEED, first=first)
        )
        worker = await self.store.register("here", 1, 1)
        rule = own or await self.rule(self.version)
        finished = []
        for lease in (await self.store.step(worker, [], len(pages), crawl=run)).leases:
            kept = KeptPage(lease.url, 200, b"[]", squeeze(pages[lease.url].encode()), "detail", 1, self.clock.now_us())
            values = {"team": 1, "site": self.row.id, "version": 0 if own else self.version, "seed": "", **origin}
            said = Origin(url=lease.url, found_at=lease.url, kind="detail", fetched_at=kept.fetched_at, **values)
            found = harvest(rule, extract(rule, page_of(kept), "detail"), said, page=kept)
            finished.append(Finished(lease=lease, end=Done(), harvest=found))
        assert len(finished) == len(pages)
        await self.store.step(worker, finished, 0)

    async def products(self, numbers: Sequence[int], **page: str) -> None:
        await self.collect({f"https://shop.example/{n}": product(n, **page) for n in numbers})

    async def titles(self) -> list[str]:
        return [str(json.loads(item.fields)["title"]) for item in await self.store.items.items(1, limit=1_000)]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    place, clock = await ground.take(), FakeClock()
    store = await ground.open_store(place, tmp_path / "perseid.db", defaults=FREE, clock=clock.now_us)
    made = Shop(store, clock, await store.seeds.put_site(1, "shop"))
    await made.publish()
    yield made
    await store.close()
    await ground.give_back(place)
