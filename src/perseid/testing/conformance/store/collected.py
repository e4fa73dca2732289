"""Pages that were collected are known by their keys, exactly, in the order of their first time."""

from __future__ import annotations

import pytest

from perseid.model.job import JobKind
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import Harvest, NewItem, RunStats
from perseid.ports.seeds import Begin
from perseid.ports.work import Done, Lease
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended
from perseid.testing.conformance.store.runs import task
from perseid.testing.conformance.store.seeding import begin, key, put, read


async def collect(desk: Desk, *urls: str) -> int:
    """A run whose tasks collect these pages; its site's number."""
    site = (await desk.store.seeds.put_site(1, "news")).id
    await begin(desk, await put(desk), *urls)
    finished = []
    for lease in await desk.claim_all():
        harvest = None
        if lease.kind is JobKind.TASK:
            harvest = Harvest(
                team=1, site=site, rule_version=1, url=lease.url, fetched_at=desk.clock.now, key=key(lease.url)
            )
        finished.append(ended(lease, end=Done(), harvest=harvest))
    await desk.step(finished)
    return site


def keys(*urls: str) -> list[bytes]:
    return [key(task(url).url) for url in urls]


async def test_what_was_collected_is_known_with_its_time(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    first_at = desk.clock.now
    site = await collect(desk, "a", "b")
    desk.clock.advance(SECOND)
    await collect(desk, "b", "c")
    seeds = twin.store.seeds
    assert [(await seeds.begin(site, one)).collected_at for one in keys("a", "b", "c", "d")] == [
        first_at, desk.clock.now, desk.clock.now, None,
    ]  # fmt: skip
    assert await seeds.collected(site, keys("d", "c", "b", "a", "a")) == [False, True, True, True, True]
    assert await seeds.collected(site, keys("a", "b"), since=desk.clock.now) == [False, True]
    assert await seeds.collected(site + 1, keys("a")) == [False]
    assert await seeds.collected(site, []) == []
    many = [key(f"{n}") for n in range(1_203)]
    assert await seeds.collected(site, [*many, *keys("c")]) == [False] * 1_203 + [True]


async def test_a_task_that_did_not_end_collected_nothing(desk: Desk) -> None:
    site = (await desk.store.seeds.put_site(1, "news")).id
    run = await begin(desk, await put(desk), "a")
    lease = await desk.one(kinds=[JobKind.TASK])
    harvest = Harvest(team=1, site=site, rule_version=1, url=lease.url, fetched_at=desk.clock.now, key=key(lease.url))
    await desk.store.cancel(run)
    assert not await desk.finish(lease, end=Done(), harvest=harvest)
    assert await desk.store.seeds.collected(site, [key(lease.url)]) == [False]


async def test_keys_come_in_the_order_of_their_first_time(desk: Desk) -> None:
    site = await collect(desk, "a")
    await collect(desk, "b", "a")
    await collect(desk, "a", "c")
    seeds = desk.store.seeds
    position, found = await seeds.keys_after(site, 0, limit=2)
    assert found == keys("a", "b")
    position, found = await seeds.keys_after(site, position)
    assert found == keys("c")
    assert await seeds.keys_after(site, position) == (position, [])
    assert await seeds.keys_after(site + 1, 0) == (0, [])


async def test_what_was_collected_outlives_runs_and_seeds(desk: Desk) -> None:
    site = await collect(desk, "a")
    await desk.store.configs.publish(NewVersion(team=1, kind=ConfigKind.RULE, name="news", body=b"{}"))
    desk.clock.advance(SECOND)
    (run,) = await desk.store.prune(ended_before_us=desk.clock.now)
    assert await desk.backend.rows_of(run) == {}
    desk.uids.clear()
    await put(desk)
    assert await desk.store.seeds.delete_seed(1, "s")
    assert await desk.store.seeds.collected(site, keys("a")) == [True]
    assert await desk.store.configs.head(1, ConfigKind.RULE, "news") is not None


async def test_a_task_learns_in_one_read_what_it_must_know(desk: Desk) -> None:
    seeds = desk.store.seeds
    site = await seeds.put_site(1, "news")
    assert await seeds.begin(site.id, key("a")) == Begin(0, False, None)
    await desk.store.configs.publish(NewVersion(team=1, kind=ConfigKind.RULE, name="news", body=b"{}"))
    assert await seeds.begin(site.id, key("a")) == Begin(await desk.store.configs.changed(), False, None)


async def test_tasks_of_all_runs_of_a_site_are_counted_in_the_order_of_their_claims(desk: Desk, bench: Bench) -> None:
    seeds, twin = desk.store.seeds, await bench.twin(desk)
    await begin(desk, await put(desk, "one"), "a", "b")
    first = [lease for lease in await desk.claim_all() if lease.kind is JobKind.TASK]
    site = await seeds.put_site(1, "news")

    async def before(lease: Lease) -> int:
        return (await twin.store.seeds.begin(site.id, key(lease.url), lease.job)).before

    assert [await before(lease) for lease in first] == [0, 0], "a run alone keeps its own limit"
    desk.clock.advance(SECOND)
    await begin(desk, await put(desk, "two"), "c")
    await begin(desk, await put(desk, "else", "shop"), "d", "e")
    second = {lease.url: lease for lease in await twin.claim_all() if lease.kind is JobKind.TASK}
    assert [await before(lease) for lease in first] == [0, 1]
    assert await before(second[task("c").url]) == 2
    await desk.step([ended(first[0], end=Done())])
    assert await before(second[task("c").url]) == 1
    assert await before(first[1]) == 0


async def test_a_seed_tells_what_all_its_runs_gave(desk: Desk) -> None:
    items, row = desk.store.items, await put(desk)
    assert await items.seed_stats(row.id) == RunStats(
        tasks=0, done=0, failed=0, empty=0, items=0, exceptions=0, p50_ms=None, p95_ms=None
    )
    for url in ("a", "b"):
        await begin(desk, await read(desk), url)
        leases = await desk.claim_all()
        desk.clock.advance(100_000)
        found = Harvest(
            team=1, site=1, rule_version=1, url=url, fetched_at=desk.clock.now, items=(NewItem(url, b"{}"),)
        )
        await desk.step([ended(it, end=Done(), harvest=found if it.kind is JobKind.TASK else None) for it in leases])
    total = await items.seed_stats(row.id)
    assert (total.tasks, total.done, total.items) == (2, 2, 2)
    assert total.p95_ms == pytest.approx(100, rel=0.15)
