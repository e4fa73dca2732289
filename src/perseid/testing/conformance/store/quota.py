"""A team's pages of a month: what may bring more than is left is not begun, however many begin at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.errors import QuotaExceeded
from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.ports.teams import Team
from perseid.ports.work import Failed
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended, page
from perseid.testing.conformance.store.waited import ONE_A_HOST, take, taken

MONTH = 31 * 86_400 * SECOND


async def allow(desk: Desk, pages: int | None) -> None:
    await desk.store.put_team(Team(id=1, name="default", max_active=None, pages_per_period=pages))


async def batch(desk: Desk, *urls: str, **fields: Any) -> CrawlId:
    return await desk.start(*urls, kind=CrawlKind.BATCH, **fields)


async def test_a_batch_needs_as_many_as_it_has_pages(desk: Desk) -> None:
    await allow(desk, 3)
    with pytest.raises(QuotaExceeded) as refused:
        await batch(desk, *"abcd")
    assert refused.value.left == 3
    await batch(desk, *"abc")
    with pytest.raises(QuotaExceeded) as refused:
        await batch(desk, "a")
    assert refused.value.left == 0


async def test_a_crawl_needs_its_limit(desk: Desk) -> None:
    await allow(desk, 10)
    for limit in (11, None):
        with pytest.raises(QuotaExceeded) as refused:
            await desk.start("a", limit=limit)
        assert refused.value.left == 10
    await desk.start("a", limit=7)
    with pytest.raises(QuotaExceeded) as refused:
        await desk.start("a", limit=4)
    assert refused.value.left == 3
    await desk.start("a", limit=3)


async def test_what_a_crawl_did_not_need_is_there_again(desk: Desk) -> None:
    await allow(desk, 10)
    crawl = await desk.start("a", "b", limit=10)
    first, second = await desk.claim_all()
    await desk.finish(first)
    with pytest.raises(QuotaExceeded):
        await batch(desk, "c")
    await desk.finish(second, end=Failed(code="timeout", message=""))
    assert (await desk.look(crawl)).counts.open == 0
    await batch(desk, *"abcdefghi")
    with pytest.raises(QuotaExceeded):
        await batch(desk, "x")


async def test_a_cancelled_crawl_keeps_nothing_back(desk: Desk) -> None:
    await allow(desk, 2)
    await desk.store.cancel(await batch(desk, *"ab"))
    await batch(desk, *"ab")


async def test_a_scrape_needs_one(desk: Desk) -> None:
    await allow(desk, 2)
    _crawl, lease = await taken(desk)
    await taken(desk)
    with pytest.raises(QuotaExceeded):
        await take(desk)
    await desk.finish(lease)
    with pytest.raises(QuotaExceeded):
        await take(desk)
    assert [usage.pages for usage in await desk.store.usage(1)] == [1]


async def test_a_map_needs_none(desk: Desk) -> None:
    await allow(desk, 0)
    await desk.start("a", kind=CrawlKind.MAP, limit=5_000)


async def test_further_pages_of_a_batch_need_as_many(desk: Desk) -> None:
    await allow(desk, 3)
    crawl = await batch(desk, "a")
    with pytest.raises(QuotaExceeded) as refused:
        await desk.store.append(crawl, [page("https://site.example/b"), page("https://site.example/c")] * 2)
    assert refused.value.left == 2
    assert await desk.store.append(crawl, [page("https://site.example/b"), page("https://site.example/c")]) == 2


async def test_a_new_month_begins_with_all_of_them(desk: Desk) -> None:
    await allow(desk, 1)
    await batch(desk, "a")
    await desk.step([ended(await desk.one())])
    with pytest.raises(QuotaExceeded):
        await batch(desk, "a")
    desk.clock.advance(MONTH)
    await batch(desk, "a")


async def test_teams_without_a_quota_begin_what_they_like(desk: Desk) -> None:
    await allow(desk, 0)
    await desk.start("a", team=2)
    await batch(desk, *"abc", team=2)
    await allow(desk, None)
    await desk.start("a")


async def test_a_refusal_leaves_nothing(desk: Desk) -> None:
    await allow(desk, 1)
    with pytest.raises(QuotaExceeded):
        await batch(desk, "a", "b", idempotency_key="k")
    assert await desk.store.crawls() == []
    await batch(desk, "a", idempotency_key="k")


async def test_those_that_begin_at_once_share_what_is_left(desk: Desk, bench: Bench) -> None:
    await allow(desk, 5)
    twin = await bench.twin(desk)
    begun = await asyncio.gather(
        *[batch(each, "a") for each in (desk, twin) * 6],
        *[take(each, uid=f"scrape {number}") for number, each in enumerate((desk, twin) * 6)],
        return_exceptions=True,
    )
    refused = [each for each in begun if isinstance(each, BaseException)]
    assert {type(each) for each in refused} == {QuotaExceeded}
    assert len(begun) - len(refused) == 5


async def test_scrapes_that_must_wait_count_among_those_that_begin_at_once(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await allow(desk, 3)
    begun = await asyncio.gather(*[take(desk, uid=f"scrape {number}") for number in range(8)], return_exceptions=True)
    assert sum(isinstance(each, QuotaExceeded) for each in begun) == 5
    assert len([each for each in begun if not isinstance(each, BaseException) and each[1] is not None]) == 1
