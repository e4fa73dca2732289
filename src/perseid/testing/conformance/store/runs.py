"""Runs of seeds as the queue sees them: expansions that bring tasks step by step, tasks, and pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from perseid.errors import QuotaExceeded
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind, JobState
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, Done, Failed, HostNote, Lease, NewUrl
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, links, page
from perseid.testing.conformance.store.quota import allow

EXPANSION = NewUrl("", 0, "", JobKind.EXPAND, counted=False)


def task(url: str) -> NewUrl:
    return page(url, kind=JobKind.TASK, payload='{"kind":"detail"}')


async def begin(desk: Desk, first: Sequence[NewUrl], **fields: Any) -> CrawlId:
    crawl = await desk.start_with(first, kind=CrawlKind.SEED, **fields)
    desk.uncounted.discard(crawl)
    return crawl


async def run(desk: Desk, *tasks: str) -> CrawlId:
    """A run that is still expanding, with some tasks."""
    first = (EXPANSION, *(task(url) for url in tasks))
    return await begin(desk, first)


async def expansion(desk: Desk) -> Lease:
    return await desk.one(kinds=[JobKind.EXPAND])


async def test_each_step_of_an_expansion_brings_its_tasks_and_its_cursor(desk: Desk) -> None:
    crawl = await run(desk)
    for number in range(3):
        lease = await expansion(desk)
        assert (lease.hops, lease.host) == (b"%d" % number if number else b"", "")
        urls = [task(f"{number}/{n}") for n in range(4)]
        await desk.step([ended(lease, *urls, end=Again(hops=b"%d" % (number + 1)))])
    lease = await expansion(desk)
    assert (await desk.look(crawl)).counts.discovered == 12
    tasks = await desk.claim_all()
    assert [(one.url, one.payload) for one in tasks] == [
        (task(f"{number}/{n}").url, '{"kind":"detail"}') for number in range(3) for n in range(4)
    ]
    await desk.step([ended(one, end=Done()) for one in (lease, *tasks)])
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done, seen.counts.open) == (CrawlStatus.COMPLETED, 12, 0)


async def test_a_step_that_lost_its_lease_brings_nothing(desk: Desk) -> None:
    crawl = await run(desk)
    lease = await expansion(desk)
    desk.clock.advance(121 * SECOND)
    await desk.store.reap([])
    assert not await desk.finish(lease, task("a"), end=Again(hops=b"1"))
    assert (await desk.look(crawl)).counts.discovered == 0
    assert (await expansion(desk)).hops == b""


async def test_an_expansion_that_waits_may_bring_tasks_too(desk: Desk) -> None:
    await run(desk)
    await desk.finish(await expansion(desk), task("a"), end=Again(hops=b"1", delay_us=SECOND))
    assert [lease.url for lease in await desk.claim_all()] == [task("a").url]
    desk.clock.advance(SECOND)
    assert (await expansion(desk)).hops == b"1"


async def test_a_task_is_admitted_once_in_a_run_and_again_in_the_next(desk: Desk) -> None:
    first = await run(desk, "a", "b")
    await desk.finish(await expansion(desk), task("b"), task("c"), task("c"), end=Done())
    assert (await desk.look(first)).counts.discovered == 3
    second = await run(desk, "a")
    assert (await desk.look(second)).counts.discovered == 1


async def test_a_redirected_task_takes_no_other_one_along(desk: Desk) -> None:
    crawl = await run(desk, "a", "b")
    leases = {lease.url: lease for lease in await desk.claim_all()}
    a, b = (leases[task(url).url] for url in "ab")
    end = Done()
    await desk.step(
        [ended(a, end=end, final_key=b.key, final_url=b.url), ended(b, end=end, final_key=1, final_url=HOME)]
    )
    states = await desk.states(crawl)
    assert (states[a.url], states[b.url]) == (JobState.COMPLETED, JobState.COMPLETED)
    assert (await desk.look(crawl)).counts.duplicate == 0


async def test_a_task_that_is_gone_is_tried_under_no_other_spelling(desk: Desk) -> None:
    crawl = await run(desk, "a")
    leases = await desk.claim_all()
    await desk.step([ended(one, end=Failed(code="http_404", message="gone")) for one in leases])
    assert (await desk.look(crawl)).counts.failed == 1


async def test_expansions_come_before_tasks_and_leave_them_their_share(desk: Desk) -> None:
    for _ in range(2):
        await run(desk, *(f"t{n}" for n in range(40)))
    kinds = []
    for _ in range(25):
        lease = await desk.one()
        kinds.append(lease.kind)
        await desk.finish(lease, end=Again() if lease.kind is JobKind.EXPAND else Done())
    assert 18 <= kinds.count(JobKind.EXPAND) <= 22


async def test_a_runs_concurrency_is_that_of_its_tasks(desk: Desk) -> None:
    first = (EXPANSION, *(task(f"t{n}") for n in range(5)))
    crawl = await begin(desk, first, max_concurrency=2)
    held = await desk.claim_all()
    assert sorted(lease.kind for lease in held) == [JobKind.EXPAND, JobKind.TASK, JobKind.TASK]
    await desk.store.set_crawl_limits(crawl, max_concurrency=4)
    assert len(await desk.claim_all()) == 2


async def test_what_asks_no_host_is_held_back_by_none(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=1, interval_us=SECOND, burst=1, global_burst=1))
    for _ in range(5):
        await run(desk)
    leases = await desk.claim_all()
    assert [(lease.host, lease.gap_us, lease.throttled, lease.strained) for lease in leases] == [
        ("", 0, False, False)
    ] * 5
    note = HostNote(host="", throttled=True, gap_us=SECOND, private=False)
    await desk.step([ended(lease, end=Again(), hosts=[note]) for lease in leases])
    assert len(await desk.claim_all()) == 5
    assert await desk.store.hosts() == []


async def test_tasks_done_are_pages_of_their_team(desk: Desk) -> None:
    await allow(desk, 3)
    crawl = await run(desk, *(f"t{n}" for n in range(4)))
    tasks = [lease for lease in await desk.claim_all() if lease.kind is JobKind.TASK]
    end = Failed(code="http_500", message="broken")
    await desk.step([*(ended(lease, end=Done()) for lease in tasks[:3]), ended(tasks[3], end=end)])
    assert [used.pages for used in await desk.store.usage(1)] == [3]
    assert (await desk.look(crawl)).counts.done == 3
    with pytest.raises(QuotaExceeded) as refused:
        await run(desk)
    assert refused.value.left == 0


async def test_nothing_of_a_paused_crawl_is_claimed(desk: Desk, bench: Bench) -> None:
    crawl = await run(desk, "a", "b")
    twin = await bench.twin(desk)
    lease = await expansion(desk)
    assert await desk.store.pause(crawl)
    assert not await twin.store.pause(crawl)
    assert (await twin.look(crawl)).paused
    # What runs goes on, and what it brings waits.
    assert await desk.finish(lease, task("c"), links("d")[0], end=Again(delay_us=SECOND))
    desk.clock.advance(2 * SECOND)
    for side in (desk, twin):
        result = await side.step((), 5)
        assert (result.leases, result.wait_us) == ([], None)
    states = await desk.states(crawl)
    assert set(states.values()) <= {JobState.BACKLOG, JobState.RETRYING}
    assert await twin.store.pause(crawl, paused=False)
    assert not await desk.store.pause(crawl, paused=False)
    assert len(await desk.claim_all()) == 5
    assert not (await desk.look(crawl)).paused


async def test_a_crawl_that_ended_is_not_paused(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.drain()
    assert not await desk.store.pause(crawl)
    cancelled = await desk.start("a")
    assert await desk.store.pause(cancelled)
    assert await desk.store.cancel(cancelled)
    assert not await desk.store.pause(cancelled, paused=False)
    assert await desk.claim_all() == []


async def test_a_paused_crawl_ends_with_what_runs(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one()
    await desk.store.pause(crawl)
    result = await desk.step([ended(lease)])
    assert (list(result.ended), (await desk.look(crawl)).status) == ([crawl], CrawlStatus.COMPLETED)


async def test_a_pause_leaves_others_their_turn(desk: Desk) -> None:
    """A crawl that was paused for long doesn't make up for it at once."""
    paused = await desk.start(*(f"p{n}" for n in range(50)))
    await desk.store.pause(paused)
    other = await desk.start(*(f"o{n}" for n in range(100)))
    for _ in range(50):
        lease = await desk.one()
        assert lease.crawl == other
        await desk.finish(lease)
    await desk.store.pause(paused, paused=False)
    crawls = []
    for _ in range(20):
        lease = await desk.one()
        crawls.append(lease.crawl)
        await desk.finish(lease)
    assert 8 <= crawls.count(other) <= 12


async def test_a_paused_crawl_does_not_bar_a_host(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=1, interval_us=0, global_interval_us=0))
    paused = await desk.start("a", "b")
    other = await desk.start("c", "d")
    first, *none = await desk.claim_all()
    assert none == []
    await desk.store.pause(paused)
    if first.crawl == paused:
        await desk.finish(first)
        first = await desk.one()
    assert first.crawl == other
    await desk.finish(first)
    assert (await desk.one()).crawl == other


async def test_pages_of_a_paused_crawl_fail_at_its_deadline(desk: Desk) -> None:
    crawl = await desk.start("a", "b", deadline_us=10 * SECOND)
    await desk.store.pause(crawl)
    desk.clock.advance(11 * SECOND)
    await desk.sweep_all()
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.failed) == (CrawlStatus.COMPLETED, 2)


async def test_a_paused_crawl_that_goes_on_is_still_paused(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one()
    await desk.store.pause(crawl)
    await desk.finish(lease, end=Failed(code="http_500", message="broken"))
    assert await desk.store.retry_jobs([lease.job]) == 1
    assert await desk.claim_all() == []
