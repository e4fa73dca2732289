"""What tasks of seeds give: items, exceptions and pages, written with the end of the task or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.items import (
    FieldSeen,
    Harvest,
    KeptPage,
    NewException,
    NewItem,
    RunStats,
    StoredItem,
)
from perseid.ports.work import Again, Done, End, Failed, Finished, Lease, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, page

BAD = ["a\x00b", "a\ud800b", "\U0010ffff\ufffe", "x" * 100_000]


async def site(desk: Desk, name: str = "shop", team: int = 1) -> int:
    return (await desk.store.seeds.put_site(team, name)).id


async def tasks(desk: Desk, *urls: str, **fields: Any) -> list[Lease]:
    """A run of a seed, and its tasks begun."""
    first = tuple(page(url, kind=JobKind.TASK) for url in urls)
    crawl = await desk.start_with(first, kind=CrawlKind.SEED, **fields)
    leases = await desk.claim(len(urls), crawl=crawl)
    assert len(leases) == len(urls)
    return leases


async def harvest(desk: Desk, *items: str | tuple[str, str], **fields: Any) -> Harvest:
    """Items by their keys, or keys and contents; of the shop, fetched now."""
    made = [NewItem(*((item, b"{}") if isinstance(item, str) else (item[0], item[1].encode()))) for item in items]
    values: dict[str, Any] = {"team": 1, "rule_version": 1, "fetched_at": desk.clock.now, **fields}
    values.setdefault("url", page("a").url)
    values.setdefault("site", await site(desk, team=values["team"]))
    return Harvest(items=made, **values)


async def bring(desk: Desk, *found: Harvest, end: End | None = None) -> CrawlId:
    """A task for each of these, which ends with it; all in one step."""
    leases = await tasks(desk, *(f"{number}" for number in range(len(found))))
    finished = [Finished(lease=lease, end=end or Done(), harvest=it) for lease, it in zip(leases, found, strict=True)]
    assert all((await desk.step(finished)).kept)
    return leases[0].crawl


def kept(body: bytes = b"body", **fields: Any) -> KeptPage:
    values = {"url": page("there").url, "status": 200, "headers": b"[]", "body": body, "kind": "detail"}
    return KeptPage(**{**values, "list_page": 1, "fetched_at": 0, **fields})


def broken(key: str = "", reason: str = "missing:title") -> NewException:
    return NewException(key, b'{"price":1}', b"[]", reason)


async def keys(desk: Desk, **fields: Any) -> list[str]:
    return [item.key for item in await desk.store.items.items(fields.pop("team", 1), **fields)]


async def content(desk: Desk, key: str = "k") -> bytes | None:
    found = await desk.store.items.item(1, "shop", key)
    return None if found is None else found.fields


async def test_an_item_says_where_it_comes_from(desk: Desk) -> None:
    (lease,) = await tasks(desk, "a")
    found = await harvest(desk, ("k", '{"a":1}'), seed="weekly", rule_version=3, url="https://a.example/é")
    desk.clock.advance(SECOND)
    await desk.step([Finished(lease=lease, end=Done(), harvest=found)])
    (item,) = await desk.store.items.items(1)
    assert item == StoredItem(
        id=item.id, team=1, site="shop", key="k", fields=b'{"a":1}', rule_version=3, task=lease.job, seed="weekly",
        url="https://a.example/é", fetched_at=found.fetched_at, updated_at=desk.clock.now, change=item.change,
    )  # fmt: skip
    assert await desk.store.items.item(1, "shop", "k") == item
    assert await desk.store.items.items_of(lease.job) == [item]
    assert await desk.store.items.item(2, "shop", "k") is None


async def test_a_failed_task_may_bring_items_too(desk: Desk) -> None:
    await bring(desk, await harvest(desk, "k"), end=Failed(code="http_500", message=""))
    assert await keys(desk) == ["k"]


@pytest.mark.parametrize("end", [Again(), Refused(Denial(DenialReason.ROBOTS_TXT, "", ""))], ids=["again", "refused"])
async def test_another_end_brings_none(desk: Desk, end: End) -> None:
    await bring(desk, await harvest(desk, "k", page=kept()), end=end)
    assert await keys(desk) == []


async def test_a_task_whose_lease_was_lost_brings_nothing(desk: Desk) -> None:
    (lease,) = await tasks(desk, "a")
    await desk.store.reap([desk.worker])
    desk.worker = await desk.store.register("here", 1000, 1)
    found = await harvest(desk, "k", exceptions=[broken()], page=kept(), key=b"\1" * 32)
    assert (await desk.step([Finished(lease=lease, end=Done(), harvest=found)])).kept == [False]
    assert await keys(desk) == []
    assert await desk.store.items.groups(1) == []
    assert await desk.store.items.pages(found.site) == []
    assert await desk.store.seeds.collected(found.site, [found.key]) == [False]


async def test_a_page_counts_as_collected_with_its_harvest(desk: Desk) -> None:
    found = await harvest(desk, key=b"\1" * 32)
    await bring(desk, found, await harvest(desk, url=page("b").url))
    assert await desk.store.seeds.collected(found.site, [b"\1" * 32, b"\2" * 32]) == [True, False]
    assert (await desk.store.seeds.begin(found.site, found.key)).collected_at == desk.clock.now


async def test_the_newest_fetch_stays(desk: Desk) -> None:
    now = desk.clock.now
    await bring(desk, await harvest(desk, ("k", "2"), fetched_at=now))
    await bring(desk, await harvest(desk, ("k", "1"), fetched_at=now - 1, rule_version=9))
    assert await content(desk) == b"2"
    await bring(desk, await harvest(desk, ("k", "3"), fetched_at=now, rule_version=2))
    assert await content(desk) == b"3"
    await bring(desk, await harvest(desk, ("k", "4"), fetched_at=now, rule_version=1))
    assert await content(desk) == b"3"


async def test_of_one_step_the_newest_stays_whatever_the_order(desk: Desk) -> None:
    now = desk.clock.now
    await bring(
        desk,
        await harvest(desk, ("k", "2"), ("x", "1"), fetched_at=now, page=kept(b"2"), exceptions=[broken(reason="new")]),
        await harvest(desk, ("k", "1"), ("k", "0"), ("x", "0"), fetched_at=now - 1, exceptions=[broken(reason="old")]),
    )
    assert (await content(desk), await content(desk, "x")) == (b"2", b"1")
    assert [group.reason for group in await desk.store.items.groups(1)] == ["new"]


async def test_an_item_that_is_fetched_again_is_told_of_and_updated_only_when_it_changes(desk: Desk) -> None:
    await bring(desk, await harvest(desk, ("k", "1")))
    (first,) = await desk.store.items.items(1)
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk, ("k", "1")))
    (again,) = await desk.store.items.items(1)
    assert (again.fetched_at, again.updated_at) == (desk.clock.now, first.updated_at)
    assert again.change > first.change
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk, ("k", "2")))
    (other,) = await desk.store.items.items(1, after=again.change)
    assert (other.id, other.updated_at) == (first.id, desk.clock.now)
    assert await desk.store.items.items(1, after=other.change) == []


async def test_sites_and_teams_have_items_of_their_own(desk: Desk) -> None:
    await bring(desk, await harvest(desk, "k", seed="s1"), await harvest(desk, "k", site=await site(desk, "news")))
    await bring(desk, await harvest(desk, "k", "l", team=2, seed="s1"))
    assert await keys(desk) == ["k", "k"]
    assert await keys(desk, site="news") == ["k"]
    assert await keys(desk, seed="s1") == ["k"]
    assert sorted(await keys(desk, team=2)) == ["k", "l"]
    assert await keys(desk, team=2, site="news") == []


async def test_items_are_paged_by_their_changes(desk: Desk) -> None:
    await bring(desk, await harvest(desk, *(f"{n:02}" for n in range(10))))
    seen: list[StoredItem] = []
    while chunk := await desk.store.items.items(1, after=seen[-1].change if seen else 0, limit=3):
        seen += chunk
    assert sorted(item.key for item in seen) == [f"{n:02}" for n in range(10)]
    assert [item.change for item in seen] == sorted(item.change for item in seen)


async def test_exceptions_are_those_of_the_page_as_it_was_read_last(desk: Desk) -> None:
    a, b = page("a").url, page("b").url
    items = desk.store.items
    old = await harvest(desk, exceptions=[broken("x"), broken("y", "invalid:price")], url=a, seed="s")
    await bring(desk, old, await harvest(desk, exceptions=[broken("z")], url=b))
    first = await items.exceptions(1)
    assert [(row.key, row.reason, row.url, row.seed) for row in first] == [
        ("x", "missing:title", a, "s"), ("y", "invalid:price", a, "s"), ("z", "missing:title", b, ""),
    ]  # fmt: skip
    assert (first[0].site, first[0].fields, first[0].problems, first[0].at) == (
        "shop", b'{"price":1}', b"[]", desk.clock.now,
    )  # fmt: skip
    assert await items.exceptions_of(first[2].task) == first[2:]
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk, exceptions=[broken("w")], url=a, rule_version=2))
    assert [(row.key, row.rule_version) for row in await items.exceptions(1)] == [("z", 1), ("w", 2)]
    await bring(desk, old)
    assert [row.key for row in await items.exceptions(1)] == ["z", "w"]
    desk.clock.advance(SECOND)
    await bring(desk, await harvest(desk, "w", url=a, rule_version=2))
    assert [row.key for row in await items.exceptions(1)] == ["z"]


async def test_exceptions_are_found_by_what_is_wrong_with_them(desk: Desk) -> None:
    items, urls = desk.store.items, [page(f"{n}").url for n in range(5)]
    for n, url in enumerate(urls):
        desk.clock.advance(SECOND)
        reason = "missing:title" if n < 3 else "invalid:price"
        await bring(desk, await harvest(desk, exceptions=[broken(f"{n}", reason)], url=url, rule_version=1 + n % 2))
    groups = [(group.rule_version, group.reason, group.count) for group in await items.groups(1)]
    assert groups == [
        (1, "missing:title", 2), (1, "invalid:price", 1), (2, "invalid:price", 1), (2, "missing:title", 1),
    ]  # fmt: skip
    largest = (await items.groups(1, site="shop"))[0]
    assert (largest.first_at, largest.last_at) == (desk.clock.now - 4 * SECOND, desk.clock.now - 2 * SECOND)
    assert largest.example in urls
    assert await items.groups(1, site="news") == await items.groups(2) == []
    some = await items.exceptions(1, site="shop", rule_version=1, reason="missing:title")
    assert [row.key for row in some] == ["0", "2"]
    assert [row.key for row in await items.exceptions(1, after=some[0].id, limit=2)] == ["1", "2"]
    assert await items.drop_exceptions(2, site="shop") == 0
    assert await items.drop_exceptions(1, site="shop", rule_version=1, reason="missing:title") == 2
    assert await items.drop_exceptions(1, site="shop", rule_version=2) == 2
    assert await items.drop_exceptions(1, site="shop") == 1


async def test_a_run_tells_what_its_tasks_gave_and_how_long_they_took(desk: Desk) -> None:
    assert await desk.store.items.run_stats(CrawlId(12345)) == RunStats(
        tasks=0, done=0, failed=0, empty=0, items=0, exceptions=0, p50_ms=None, p95_ms=None
    )
    leases = await tasks(desk, *(f"{n}" for n in range(20)), "last")
    crawl, found = leases[0].crawl, await harvest(desk, "k", exceptions=[broken(), broken()])
    desk.clock.advance(100_000)
    await desk.step([Finished(lease=lease, end=Done(), harvest=found) for lease in leases[:10]])
    desk.clock.advance(900_000)
    nothing = await harvest(desk, empty=True)
    await desk.step([Finished(lease=lease, end=Done(), harvest=nothing) for lease in leases[10:12]])
    await desk.step([Finished(lease=lease, end=Failed(code="timeout", message="")) for lease in leases[12:20]])
    seen = await desk.store.items.run_stats(crawl)
    assert (seen.tasks, seen.done, seen.failed, seen.empty, seen.items, seen.exceptions) == (21, 12, 8, 2, 10, 20)
    assert seen.p50_ms == pytest.approx(100, rel=0.15)
    assert seen.p95_ms == pytest.approx(1_000, rel=0.15)


async def test_pruning_a_run_leaves_what_it_collected(desk: Desk) -> None:
    crawl = await bring(desk, await harvest(desk, "k", exceptions=[broken()], page=kept(), sinks=["out"]))
    assert await desk.store.prune(ended_before_us=2**62) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}
    items = desk.store.items
    assert await keys(desk) == ["k"]
    assert len(await items.exceptions(1)) == len(await items.pages(await site(desk))) == 1
    assert (await items.sink_states(1))[0].waiting == 1
    assert (await items.run_stats(crawl)).tasks == 0


@pytest.mark.parametrize("bad", BAD, ids=ascii)
async def test_poisoned_text_costs_no_other_task_its_items(desk: Desk, bad: str) -> None:
    poison = await harvest(
        desk, (bad, bad.encode("utf-8", "replace").decode()), url=bad, seed=bad, page=kept(url=bad),
        exceptions=[broken(bad, bad)], sinks=[bad], seen=[FieldSeen(bad[:5], 1, 1)],
    )  # fmt: skip
    await bring(desk, await harvest(desk, "one"), poison, await harvest(desk, "three", url=page("c").url))
    assert {"one", "three"} <= set(await keys(desk))
    items = desk.store.items
    assert await items.item(1, "shop", bad) is not None
    assert len(await items.exceptions(1, reason=bad)) == 1
    assert await items.page(poison.site, bad) is not None
    assert await items.drop_exceptions(1, site="shop", reason=bad) == 1


@pytest.mark.parametrize("number", [2**63, 10**30])
async def test_numbers_beyond_the_column_fail_only_their_task(desk: Desk, number: int) -> None:
    leases = await tasks(desk, "one", "two", "three")
    found = [
        await harvest(desk, "one"),
        await harvest(desk, "two", page=kept(status=number)),
        await harvest(desk, "three", url=page("c").url),
    ]
    await desk.step([Finished(lease=lease, end=Done(), harvest=it) for lease, it in zip(leases, found, strict=True)])
    assert sorted(await keys(desk)) == ["one", "three"]
    (failure,) = await desk.store.failures(leases[0].crawl)
    assert (failure.url, failure.code) == (page("two").url, "store_error")


async def test_steps_that_write_the_same_items_at_once_keep_out_of_each_others_way(desk: Desk, bench: Bench) -> None:
    """Whatever the order in which each of them has them: both are written, and the newest of each item stays."""
    desks = [desk, await bench.twin(desk), await bench.twin(desk)]
    rounds = 8
    leases: list[Sequence[Lease]] = [await tasks(each, *(f"{n}" for n in range(rounds))) for each in desks]
    names = [f"k{n}" for n in range(30)]

    async def work(number: int) -> None:
        for turn, lease in enumerate(leases[number]):
            order = names if (number + turn) % 2 else names[::-1]
            found = await harvest(
                desks[number], *((name, f"{number} {turn}") for name in order), rule_version=10 * turn + number,
                exceptions=[broken()], page=kept(), sinks=["one", "two"][:: 1 if number else -1],
                key=b"\1" * 32, seen=[FieldSeen(name, 1, 0) for name in order],
            )  # fmt: skip
            assert (await desks[number].step([Finished(lease=lease, end=Done(), harvest=found)])).kept == [True]

    await asyncio.gather(*(work(number) for number in range(len(desks))))
    found = await desk.store.items.items(1, limit=1_000)
    assert sorted(item.key for item in found) == sorted(names)
    assert {item.fields for item in found} == {b"2 7"}
    assert len(await desk.store.items.exceptions(1)) == 1
    assert {state.waiting for state in await desk.store.items.sink_states(1)} == {30}
    rates = await desk.store.items.field_rates(await site(desk), since=0)
    assert sum(rate.n for rate in rates) == len(desks) * rounds * len(names)


async def test_who_goes_on_behind_the_last_change_misses_none(desk: Desk, bench: Bench) -> None:
    """Though numbers of changes are not seen in the order in which they were drawn."""
    desks = [desk, await bench.twin(desk)]
    leases = [await tasks(each, *(f"{n}" for n in range(20))) for each in desks]
    seen: list[StoredItem] = []
    writing = True

    async def write(number: int) -> None:
        for turn, lease in enumerate(leases[number]):
            found = await harvest(desk, *(f"{number} {turn} {n}" for n in range(10)), url=lease.url)
            await desks[number].step([Finished(lease=lease, end=Done(), harvest=found)])

    async def read() -> None:
        last = False
        while not last:
            last = not writing
            while chunk := await desk.store.items.items(1, after=seen[-1].change if seen else 0, limit=7):
                seen.extend(chunk)

    reading = asyncio.create_task(read())
    try:
        await asyncio.gather(*(write(number) for number in range(2)))
    finally:
        writing = False
        await reading
    assert len({item.key for item in seen}) == len(seen) == 400
