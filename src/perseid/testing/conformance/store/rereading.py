"""Pages are kept for reading them again, and what that gives is written as if their tasks had just ended."""

from __future__ import annotations

import asyncio
from typing import Any

from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, page
from perseid.testing.conformance.store.harvests import bring, broken, content, harvest, kept, keys, site


async def test_the_newest_page_is_kept_for_reading_it_again(desk: Desk) -> None:
    shop, url, now = await site(desk), page("a").url, desk.clock.now
    await bring(desk, await harvest(desk, page=kept(b"new"), rule_version=4, seed="s"))
    await bring(desk, await harvest(desk, page=kept(b"old"), fetched_at=now - 1))
    found = await desk.store.items.page(shop, url)
    assert found == kept(b"new", fetched_at=now)
    (one,) = await desk.store.items.pages(shop)
    assert (one.url, one.rule_version, one.seed, one.page) == (url, 4, "s", found)
    assert await desk.store.items.page(shop, page("b").url) is None


async def test_a_page_that_was_not_kept_takes_an_older_one_away(desk: Desk) -> None:
    shop = await site(desk)
    await bring(desk, await harvest(desk, page=kept()))
    await bring(desk, await harvest(desk))
    assert await desk.store.items.page(shop, page("a").url) is not None
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk))
    assert await desk.store.items.page(shop, page("a").url) is None
    assert await desk.store.items.pages(shop) == []


async def test_pages_are_listed_in_one_order_and_forgotten_by_age_unless_something_is_wrong_with_them(
    desk: Desk,
) -> None:
    shop, items = await site(desk), desk.store.items
    urls = [page(f"p{n}").url for n in range(5)]
    for n, url in enumerate(urls):
        await bring(desk, await harvest(desk, page=kept(), url=url, exceptions=[broken()] if n == 1 else []))
        desk.clock.advance(SECOND)
    first = await items.pages(shop, limit=2)
    assert [row.url for row in first + await items.pages(shop, after=first[-1].id)] == urls
    assert [row.url for row in await items.broken_pages(1, site="shop")] == [urls[1]]
    assert await items.forget_pages(fetched_before=desk.clock.now - 2 * SECOND, limit=1) == 1
    assert await items.forget_pages(fetched_before=desk.clock.now - 2 * SECOND) == 1
    assert [row.url for row in await items.pages(shop)] == [urls[1], urls[3], urls[4]]


async def test_broken_pages_are_those_of_a_group_once_each(desk: Desk) -> None:
    urls = [page(f"p{n}").url for n in range(4)]
    two = [broken("x"), broken("y"), broken("z", "invalid:price")]
    await bring(desk, *[await harvest(desk, url=page(f"bare{n}").url, exceptions=two) for n in range(3)])
    await bring(desk, *[await harvest(desk, page=kept(), url=url, exceptions=two) for url in urls])
    wanted: dict[str, Any] = {"site": "shop", "rule_version": 1, "reason": "missing:title"}
    first = await desk.store.items.broken_pages(1, **wanted, limit=3)
    rest = await desk.store.items.broken_pages(1, **wanted, after=first[-1].id)
    assert sorted(row.url for row in first + rest) == urls
    assert await desk.store.items.broken_pages(1, site="shop", rule_version=2) == []


async def test_what_is_read_again_is_written_as_if_its_task_had_just_ended(desk: Desk) -> None:
    items = desk.store.items
    crawl = await bring(desk, await harvest(desk, exceptions=[broken("x"), broken("y")], page=kept(), seed="s"))
    before = await items.run_stats(crawl)
    (task,) = {row.task for row in await items.exceptions(1)}
    found = await harvest(desk, "x", exceptions=[broken("y", "invalid:y")], rule_version=2, sinks=["out"])
    assert await items.reread([found]) == 1
    (item,) = await items.items(1)
    assert (item.key, item.rule_version, item.task, item.seed) == ("x", 2, task, "s")
    assert [(row.key, row.reason, row.task) for row in await items.exceptions(1)] == [("y", "invalid:y", task)]
    assert (await items.sink_states(1))[0].waiting == 1
    assert await items.run_stats(crawl) == before
    assert await items.page(found.site, found.url) is not None
    assert await items.reread([found]) == 0, "nothing is new about it"


async def test_nothing_is_read_again_from_a_page_that_was_fetched_anew_or_is_gone(desk: Desk) -> None:
    old = await harvest(desk, exceptions=[broken("x")], page=kept())
    await bring(desk, old)
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk, ("x", "new")))
    late = await harvest(desk, ("x", "old"), "z", rule_version=2, fetched_at=old.fetched_at)
    gone = await harvest(desk, "z", url=page("nowhere").url)
    assert await desk.store.items.reread([late, gone]) == 0
    assert await keys(desk) == ["x"]
    assert await content(desk, "x") == b"new"


async def test_an_older_version_does_not_undo_what_a_newer_one_read(desk: Desk) -> None:
    await bring(desk, await harvest(desk, page=kept(), exceptions=[broken("x")]))
    assert await desk.store.items.reread([await harvest(desk, ("x", "3"), rule_version=3)]) == 1
    assert await desk.store.items.reread([await harvest(desk, exceptions=[broken("x")], rule_version=2)]) == 0
    assert await desk.store.items.exceptions(1) == []
    assert await content(desk, "x") == b"3"


async def test_reading_again_while_a_new_fetch_lands_never_undoes_it(desk: Desk, bench: Bench) -> None:
    twin, urls = await bench.twin(desk), [page(f"p{n}").url for n in range(10)]
    await bring(desk, *[await harvest(desk, url=url, page=kept(), exceptions=[broken(url)]) for url in urls])
    again = [await harvest(desk, (url, "old"), url=url, rule_version=2) for url in urls]
    desk.clock.advance(SECOND)
    fresh = [await harvest(desk, (url, "new"), url=url, rule_version=2, page=kept(b"new")) for url in reversed(urls)]
    await asyncio.gather(desk.store.items.reread(again), bring(twin, *fresh))
    found = await desk.store.items.items(1)
    assert {item.fields for item in found} == {b"new"}
    assert len(found) == len(urls)
    assert await desk.store.items.exceptions(1) == []
