"""Crawls that were over and go on: pages appended to a batch, and what a crawl keeps of the time before."""

from __future__ import annotations

import pytest

from perseid.errors import StoreError
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.terms import EventKind
from perseid.ports.outbox import Attempt
from perseid.ports.work import Failed
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Desk, ended, links, page


async def test_urls_appended_to_a_batch_are_fetched(desk: Desk) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH)
    assert await desk.store.append(crawl, links("b", "a")) == 2
    assert await desk.drain() == [page(name).url for name in "aba"]
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done) == (CrawlStatus.COMPLETED, 3)


@pytest.mark.parametrize("swept", [False, True])
async def test_a_batch_that_had_completed_goes_on(desk: Desk, *, swept: bool) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH, max_concurrency=1)
    await desk.drain()
    if swept:
        await desk.sweep_all()
    assert await desk.store.append(crawl, links("b", "c")) == 2
    seen = await desk.look(crawl)
    assert (seen.status, seen.ended_at, seen.counts.open) == (CrawlStatus.SCRAPING, None, 2)
    (lease,) = await desk.claim_all()
    assert lease.url == page("b").url, "its limit of one at a time holds on"
    await desk.finish(lease)
    await desk.drain()
    await desk.sweep_all()
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED
    assert await desk.documents(crawl) == [page(name).url for name in "abc"]


async def test_nothing_appended_reopens_nothing(desk: Desk) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH, limit=1)
    await desk.drain()
    before = await desk.look(crawl)
    assert await desk.store.append(crawl, []) == 0
    assert await desk.store.append(crawl, links("b")) == 0, "the limit is reached"
    seen = await desk.look(crawl)
    assert (seen.status, seen.ended_at) == (CrawlStatus.COMPLETED, before.ended_at)


@pytest.mark.parametrize("how", ["cancelled", "failed", "expired", "pruned"])
async def test_a_batch_that_was_stopped_or_forgotten_takes_nothing(desk: Desk, how: str) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH, ttl_us=SECOND)
    if how == "cancelled":
        await desk.store.cancel(crawl)
    elif how == "failed":
        await desk.store.fail(crawl, "x")
    else:
        await desk.drain()
        desk.clock.advance(SECOND)
    if how == "pruned":
        assert await desk.store.prune(ended_before_us=0) == [crawl]
    assert await desk.store.append(crawl, links("b")) == 0
    assert await desk.claim_all() == []


async def test_only_a_batch_takes_further_urls(desk: Desk) -> None:
    crawl = await desk.start("a")
    with pytest.raises(StoreError, match="batch"):
        await desk.store.append(crawl, links("b"))


async def test_a_deadline_runs_anew(desk: Desk) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH, deadline_us=10 * SECOND)
    await desk.drain()
    for rounds in (1, 2):
        desk.clock.advance(60 * SECOND)
        assert await desk.store.append(crawl, links("b", "c")) == 2
        await desk.sweep_all()
        await desk.finish(await desk.one())
        desk.clock.advance(11 * SECOND)
        await desk.sweep_all()
        assert await desk.store.failure_counts(crawl) == {"crawl_deadline": rounds}


async def test_an_end_that_nobody_was_told_of_yet_is_told_once(desk: Desk) -> None:
    wanted = EventKind.PAGE | EventKind.COMPLETED
    crawl = await desk.start("a", kind=CrawlKind.BATCH, events=int(wanted))
    await desk.drain()
    assert await desk.store.append(crawl, links("b")) == 1
    await desk.drain()
    told = []
    while events := await desk.store.outbox.take_events(10, lease_us=SECOND):
        for event in events:
            told.append(event.kind)
            attempt = Attempt(desk.clock.now, event.uid, event.kind, "https://hook.example/", 1, 200, "", 1, final=True)
            await desk.store.outbox.settle(event, attempt, again_in_us=None)
    assert told == [EventKind.PAGE, EventKind.PAGE, EventKind.COMPLETED]


@pytest.mark.parametrize("swept", [False, True])
async def test_a_delay_is_kept_by_a_page_that_is_tried_again(desk: Desk, *, swept: bool) -> None:
    await desk.start("a", delay_us=10 * SECOND)
    lease = await desk.one()
    await desk.step([ended(lease, end=Failed(code="timeout", message=""))])
    if swept:
        await desk.sweep_all()
    desk.clock.advance(SECOND)
    assert await desk.store.retry_jobs([lease.job]) == 1
    await _is_claimed_in_time(desk)


@pytest.mark.parametrize("swept", [False, True])
async def test_a_delay_is_kept_by_a_page_that_is_appended(desk: Desk, *, swept: bool) -> None:
    crawl = await desk.start("a", kind=CrawlKind.BATCH, delay_us=10 * SECOND)
    await desk.drain()
    if swept:
        await desk.sweep_all()
    desk.clock.advance(SECOND)
    assert await desk.store.append(crawl, links("b")) == 1
    await _is_claimed_in_time(desk)


async def _is_claimed_in_time(desk: Desk) -> None:
    """One page of a crawl with a delay of 10 s, whose last one was asked for a second ago."""
    result = await desk.step((), 1)
    assert result.leases == []
    assert result.wait_us is not None
    assert 9 * SECOND <= result.wait_us <= 10 * SECOND
    desk.clock.advance(result.wait_us)
    await desk.finish(await desk.one())
