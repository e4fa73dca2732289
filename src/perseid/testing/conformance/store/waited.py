"""Scrapes that somebody waits for: begun and claimed at once where there is room, and like any other job after that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.errors import KeyUsed, StoreError
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobState
from perseid.ports.store import Beat, HostDefaults, NewCrawl
from perseid.ports.work import Again, Failed, HostNote, Lease
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import FREE, HOME, Bench, Desk, ended, host_of, page

ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)
EVER = 2**62
LEASE_US = 60 * SECOND


async def take(
    desk: Desk, url: str = HOME, *, worker: WorkerId | None = None, **fields: Any
) -> tuple[CrawlId, Lease | None]:
    uid = f"scrape-{len(desk.uids)}"
    new = NewCrawl(
        **{
            "uid": uid,
            "url": url,
            "options": b"{}",
            "key_seed": 7,
            "kind": CrawlKind.SCRAPE,
            "first": (page(url),),
            **fields,
        }
    )
    crawl, lease = await desk.store.take(new, desk.worker if worker is None else worker, lease_us=LEASE_US)
    desk.uids[crawl] = new.uid
    return crawl, lease


async def taken(desk: Desk, url: str = HOME, **fields: Any) -> tuple[CrawlId, Lease]:
    crawl, lease = await take(desk, url, **fields)
    assert lease is not None, "there was room"
    return crawl, lease


async def test_it_is_claimed_at_once(desk: Desk) -> None:
    crawl, lease = await taken(desk)
    assert (lease.crawl, lease.url, lease.host, lease.counted) == (crawl, HOME, host_of(HOME), True)
    assert (lease.attempts, lease.stalls, lease.hops) == (0, 0, b"")
    assert lease.expires_at == desk.clock.now + LEASE_US
    seen = await desk.look(crawl)
    assert (seen.kind, seen.status, seen.counts.open) == (CrawlKind.SCRAPE, CrawlStatus.SCRAPING, 1)
    assert [job.state for job in await desk.jobs(crawl)] == [JobState.ACTIVE]
    assert await desk.claim_all() == []


async def test_its_end_completes_it(desk: Desk) -> None:
    crawl, lease = await taken(desk)
    assert await desk.finish(lease)
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done) == (CrawlStatus.COMPLETED, 1)
    assert await desk.documents(crawl) == [HOME]


async def test_nothing_is_left_to_sweep(desk: Desk) -> None:
    for n in range(5):
        _crawl, lease = await taken(desk, page(f"{n}").url)
        await desk.finish(lease)
    assert await desk.store.sweep() == 0


async def test_two_of_one_url_are_two(desk: Desk) -> None:
    (_, first), (_, second) = await taken(desk), await taken(desk)
    assert first.job != second.job
    assert (await desk.step([ended(first), ended(second)])).kept == [True, True]


async def test_many_at_once_are_all_taken(desk: Desk) -> None:
    found = await asyncio.gather(*(taken(desk, page(f"{n}").url, uid=f"u{n}") for n in range(40)))
    assert len({lease.job for _crawl, lease in found}) == 40
    assert {lease.url for _crawl, lease in found} == {page(f"{n}").url for n in range(40)}


async def test_one_that_cannot_begin_harms_none_beside_it(desk: Desk) -> None:
    fields: list[dict[str, Any]] = [{"uid": f"u{n}", "idempotency_key": "k" if n in (3, 5) else None} for n in range(8)]
    found = await asyncio.gather(*(taken(desk, **each) for each in fields), return_exceptions=True)
    errors = [result for result in found if isinstance(result, BaseException)]
    assert [type(error) for error in errors] == [KeyUsed]
    assert len(found) - len(errors) == 7
    with pytest.raises(StoreError, match="u1"):
        await take(desk, uid="u1")


@pytest.mark.parametrize("wrong", [{"key_seed": 2**80}, {"options": object()}])
async def test_one_whose_data_upsets_the_store_harms_none_beside_it(desk: Desk, wrong: dict[str, Any]) -> None:
    orders = [taken(desk, uid="a"), taken(desk, uid="b", **wrong), taken(desk, uid="c")]
    found = await asyncio.gather(*orders, return_exceptions=True)
    assert [isinstance(result, BaseException) for result in found] == [False, True, False]


async def test_a_full_host_makes_it_wait_like_any_other(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    _, running = await taken(desk)
    crawl, lease = await take(desk, page("b").url)
    assert lease is None
    assert await desk.claim(1, crawl=crawl) == []
    result = await desk.step([ended(running)], 1, crawl=crawl)
    assert [it.crawl for it in result.leases] == [crawl]
    await desk.finish(result.leases[0])
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_full_team_makes_it_wait_like_any_other(desk: Desk) -> None:
    await desk.store.set_team_limit(1, 1)
    _, running = await taken(desk)
    crawl, lease = await take(desk, "https://other.example/")
    assert lease is None
    await taken(desk, "https://third.example/", team=2)
    assert await desk.claim(1, crawl=crawl) == []
    await desk.finish(running)
    assert [it.crawl for it in await desk.claim(1, crawl=crawl)] == [crawl]


async def test_its_team_and_host_are_full_for_others(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    _, lease = await taken(desk)
    other = await desk.start("b")
    assert await desk.claim_all() == []
    result = await desk.step([ended(lease)], 5)
    assert [it.crawl for it in result.leases] == [other]


async def test_it_does_not_pass_those_who_wait_at_its_host(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.start("a", "b")
    first = await desk.one()
    assert await desk.claim_all() == []
    await desk.finish(first)
    _, lease = await take(desk, page("c").url)
    assert lease is None
    assert (await desk.one()).url == page("b").url


async def test_a_host_that_is_backed_off_from_makes_it_wait(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    _, lease = await taken(desk)
    throttled = HostNote(host=lease.host, throttled=True, retry_after_us=30 * SECOND)
    await desk.finish(lease, end=Failed(code="rate_limited", message=""), hosts=[throttled])
    crawl, lease2 = await take(desk)
    assert lease2 is None
    desk.clock.advance(40 * SECOND)
    assert len(await desk.claim(1, crawl=crawl)) == 1


async def test_the_rate_of_its_host_holds(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(interval_us=SECOND, burst=2, global_interval_us=0))
    await taken(desk, page("a").url)
    await taken(desk, page("b").url)
    assert (await take(desk, page("c").url))[1] is None


async def test_a_dead_worker_takes_nothing(desk: Desk) -> None:
    await desk.store.reap([desk.worker])
    crawl, lease = await take(desk)
    assert lease is None
    desk.worker = await desk.store.register("here", 2, 2)
    assert len(await desk.claim(1, crawl=crawl)) == 1


async def test_a_reaped_one_waits_like_any_other(desk: Desk) -> None:
    crawl, lease = await taken(desk)
    desk.clock.now = lease.expires_at
    assert await desk.store.reap([]) == 1
    assert not await desk.finish(lease)
    again = await desk.one()
    assert (again.crawl, again.job, again.stalls) == (crawl, lease.job, 1)
    await desk.finish(again)
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED
    await desk.sweep_all()


@pytest.mark.parametrize("host", [None, "other.example"])
@pytest.mark.parametrize("delay_us", [0, SECOND])
async def test_one_that_is_to_run_again_does(desk: Desk, host: str | None, delay_us: int) -> None:
    crawl, lease = await taken(desk)
    assert await desk.finish(lease, end=Again(host=host, hops=b"h", delay_us=delay_us, attempted=True))
    (again,) = await desk.patient_claim()
    assert (again.job, again.attempts, again.hops) == (lease.job, 1, b"h")
    assert again.host == (host or host_of(HOME))
    await desk.finish(again)
    await desk.sweep_all()
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_cancelled_one_finishes_into_nothing(desk: Desk) -> None:
    crawl, lease = await taken(desk)
    assert await desk.store.cancel(crawl)
    assert await desk.store.prune(ended_before_us=EVER) == [], "it runs yet"
    assert await desk.store.beat(desk.worker) == Beat({crawl})
    assert not await desk.finish(lease)
    await desk.sweep_all()
    assert await desk.store.prune(ended_before_us=EVER) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}


async def test_one_that_ended_is_pruned_by_its_own_time(desk: Desk) -> None:
    crawl, lease = await taken(desk, ttl_us=SECOND)
    await desk.finish(lease)
    assert await desk.store.prune(ended_before_us=0) == []
    desk.clock.advance(SECOND)
    assert await desk.store.prune(ended_before_us=0) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}


async def test_scrapes_take_their_share_of_their_teams_turns(bench: Bench) -> None:
    """A team that scrapes all the time does not get its crawls' turns on top."""
    desk = await bench.desk(FREE)
    await desk.start(*(f"p{n}" for n in range(50)), team=1)
    other = await desk.start(*(f"q{n}" for n in range(50)), team=2)
    for n in range(20):
        await taken(desk, page(f"s{n}").url, team=1)
    first = [lease.crawl for lease in [await desk.one() for _ in range(10)]]
    assert first.count(other) >= 5
