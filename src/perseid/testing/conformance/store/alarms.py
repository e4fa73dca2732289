"""What items lack is counted, and alarms about it are raised, told of and cleared once."""

from __future__ import annotations

from typing import Any

from perseid.ports.items import (
    Alarm,
    FieldRate,
    FieldSeen,
    Harvest,
)
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk
from perseid.testing.conformance.store.harvests import bring, harvest, site

MINUTE = 60 * SECOND


async def test_fields_are_counted_by_the_minute_of_their_fetch(desk: Desk) -> None:
    shop, items, now = await site(desk), desk.store.items, desk.clock.now // MINUTE * MINUTE

    async def at(minute: int, *seen: FieldSeen, version: int = 1) -> Harvest:
        return await harvest(desk, seen=seen, fetched_at=now + minute * MINUTE, rule_version=version)

    await bring(
        desk,
        await at(0, FieldSeen("title", 10, 1), FieldSeen("price", 10, 10)),
        await at(0, FieldSeen("title", 5, 2)),
        await at(1, FieldSeen("title", 1, 1)),
        await at(1, FieldSeen("title", 7, 0), version=2),
    )
    await bring(desk, await at(1, FieldSeen("title", 1, 0)))
    later = [FieldRate(1, "title", 2, 1), FieldRate(2, "title", 7, 0)]
    assert await items.field_rates(shop, since=now + MINUTE + SECOND) == later
    assert sorted(await items.field_rates(shop, since=0)) == [
        FieldRate(1, "price", 10, 10), FieldRate(1, "title", 17, 4), FieldRate(2, "title", 7, 0),
    ]  # fmt: skip
    assert await items.field_rates(await site(desk, "news"), since=0) == []
    assert await items.watched_sites(since=now + MINUTE) == [shop]
    assert await items.watched_sites(since=now + 2 * MINUTE) == []
    assert await items.forget_rates(before=now + MINUTE) == 2
    assert await items.field_rates(shop, since=0) == later


async def test_an_alarm_is_raised_once_until_it_is_cleared(desk: Desk) -> None:
    shop, items = await site(desk), desk.store.items
    alarm = Alarm(id=0, team=1, site="shop", rule_version=2, field="title", rate=0.35, n=40, at=desk.clock.now)
    raised = await items.raise_alarm(shop, alarm)
    assert raised is not None
    assert raised.id > 0
    assert await items.raise_alarm(shop, alarm) is None
    other = await items.raise_alarm(shop, Alarm(**{**_fields(alarm), "field": "price", "paused": True}))
    assert other is not None
    assert await items.alarms(1) == [other, raised]
    assert await items.alarms(2) == await items.alarms(1, site="news") == []
    desk.clock.advance(SECOND)
    assert await items.clear_alarm(raised.id)
    assert not await items.clear_alarm(raised.id)
    assert await items.alarms(1, site="shop") == [other]
    (newest, cleared) = await items.alarms(1, is_open=False)
    assert (newest, cleared.cleared_at) == (other, desk.clock.now)
    assert await items.raise_alarm(shop, alarm) is not None


async def test_one_tells_of_an_alarm_when_it_is_raised_and_when_it_is_cleared(desk: Desk, bench: Bench) -> None:
    shop, items, other = await site(desk), desk.store.items, (await bench.twin(desk)).store.items
    alarm = Alarm(id=0, team=1, site="shop", rule_version=2, field="title", rate=0.35, n=40, at=desk.clock.now)
    raised = await items.raise_alarm(shop, alarm)
    assert raised is not None
    assert await items.take_news(lease_us=SECOND) == [raised]
    assert await items.take_news(lease_us=SECOND) == await other.take_news(lease_us=SECOND) == []
    desk.clock.advance(SECOND)
    assert await other.take_news(lease_us=SECOND) == [raised], "who took it did not tell"
    assert await items.clear_alarm(raised.id)
    await other.told(raised)
    (cleared,) = await items.take_news(lease_us=SECOND)
    assert (cleared.id, cleared.cleared_at) == (raised.id, desk.clock.now)
    await items.told(cleared)
    desk.clock.advance(2 * SECOND)
    assert await items.take_news(lease_us=SECOND) == []


def _fields(alarm: Alarm) -> dict[str, Any]:
    return {name: getattr(alarm, name) for name in alarm.__struct_fields__}
