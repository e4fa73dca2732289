"""An alarm is raised once when too many items lack a field, told of once, and cleared when the rule reads it again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.integration.items.conftest import SHOP, Shop

from perseid.items.alarms import Watch
from perseid.items.rereading import Rereader
from perseid.items.telling import Teller
from perseid.ports.configs import ConfigKind
from perseid.ports.hook import Delivery, Reception
from perseid.ports.items import Alarm

ALERT: dict[str, Any] = {"field": "*", "empty_rate": 0.5, "window": "1h", "min_items": 10}


class Receiver:
    """Answers as it is told to, and remembers."""

    def __init__(self) -> None:
        self.status: int | None = 200
        self.heard: list[dict[str, Any]] = []

    async def post(self, delivery: Delivery) -> Reception:
        assert (delivery.url, delivery.trusted) == ("https://ops.example/", True)
        if self.status == 200:
            self.heard.append(json.loads(delivery.body))
        return Reception(self.status, "" if self.status == 200 else "away", 1)

    async def close(self) -> None: ...


class Log:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def trouble(self, event: str, message: str) -> None:
        self.events.append((event, message))


class Tower:
    """The watch of one process, and who tells of what it sees."""

    def __init__(self, shop: Shop, receiver: Receiver) -> None:
        store = shop.store
        self.log = Log()
        self.watch = Watch(store.items, store.seeds, store.configs, store, clock=shop.clock)
        self.teller = Teller(
            store.items,
            clock=shop.clock,
            telemetry=self.log,
            hook=receiver,
            url="https://ops.example/",  # type: ignore[arg-type]  # only what it uses
        )

    async def look(self) -> None:
        await self.watch.round()
        await self.teller.round()


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def tower(shop: Shop, receiver: Receiver) -> Tower:
    return Tower(shop, receiver)


async def opened(shop: Shop) -> list[Alarm]:
    return await shop.store.items.alarms(1)


async def test_a_broken_rule_is_noticed_told_of_once_and_mended(shop: Shop, tower: Tower, receiver: Receiver) -> None:
    version = await shop.publish(alerts=[ALERT])
    await shop.products(range(20))
    await tower.look()
    assert await opened(shop) == []
    await shop.products(range(20, 60), heading="h2")
    other = Tower(shop, receiver)
    for each in (tower, other, tower):
        await each.look()
    (alarm,) = await opened(shop)
    assert (alarm.site, alarm.rule_version, alarm.field, alarm.n, alarm.paused) == ("shop", version, "title", 60, False)
    assert alarm.rate == pytest.approx(2 / 3, abs=1e-6)
    (heard,) = receiver.heard
    assert (heard["type"], heard["site"], heard["field"], heard["cleared_at"]) == (
        "alarm.raised",
        "shop",
        "title",
        None,
    )
    message = f"shop: 67% of 60 items lack 'title' under version {version} of the rule"
    assert tower.log.events + other.log.events == [("alarm.raised", message)]
    assert not (await _site(shop)).paused

    await shop.publish(alerts=[ALERT], fields={"title": {"css": "h1, h2", "required": True}})
    await tower.look()
    assert await opened(shop) == [alarm], "nothing was read by the new version yet"
    await Rereader(shop.store.items, shop.store.seeds, shop.store.configs).reread(1, "shop")
    await tower.look()
    assert await opened(shop) == []
    assert [each["type"] for each in receiver.heard] == ["alarm.raised", "alarm.cleared"]
    assert tower.log.events[-1] == ("alarm.cleared", f"{message}: no more")


async def test_too_few_items_or_old_ones_raise_no_alarm(shop: Shop, tower: Tower) -> None:
    await shop.publish(alerts=[ALERT])
    await shop.products(range(9), heading="h2")
    await tower.look()
    assert await opened(shop) == []
    await shop.clock.advance(2 * 3_600)
    await shop.products(range(9, 18), heading="h2")
    await tower.look()
    assert await opened(shop) == [], "nine of the last hour"
    await shop.products([18], heading="h2")
    await tower.look()
    assert len(await opened(shop)) == 1


async def test_an_alert_may_pause_the_site_until_somebody_looks(shop: Shop, tower: Tower) -> None:
    warning, worse = {**ALERT, "empty_rate": 0.2}, {**ALERT, "empty_rate": 0.8, "pause": True}
    await shop.publish(alerts=[warning, worse])
    await shop.products(range(20))
    await shop.products(range(20, 30), heading="h2")
    await tower.look()
    (alarm,) = await opened(shop)
    assert not alarm.paused
    await shop.products(range(30, 130), heading="h2")
    await tower.look()
    (alarm,) = await opened(shop)
    assert alarm.paused
    row = await _site(shop)
    assert (row.paused, row.reason[:8]) == (True, "85% of 1")
    await shop.store.seeds.pause_site(row.id, None)
    await tower.look()
    assert not (await _site(shop)).paused, "who resumed it has looked"


async def test_an_alert_of_one_field_looks_at_no_other(shop: Shop, tower: Tower) -> None:
    await shop.publish(alerts=[{**ALERT, "field": "price"}])
    await shop.products(range(20), heading="h2")
    await tower.look()
    assert await opened(shop) == []
    await shop.products(range(20, 60), price="cost")
    await tower.look()
    assert [alarm.field for alarm in await opened(shop)] == ["price"]


async def test_pages_without_any_item_count(shop: Shop, tower: Tower) -> None:
    await shop.publish(alerts=[ALERT], each=".product", unique_key={"by": "content"})
    await shop.products(range(12))
    await tower.look()
    assert [(alarm.field, alarm.n) for alarm in await opened(shop)] == [("title", 12)]


async def test_an_alarm_ends_when_the_field_is_read_again_or_nobody_asks_for_it(shop: Shop, tower: Tower) -> None:
    await shop.publish(alerts=[ALERT])
    await shop.products(range(20), heading="h2")
    await tower.look()
    await shop.products(range(20, 100))
    await tower.look()
    assert await opened(shop) == []
    await shop.products(range(100, 300), heading="h2")
    await tower.look()
    assert len(await opened(shop)) == 1
    await shop.store.configs.retire(1, ConfigKind.RULE, "shop")
    await tower.look()
    assert await opened(shop) == []


async def test_a_receiver_that_is_away_is_told_later_and_the_log_once(
    shop: Shop, tower: Tower, receiver: Receiver
) -> None:
    receiver.status = None
    await shop.publish(alerts=[ALERT], fields=SHOP["fields"])
    await shop.products(range(20), heading="h2")
    await tower.look()
    await tower.look()
    await shop.clock.advance(60)
    await tower.look()
    assert [event for event, _message in tower.log.events] == ["alarm.raised", *["webhook.unreachable"] * 2]
    receiver.status = 200
    await shop.clock.advance(60)
    await tower.look()
    assert len(receiver.heard) == 1
    receiver.status = None
    await shop.clock.advance(60)
    await tower.look()
    assert len(tower.log.events) == 3


async def _site(shop: Shop) -> Any:
    found = await shop.store.seeds.site(1, "shop")
    assert found is not None
    return found
