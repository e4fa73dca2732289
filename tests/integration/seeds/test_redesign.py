"""A site that is redesigned is noticed, held, told of, mended by a published version and read again, with no restart."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from tests.integration.seeds.conftest import SHOP, OpenFarm, product

from perseid.testing import Site

RULE = {
    **SHOP,
    "start": "detail",
    "recollect_after": "1ms",
    "alerts": {"empty_rate": 0.5, "min_items": 5, "window": "1h", "pause": True},
}


def told(site: Site) -> list[dict[str, Any]]:
    """What the operator's receiver was sent."""
    return [json.loads(request.body) for request in site.requests if request.path == "/alarms"]


async def test_a_redesign_is_noticed_held_mended_and_read_again(open_farm: OpenFarm, site: Site) -> None:
    site.page("/alarms", "thanks")
    farm = await open_farm(alerts={"webhook": site.url("/alarms"), "every_s": 0.05})
    paths = [f"/p/{number}" for number in range(20)]
    for number, path in enumerate(paths[:5]):
        site.page(path, product(number))
    for number, path in enumerate(paths[5:], 5):
        site.page(path, product(number).replace("h1", "h2"))
    await farm.publish(RULE)
    items, until = farm.store.items, partial(farm.lab.until, timeout_s=60.0)
    async with await farm.working():
        await farm.put(urls=[site.url(path) for path in paths[:5]])
        await until(lambda: _reached(farm, items=5))
        await farm.put(urls=[site.url(path) for path in paths])

        async def raised() -> bool:
            return await items.alarms(1) != []

        await until(raised)
        assert (await farm.sites.site("shop")).paused, "paused first, and then told"
        (alarm,) = await items.alarms(1)
        assert (alarm.field, alarm.rule_version, alarm.paused) == ("title", 1, True)
        assert "lack 'title'" in (await farm.sites.site("shop")).reason
        await farm.sites.resume("shop")
        await until(lambda: _reached(farm, exceptions=15))
        (group,) = await items.groups(1)
        assert (group.reason, group.count) == ("missing:title", 15)
        fetched = site.counts()

        await farm.publish({**RULE, "fields": {"title": {"css": "h1, h2", "required": True}}})
        done = await farm.sites.reread("shop", reason="missing:title")
        assert (done.pages, done.items, done.exceptions) == (15, 15, 0)

        async def cleared() -> bool:
            return await items.alarms(1) == []

        await until(cleared)
        await until(lambda: _told(site, 2))
        assert {path: n for path, n in site.counts().items() if path != "/alarms"} == {
            path: n for path, n in fetched.items() if path != "/alarms"
        }
    found = await farm.collected()
    assert found.titles == sorted(f"Product {number}" for number in range(20))
    assert found.exceptions == []
    assert {item.rule_version for item in found.items} == {1, 2}
    assert [event["type"] for event in told(site)] == ["alarm.raised", "alarm.cleared"]


async def _reached(farm: Any, *, items: int = 0, exceptions: int = 0) -> bool:
    found = farm.store.items
    return len(await found.items(1)) >= items and len(await found.exceptions(1)) >= exceptions


async def _told(site: Site, times: int) -> bool:
    return len(told(site)) >= times
