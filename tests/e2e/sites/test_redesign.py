"""A site is made anew and all selectors break: it is noticed, nothing is lost, and a published version mends it.

One worker process works from the beginning to the end. What people do is done beside it, on the same store.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.config.settings import Settings
from perseid.ports.configs import ConfigKind
from perseid.publishing.draft import draft
from perseid.runtime import Client
from perseid.runtime.sites import Sites
from perseid.seeds.loading import from_value
from perseid.testing import Site
from perseid.testing.ground import Ground, give_back, take

OLD = "<html lang=en><h1 class=name>Product {n}</h1><p class=price>{n}.50 €</p><ul class=tags><li>a<li>b</ul></html>"
NEW = "<html lang=en><main><div class=t>Product {n}</div><b data-amount>{n}.50 €</b><i class=label>a</i><i class=label>b</i></main></html>"
RULE: dict[str, Any] = {
    "site_id": "shop",
    "fields": {
        "title": {"css": "h1.name", "required": True},
        "price": {"css": ".price", "type": "price", "required": True},
        "tags": {"css": ".tags li", "many": True},
    },
    "fetch": {"concurrency": 1, "timeout": "2m"},
    "alerts": {"field": "*", "empty_rate": 0.5, "min_items": 5, "pause": True},
    "sinks": ["warehouse"],
}
MENDED: dict[str, Any] = {
    **RULE,
    "fields": {
        "title": {"from": ["h1.name", ".t"], "required": True},
        "price": {"from": [".price", "b[data-amount]"], "type": "price", "required": True},
        "tags": {"from": [".tags li", ".label"], "many": True},
    },
}
BEFORE, SLOW, ALL = 10, 30, 40
"""Products before the site was made anew, and after."""


class Story:
    def __init__(self, site: Site, sites: Sites, folder: Path) -> None:
        self.site = site
        self.sites = sites
        self.folder = folder
        self.noticed = asyncio.Event()
        """`SLOW` is answered then, and one at a time is asked for: so there is work left when the site is paused."""

    def design(self, page: str, products: int) -> None:
        """All pages look like this from now on, and so many are in the sitemap."""
        for n in range(1, products + 1):
            self.site.page(f"/p/{n}", page.format(n=n), after=self.noticed if n == SLOW else None)
        self.site.sitemap("/sitemap.xml", [f"/p/{n}" for n in range(1, products + 1)])

    async def publish(self, kind: ConfigKind, name: str, value: dict[str, Any]) -> int:
        published = await self.sites.publishing.publish(draft(kind, json.dumps(value), name=name))
        return published.version.version

    async def seed(self) -> None:
        payload = {"url": self.site.url("/sitemap.xml")}
        seed = {"seed_id": "all", "site_id": "shop", "task_type": "sitemap", "payload": payload}
        await self.sites.seeding.put(from_value(seed).seed)

    async def items(self) -> dict[str, int]:
        """The version of the rule that read each product."""
        return {json.loads(item.fields)["title"]: item.rule_version async for item in self.sites.all_items(site="shop")}

    def rows(self) -> set[str]:
        """What is in the warehouse."""
        with closing(sqlite3.connect(self.folder / "warehouse.db", timeout=30)) as warehouse:
            if warehouse.execute("SELECT count(*) FROM sqlite_master WHERE name = 'shop'").fetchone() == (0,):
                return set()
            return {title for (title,) in warehouse.execute("SELECT title FROM shop")}

    async def delivered(self, titles: set[str]) -> None:
        async def there() -> bool:
            return self.rows() == titles

        await self.until(there)

    async def over(self) -> bool:
        """The newest run has ended."""
        row = await self.sites.seeding.row("all")
        return row.run is not None and not row.running and row.next_at is None

    async def paused(self) -> bool:
        return (await self.sites.site("shop")).paused

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(60):
            while not await holds():  # noqa: ASYNC110 - the store tells nobody when it changes
                await asyncio.sleep(0.05)


@contextmanager
def working(folder: Path, ground: Ground, webhook: str) -> Iterator[subprocess.Popen[str]]:
    """A worker as people start it."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PERSEID_")},
        **ground.environment,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(folder),
        "PERSEID_FETCH__ALLOW_PRIVATE": "127.0.0.1",
        "PERSEID_ALERTS__EVERY_S": "0.1",
        "PERSEID_ALERTS__WEBHOOK": webhook,
        "PERSEID_CONNECTIONS__WAREHOUSE": f"sqlite://{folder}/warehouse.db",
    }
    command = [sys.executable, "-W", "error", "-m", "perseid", "worker", "--processes", "1", "--data", "store"]
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, stdout=log, text=True)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    ground = await take()
    settings = msgspec.structs.replace(Settings(), connections={"warehouse": f"sqlite://{tmp_path}/warehouse.db"})
    async with Site("ops") as site:
        site.host("ops").respond("/alarms", 204)
        client = await Client.open(tmp_path / "store", ground.under(settings))
        with working(tmp_path, ground, site.host("ops").url("/alarms")) as process:
            yield Story(site, client.sites(author="ann"), tmp_path)
            assert process.poll() is None, (tmp_path / "worker.log").read_text()  # the same one all along
        assert process.returncode == 0
        assert await client.audit() == []
        await client.close()
    await give_back(ground)


def products(first: int, last: int) -> set[str]:
    return {f"Product {n}" for n in range(first, last + 1)}


async def test_a_site_made_anew_is_noticed_and_mended_without_a_restart_or_a_loss(story: Story) -> None:
    sites, site = story.sites, story.site
    await story.publish(ConfigKind.SINK, "warehouse", {"connection": "warehouse"})
    assert await story.publish(ConfigKind.RULE, "shop", RULE) == 1
    story.design(OLD, BEFORE)
    await story.seed()
    await story.until(story.over)
    assert await story.items() == dict.fromkeys(products(1, BEFORE), 1)
    await story.delivered(products(1, BEFORE))

    # The site is made anew, and has many more products. All selectors break.
    story.design(NEW, ALL)
    await sites.seeding.run("all")
    await story.until(story.paused)
    await site.wait_for("/alarms")

    # It was noticed: an alarm for each core field, the site held with work left, the broken items in quarantine.
    async def raised() -> bool:
        alarms = await sites.items.alarms(sites.team, site="shop")
        assert all(alarm.rule_version == 1 and alarm.rate >= 0.5 and alarm.paused for alarm in alarms)
        return {alarm.field for alarm in alarms} == {"title", "price"}

    await story.until(raised)
    told = [json.loads(request.body) for request in site.requests if request.path == "/alarms"]
    assert {each["site"] for each in told} == {"shop"}
    state = await sites.site("shop")
    assert state.paused
    assert "title" in state.reason or "price" in state.reason
    row = await sites.seeding.row("all")
    assert row.running
    groups = await sites.items.groups(sites.team, site="shop")
    assert {(group.rule_version, group.reason) for group in groups} == {(1, "missing:price,missing:title")}
    broken = sum(group.count for group in groups)
    assert 5 <= broken < SLOW - BEFORE
    # Nothing sound was touched, nothing broken got through.
    assert await story.items() == dict.fromkeys(products(1, BEFORE), 1)
    assert story.rows() == products(1, BEFORE)

    story.noticed.set()

    # The rule is mended, and what was kept is read again: nothing is fetched for that.
    assert await story.publish(ConfigKind.RULE, "shop", MENDED) == 2
    done = await sites.reread("shop")
    assert (done.exceptions, done.unread) == (0, 0)
    assert done.items >= broken
    assert len(await story.items()) >= BEFORE + broken
    await sites.resume("shop")
    await story.until(story.over)

    # Nothing was lost, each page was asked for once, and all is in the warehouse.
    assert await story.items() == {
        **dict.fromkeys(products(1, BEFORE), 1),
        **dict.fromkeys(products(BEFORE + 1, ALL), 2),
    }
    assert await sites.items.exceptions(sites.team, site="shop") == []
    counts = site.counts("site")
    assert {path: n for path, n in counts.items() if path.startswith("/p/")} == {
        f"/p/{n}": 1 for n in range(1, ALL + 1)
    }
    await story.delivered(products(1, ALL))

    async def cleared() -> bool:
        return await sites.items.alarms(sites.team, site="shop") == []

    await story.until(cleared)
    assert len(await sites.items.alarms(sites.team, site="shop", is_open=False)) == 2
