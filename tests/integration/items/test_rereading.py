"""Exceptions are read again from their kept pages once the rule was mended, and nothing is fetched."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from tests.integration.items.conftest import SHOP, Shop, product

from perseid.errors import NotFound
from perseid.items import reading, rereading
from perseid.items.comparing import changes
from perseid.items.rereading import Reread, Rereader
from perseid.model.rule import Rule
from perseid.model.seed import Seed, UrlList
from perseid.ports.configs import ConfigKind
from perseid.ports.seeds import NewSeed


def rereader(shop: Shop) -> Rereader:
    return Rereader(shop.store.items, shop.store.seeds, shop.store.configs)


async def test_a_redesign_is_mended_without_a_fetch(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "CHUNK", 4)
    await shop.products(range(3))
    await shop.products(range(3, 13), heading="h2")
    assert len(await shop.titles()) == 3
    assert await rereader(shop).reread(1, "shop") == Reread(pages=10, exceptions=10), "the rule is the same"
    fields = {**SHOP["fields"], "title": {"css": "h1, h2", "required": True}}
    version = await shop.publish(fields=fields)
    heard: list[Reread] = []
    done = await rereader(shop).reread(1, "shop", rule_version=1, reason="missing:title", tell=heard.append)
    assert done == heard[-1] == Reread(pages=10, items=10)
    assert [each.pages for each in heard] == [4, 8, 10]
    assert sorted(await shop.titles()) == sorted(f"Product {n}" for n in range(13))
    assert await shop.store.items.groups(1) == []
    assert {item.rule_version for item in await shop.store.items.items(1)} == {1, version}
    assert (await shop.store.items.sink_states(1))[0].waiting == 13
    assert await rereader(shop).reread(1, "shop") == Reread()


async def test_what_stays_broken_stays_an_exception_of_the_newest_version(shop: Shop) -> None:
    await shop.products(range(2), heading="h2")
    await shop.products(range(2, 4), heading="h3")
    version = await shop.publish(fields={"title": {"css": "h2", "required": True}})
    assert await rereader(shop).reread(1, "shop") == Reread(pages=4, items=2, exceptions=2)
    (group,) = await shop.store.items.groups(1)
    assert (group.rule_version, group.reason, group.count) == (version, "missing:title", 2)


async def test_reading_again_may_be_stopped_and_goes_on(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "CHUNK", 2)
    await shop.products(range(6), heading="h2")
    await shop.publish(fields={"title": {"css": "h2", "required": True}})

    def stop(_done: Reread) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await rereader(shop).reread(1, "shop", tell=stop)
    assert len(await shop.titles()) == 2
    assert await rereader(shop).reread(1, "shop") == Reread(pages=4, items=4)


async def test_pages_of_a_seed_with_a_rule_of_its_own_are_read_by_that(shop: Shop) -> None:
    def rule(heading: str) -> Rule:
        return msgspec.convert({"site_id": "shop", "fields": {"title": _required(heading)}}, Rule)

    async def put(heading: str) -> None:
        spec = Seed(seed_id="s", site_id="shop", source=UrlList(urls=("x",)), rule=msgspec.to_builtins(rule(heading)))
        await shop.store.seeds.put_seed(NewSeed(team=1, seed="s", site="shop", spec=msgspec.json.encode(spec)))

    await put("h1")
    await shop.collect({"https://shop.example/1": product(1, heading="h2")}, own=rule("h1"), seed="s")
    await shop.collect({"https://shop.example/2": product(2, heading="h2")}, own=rule("h1"), seed="gone")
    await put("h2")
    assert await rereader(shop).reread(1, "shop") == Reread(pages=1, items=1, unread=1)
    assert await shop.titles() == ["Product 1"]


def _required(css: str) -> dict[str, object]:
    return {"from": [{"css": css}], "required": True}


async def test_large_pages_are_read_by_a_process_of_their_own(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "HEAVY_BYTES", 10)
    await shop.products([1], heading="h2")
    await shop.publish(fields={"title": {"css": "h2", "required": True}})
    assert await rereader(shop).reread(1, "shop") == Reread(pages=1, items=1)
    assert await shop.titles() == ["Product 1"]


async def test_a_page_that_held_nothing_is_an_exception_until_something_is_found_on_it(shop: Shop) -> None:
    by_title = {"by": "fields", "fields": ["title"]}
    await shop.publish(each=".product", unique_key=by_title)
    await shop.collect(
        {"https://shop.example/": "<div class=item><h1>One</h1></div><div class=item><h1>Two</h1></div>"}
    )
    (group,) = await shop.store.items.groups(1)
    assert (group.reason, group.count) == ("missing:*", 1)
    await shop.publish(each=".item", unique_key=by_title)
    assert await rereader(shop).reread(1, "shop") == Reread(pages=1, items=2)
    assert sorted(await shop.titles()) == ["One", "Two"]


async def test_a_site_without_a_rule_or_none_at_all_is_not_found(shop: Shop) -> None:
    with pytest.raises(NotFound, match="no site 'nowhere'"):
        await rereader(shop).reread(1, "nowhere")
    await shop.products([1], heading="h2")
    await shop.store.configs.retire(1, ConfigKind.RULE, "shop")
    with pytest.raises(NotFound, match="nobody has published a rule"):
        await rereader(shop).reread(1, "shop")


async def test_two_versions_are_compared_on_all_kept_pages_and_nothing_is_written(shop: Shop) -> None:
    await shop.products(range(30))
    await shop.products([30], heading="h2")
    before = await shop.store.items.items(1, limit=1_000)
    first = await shop.rule(shop.version)
    other = await shop.rule(await shop.publish(fields={"title": {"css": "h1, h2", "required": True}}))
    found = [change async for change in changes(shop.store.items, shop.row.id, first, other)]
    assert len(found) == 31, "the price is gone from all"
    assert [change.url for change in found if change.mended] == ["https://shop.example/30"]
    assert await shop.store.items.items(1, limit=1_000) == before
