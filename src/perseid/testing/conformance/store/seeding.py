"""Sites and seeds: who is due, that one run begins however many dispatch, and what was collected."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from itertools import count
from typing import Any

import msgspec
import pytest

from perseid.errors import QuotaExceeded, VersionConflict
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.ports.seeds import NewSeed, SeedRow, SeedState
from perseid.ports.store import NewCrawl
from perseid.ports.work import Done
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended
from perseid.testing.conformance.store.quota import allow
from perseid.testing.conformance.store.runs import EXPANSION, task

_numbers = count()


async def put(desk: Desk, seed: str = "s", site: str = "news", **fields: Any) -> SeedRow:
    values = {"team": 1, "seed": seed, "site": site, "spec": b"{}", "next_at": desk.clock.now, **fields}
    return await desk.store.seeds.put_seed(NewSeed(**values))


def a_run(*tasks: str) -> NewCrawl:
    first = (EXPANSION, *(task(url) for url in tasks))
    uid = f"run-{next(_numbers)}"
    return NewCrawl(uid=uid, url=HOME, options=b"{}", key_seed=7, kind=CrawlKind.SEED, first=first)


async def begin(desk: Desk, row: SeedRow, *tasks: str, next_at: int | None = None) -> CrawlId:
    new = a_run(*tasks)
    crawl = await desk.store.seeds.start_run(row, new, next_at=next_at)
    assert crawl is not None
    desk.uids[crawl] = new.uid
    return crawl


async def read(desk: Desk, seed: str = "s") -> SeedRow:
    row = await desk.store.seeds.seed(1, seed)
    assert row is not None
    return row


async def due(desk: Desk) -> list[str]:
    return [row.seed for row in await desk.store.seeds.due_seeds()]


async def test_a_seed_is_put_over_the_edition_that_is_known_or_not_at_all(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    both = [put(side, spec=spec, edition=0) for side, spec in ((desk, b'{"a":1}'), (twin, b'{"b":1}'))]
    first = await asyncio.gather(*both, return_exceptions=True)
    assert sum(isinstance(each, VersionConflict) for each in first) == 1
    (row,) = [each for each in first if isinstance(each, SeedRow)]
    again = await put(desk, spec=b'{"c":1}', edition=row.edition)
    assert again.edition > row.edition
    with pytest.raises(VersionConflict):
        await put(desk, spec=b'{"d":1}', edition=row.edition)
    assert (await read(desk)).spec == b'{"c":1}'


def key(url: str) -> bytes:
    return sha256(url.encode()).digest()


async def test_a_site_is_made_once(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    sites = await asyncio.gather(*(side.store.seeds.put_site(1, "news") for side in (desk, twin) for _ in range(4)))
    assert len({site.id for site in sites}) == 1
    other = await desk.store.seeds.put_site(2, "news")
    assert other.id != sites[0].id
    assert await desk.store.seeds.site(1, "news") == sites[0]
    assert await desk.store.seeds.site(1, "nobody") is None
    for name in ("b", "B", "a"):
        await desk.store.seeds.put_site(1, name)
    assert [site.name for site in await desk.store.seeds.sites(1)] == ["B", "a", "b", "news"]
    assert [site.name for site in await desk.store.seeds.sites(1, after="a", limit=1)] == ["b"]


async def test_a_seed_is_kept_as_it_was_put(desk: Desk) -> None:
    row = await put(desk, spec=b'{"a":1}', priority=7)
    now = desk.clock.now
    assert row == SeedRow(
        id=row.id, team=1, seed="s", site="news", spec=b'{"a":1}', state=SeedState.ACTIVE, priority=7, next_at=now,
        run=None, running=False, runs=0, created_at=now, updated_at=now, edition=row.edition,
    )  # fmt: skip
    assert await read(desk) == row
    assert await desk.store.seeds.site(1, "news") is not None
    assert await desk.store.seeds.seed(2, "s") is None


async def test_a_seed_put_again_keeps_its_state_and_its_runs(desk: Desk) -> None:
    row = await put(desk)
    run = await begin(desk, row)
    assert await desk.store.seeds.set_seed(await read(desk), SeedState.PAUSED, next_at=None)
    before = await read(desk)
    desk.clock.advance(SECOND)
    after = await put(desk, site="shop", spec=b"{2}", next_at=None)
    assert (after.id, after.state, after.run, after.running, after.runs) == (row.id, SeedState.PAUSED, run, True, 1)
    assert (after.site, after.spec, after.created_at) == ("shop", b"{2}", row.created_at)
    assert after.updated_at == desk.clock.now
    assert after.edition > before.edition


async def test_seeds_are_listed_by_name(desk: Desk) -> None:
    for name, site in (("b", "x"), ("a", "y"), ("C", "x"), ("d", "x")):
        await put(desk, name, site)
    await put(desk, "other", "x", team=2)
    seeds = desk.store.seeds
    assert [row.seed for row in await seeds.seeds(1)] == ["C", "a", "b", "d"]
    assert [row.seed for row in await seeds.seeds(1, site="x")] == ["C", "b", "d"]
    assert [row.seed for row in await seeds.seeds(1, site="x", after="C", limit=1)] == ["b"]
    assert await seeds.seeds(1, site="nobody") == []


async def test_who_is_due_comes_by_priority_and_time(desk: Desk) -> None:
    now = desk.clock.now
    await put(desk, "late", next_at=now + SECOND)
    await put(desk, "low", priority=1, next_at=now - 9)
    await put(desk, "first", priority=8, next_at=now - 2)
    await put(desk, "second", priority=8, next_at=now - 1)
    await put(desk, "never", priority=9, next_at=None)
    assert await due(desk) == ["first", "second", "low"]
    assert [row.seed for row in await desk.store.seeds.due_seeds(limit=1)] == ["first"]
    desk.clock.advance(SECOND)
    assert "late" in await due(desk)


async def test_it_is_told_when_the_next_one_is_due(desk: Desk) -> None:
    seeds = desk.store.seeds
    assert await seeds.next_due_us() is None
    await put(desk, next_at=desk.clock.now + 5)
    assert await seeds.next_due_us() == 5
    desk.clock.advance(9)
    assert await seeds.next_due_us() == 0
    await begin(desk, await read(desk), next_at=desk.clock.now + 7)
    assert await seeds.next_due_us() is None, "its run goes on"
    await desk.step([ended(await desk.one(), end=Done())])
    assert await seeds.next_due_us() == 7
    site = await seeds.put_site(1, "news")
    await seeds.pause_site(site.id, "broken")
    assert await seeds.next_due_us() is None


async def test_a_run_belongs_to_its_seed(desk: Desk) -> None:
    row = await put(desk)
    first = await begin(desk, row, "a", next_at=desk.clock.now + SECOND)
    after = await read(desk)
    assert (after.run, after.running, after.runs, after.next_at) == (first, True, 1, desk.clock.now + SECOND)
    assert after.edition > row.edition
    await desk.drain()
    assert not (await read(desk)).running
    second = await begin(desk, await read(desk))
    seeds = desk.store.seeds
    assert await seeds.runs(row) == [second, first]
    assert await seeds.runs(row, before=second) == [first]
    assert await seeds.runs(row, limit=1) == [second]
    assert await seeds.runs(await put(desk, "other")) == []


async def test_no_run_begins_while_one_goes_on(desk: Desk) -> None:
    await begin(desk, await put(desk), "a")
    desk.clock.advance(SECOND)
    again = await put(desk)
    assert await due(desk) == []
    assert await desk.store.seeds.start_run(again, a_run(), next_at=None) is None
    assert (await read(desk)).runs == 1
    await desk.drain()
    assert await due(desk) == ["s"]


async def test_two_dispatchers_begin_one_run(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    rows = [await put(desk, f"s{n}") for n in range(6)]
    for row in rows:
        new = [a_run("a", "b") for _ in range(4)]
        sides = [desk, twin, twin, desk]
        runs = await asyncio.gather(
            *(side.store.seeds.start_run(row, one, next_at=None) for side, one in zip(sides, new, strict=True))
        )
        (begun,) = [run for run in runs if run is not None]
        desk.uids[begun] = new[runs.index(begun)].uid
        assert await desk.store.seeds.runs(row) == [begun]
    assert len(await desk.store.crawls(kinds=[CrawlKind.SEED])) == 6


async def test_who_changes_a_row_that_changed_is_told(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    row = await put(desk)
    outcomes = await asyncio.gather(
        *(side.store.seeds.set_seed(row, SeedState.PAUSED, next_at=None) for side in (desk, twin)),
        *(side.store.seeds.start_run(row, a_run(), next_at=None) for side in (desk, twin)),
    )
    assert sum(outcome is True or outcome not in (False, None) for outcome in outcomes) == 1
    desk.lying = True  # a run may have begun that this desk has no name for
    for stale in (row, msgspec.structs.replace(row, edition=99)):
        assert not await desk.store.seeds.set_seed(stale, SeedState.ACTIVE, next_at=None)
        assert await desk.store.seeds.start_run(stale, a_run(), next_at=None) is None


async def test_a_paused_seed_holds_its_run_and_starts_nothing(desk: Desk) -> None:
    run = await begin(desk, await put(desk), "a", "b")
    lease = await desk.one(kinds=[JobKind.TASK])
    seeds = desk.store.seeds
    assert await seeds.set_seed(await read(desk), SeedState.PAUSED, next_at=desk.clock.now)
    assert await desk.claim_all() == []
    assert await desk.finish(lease, end=Done()), "what runs, runs on"
    assert (await desk.look(run)).paused
    assert await seeds.set_seed(await read(desk), SeedState.ACTIVE, next_at=desk.clock.now)
    assert len(await desk.drain()) == 2
    assert await due(desk) == ["s"]
    assert await seeds.set_seed(await read(desk), SeedState.PAUSED, next_at=desk.clock.now)
    assert await due(desk) == []
    assert await seeds.start_run(await read(desk), a_run(), next_at=None) is None


async def test_a_stopped_seed_has_its_run_cancelled(desk: Desk) -> None:
    run = await begin(desk, await put(desk), "a")
    assert await desk.store.seeds.set_seed(await read(desk), SeedState.STOPPED, next_at=desk.clock.now)
    assert (await desk.look(run)).status is CrawlStatus.CANCELLED
    row = await read(desk)
    assert (row.state, row.run, row.running) == (SeedState.STOPPED, run, False)
    assert await due(desk) == []
    assert await desk.claim_all() == []


async def test_a_paused_site_holds_all_its_runs(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    seeds = desk.store.seeds
    await begin(desk, await put(desk, "one"), "a")
    await begin(desk, await put(desk, "two"), "b")
    await begin(desk, await put(desk, "else", "shop"), "c")
    await put(desk, "due")
    site = await seeds.put_site(1, "news")
    assert await seeds.pause_site(site.id, "the rule broke")
    assert not await seeds.pause_site(site.id, "the rule broke")
    seen = await twin.store.seeds.site(1, "news")
    assert seen is not None
    assert (seen.paused, seen.reason, seen.paused_at) == (True, "the rule broke", desk.clock.now)
    assert {lease.url for lease in await twin.claim_all()} == {"", task("c").url}
    assert await due(desk) == []
    assert (await seeds.begin(site.id, key("a"))).paused
    assert await seeds.pause_site(site.id, None)
    assert not await seeds.pause_site(site.id, None)
    assert await seeds.site(1, "news") == site
    assert len(await desk.claim_all()) == 4
    assert await due(desk) == ["due"]
    assert not await seeds.pause_site(site.id + 99, "nobody")


async def test_a_run_goes_on_when_neither_its_seed_nor_its_site_is_paused(desk: Desk) -> None:
    seeds = desk.store.seeds
    run = await begin(desk, await put(desk), "a")
    site = await seeds.put_site(1, "news")
    await seeds.pause_site(site.id, "x")
    await seeds.set_seed(await read(desk), SeedState.PAUSED, next_at=None)
    await seeds.pause_site(site.id, None)
    assert (await desk.look(run)).paused
    await seeds.pause_site(site.id, "x")
    await seeds.set_seed(await read(desk), SeedState.ACTIVE, next_at=None)
    assert (await desk.look(run)).paused
    await put(desk, site="shop")
    assert not (await desk.look(run)).paused, "its site is another one now"


async def test_a_run_begun_by_hand_on_a_paused_site_is_held(desk: Desk) -> None:
    row = await put(desk)
    site = await desk.store.seeds.put_site(1, "news")
    await desk.store.seeds.pause_site(site.id, "x")
    run = await begin(desk, row, "a")
    assert (await desk.look(run)).paused
    assert await desk.claim_all() == []


async def test_a_pause_and_a_run_that_begin_at_once_agree(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    site = await desk.store.seeds.put_site(1, "news")
    for n in range(8):
        row = await put(desk, f"s{n}")
        new = a_run("a")
        run, _changed = await asyncio.gather(
            desk.store.seeds.start_run(row, new, next_at=None), twin.store.seeds.pause_site(site.id, "x")
        )
        assert run is not None
        desk.uids[run] = new.uid
        assert (await desk.look(run)).paused
        await desk.store.seeds.pause_site(site.id, None)
        await desk.store.cancel(run)


async def test_a_deleted_seed_is_gone_and_its_run_cancelled(desk: Desk) -> None:
    row = await put(desk)
    run = await begin(desk, row, "a")
    seeds = desk.store.seeds
    assert not await seeds.delete_seed(2, "s")
    assert await seeds.delete_seed(1, "s")
    assert not await seeds.delete_seed(1, "s")
    assert await seeds.seed(1, "s") is None
    assert (await desk.look(run)).status is CrawlStatus.CANCELLED
    assert not await seeds.set_seed(row, SeedState.ACTIVE, next_at=None)
    fresh = await put(desk)
    assert fresh.id != row.id
    assert (fresh.run, await seeds.runs(fresh)) == (None, [])


async def test_a_pruned_run_leaves_its_seed(desk: Desk) -> None:
    row = await put(desk)
    first = await begin(desk, row)
    await desk.drain()
    second = await begin(desk, await read(desk))
    await desk.drain()
    desk.clock.advance(SECOND)
    assert await desk.store.prune(crawl=second, ended_before_us=desk.clock.now) == [second]
    del desk.uids[second]
    after = await read(desk)
    assert (after.run, after.running, after.runs) == (None, False, 2)
    assert await desk.store.seeds.runs(row) == [first]


async def test_a_run_that_may_not_begin_changes_nothing(desk: Desk) -> None:
    await allow(desk, 0)
    row = await put(desk)
    with pytest.raises(QuotaExceeded):
        await desk.store.seeds.start_run(row, a_run(), next_at=None)
    assert await read(desk) == row


@pytest.mark.parametrize("bad", ["\0", "\ud800", "😀" * 200])
async def test_strange_names_are_kept_or_cleaned(desk: Desk, bad: str) -> None:
    row = await put(desk, f"s{bad}", f"t{bad}")
    assert await desk.store.seeds.seed(1, f"s{bad}") == row
    site = await desk.store.seeds.site(1, f"t{bad}")
    assert site is not None
    await desk.store.seeds.pause_site(site.id, bad)
    assert await desk.store.seeds.delete_seed(1, f"s{bad}")
