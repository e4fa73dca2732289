"""Steps, deliveries and clean-up of the same crawls by many processes: no deadlock, and each event told in its order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator

import pytest

from perseid.model.ids import CrawlId
from perseid.model.terms import EventKind
from perseid.ports.outbox import Attempt, Event
from perseid.ports.store import NewCrawl
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.store.desk import FREE, HOME, ended, page
from perseid.testing.postgres import url_of

CRAWLS = 4
PAGES = 120
ALL = int(EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED)


@pytest.fixture
async def fleet(name: str) -> AsyncIterator[list[PgStore]]:
    """Processes on one database."""
    stores = [await PgStore.open(url_of(name), defaults=FREE, connections=4) for _ in range(4)]
    yield stores
    for store in stores:
        await store.close()


async def work(store: PgStore, left: set[CrawlId]) -> None:
    worker = await store.register("here", 1, 1)
    finished: list[object] = []
    while left:
        result = await store.step(worker, finished, 9)  # type: ignore[arg-type]  # what `ended` gives
        finished = [ended(lease) for lease in result.leases]
        if not finished:
            await asyncio.sleep(0)
            left -= {crawl.id for crawl in await store.crawls() if not crawl.counts.open}


class Receiver:
    """Takes most of what it is sent, in the order of its telling."""

    def __init__(self, seed: int) -> None:
        self.told: dict[CrawlId, list[Event]] = defaultdict(list)
        self.chance = random.Random(seed)

    async def listen(self, store: PgStore, crawls: set[CrawlId]) -> None:
        while any(not self.last(crawl) for crawl in crawls):
            events = await store.outbox.take_events(20, lease_us=60_000_000)
            away = [event for event in events if self.chance.random() < 0.1]
            await store.outbox.put_back(away, in_us=0)
            await asyncio.gather(*(self.take(store, event) for event in events if event not in away))
            await asyncio.sleep(0)

    async def take(self, store: PgStore, event: Event) -> None:
        again = self.chance.random() < 0.1
        attempt = Attempt(1, event.uid, event.kind, "https://r.example/", 1, 500 if again else 200, "", 1, not again)
        if await store.outbox.settle(event, attempt, again_in_us=0 if again else None) and not again:
            self.told[event.crawl].append(event)

    def last(self, crawl: CrawlId) -> bool:
        return bool(self.told[crawl]) and self.told[crawl][-1].kind is EventKind.COMPLETED


@pytest.mark.parametrize("seed", range(2))
async def test_many_processes_step_deliver_and_forget(fleet: list[PgStore], seed: int) -> None:
    crawls: set[CrawlId] = set()
    for n in range(CRAWLS):
        first = tuple(page(f"https://h{i % 7}.example/{n}/{i}") for i in range(PAGES))
        new = NewCrawl(uid=f"c{n}", url=HOME, options=b"", key_seed=1, events=ALL, zero_retention=True, first=first)
        crawls.add(await fleet[n].start(new))
    receiver = Receiver(seed)
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        for store in fleet:
            group.create_task(work(store, set(crawls)))
            group.create_task(receiver.listen(store, crawls))
    for crawl in crawls:
        kinds = [event.kind for event in receiver.told[crawl]]
        assert Counter(kinds) == {EventKind.STARTED: 1, EventKind.PAGE: PAGES, EventKind.COMPLETED: 1}
        assert kinds[-1] is EventKind.COMPLETED
        assert len({event.uid for event in receiver.told[crawl]}) == PAGES + 2
    assert await fleet[0].outbox.next_event_us() is None
    while await fleet[0].sweep():
        pass
    assert set(await fleet[0].erasures()) == crawls, "all was told and taken"
    results = await asyncio.gather(
        fleet[0].erase(*crawls), fleet[1].erase(*crawls), fleet[2].prune(ended_before_us=2**62), fleet[3].prune()
    )
    assert set(results[2] + results[3]) == crawls
    assert await fleet[0].audit() == []
    assert [store.clashes for store in fleet] == [Counter()] * 4


async def test_crawls_are_pruned_while_their_events_are_delivered(fleet: list[PgStore]) -> None:
    crawls: set[CrawlId] = set()
    for n in range(40):
        first = tuple(page(f"https://h.example/{n}/{i}") for i in range(20))
        new = NewCrawl(uid=f"c{n}", url=HOME, options=b"", key_seed=1, events=ALL, first=first)
        crawls.add(await fleet[0].start(new))
    await work(fleet[0], set(crawls))
    while await fleet[0].sweep():
        pass
    pruned = False

    async def deliver(store: PgStore) -> None:
        while not pruned:
            events = await store.outbox.take_events(30, lease_us=60_000_000)
            tries = [Attempt(1, event.uid, event.kind, "u", 1, 200, "", 1, final=True) for event in events]
            await asyncio.gather(
                *(store.outbox.settle(*pair, again_in_us=None) for pair in zip(events, tries, strict=True))
            )
            await store.outbox.put_back(events, in_us=0)

    async def prune() -> None:
        nonlocal pruned
        try:
            for crawl in sorted(crawls):
                assert await fleet[3].prune(ended_before_us=2**62, crawl=crawl) == [crawl]
        finally:
            pruned = True

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for store in fleet[:3]:
            group.create_task(deliver(store))
        group.create_task(prune())
    assert [store.clashes for store in fleet] == [Counter()] * 4
    left = "SELECT (SELECT count(*) FROM delivery) + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM outbox_lane)"
    assert [tuple(row) for row in await fleet[0]._all(left)] == [(0,)]
