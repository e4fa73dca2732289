"""Throttled and silent hosts: back off, spare the others, give up at last, and let the crawl end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, HostNote, Lease
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, host_of

PATIENT = HostDefaults(
    max_active=1_000_000,
    interval_us=0,
    global_interval_us=0,
    give_up_after=1_000,
    give_up_after_us=10**15,
)
HASTY = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)
"""Gives up as the defaults do: 8 times in a row or an hour."""


def throttled(lease: Lease, retry_after_us: int | None = None) -> HostNote:
    return HostNote(host=lease.host, throttled=True, retry_after_us=retry_after_us)


async def throttle(desk: Desk, lease: Lease, retry_after_us: int | None = None) -> None:
    assert await desk.finish(lease, end=Again(), hosts=[throttled(lease, retry_after_us)])


async def backoffs(desk: Desk, host: str = host_of(HOME)) -> int:
    return next(view.backoffs for view in await desk.store.hosts(limit=1000) if view.name == host)


async def test_retry_after_is_obeyed(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a", "b")
    await throttle(desk, await desk.one(), 2 * SECOND)
    desk.clock.advance(2 * SECOND - 1)
    result = await desk.step((), 5)
    assert result.leases == []
    assert result.wait_us is not None
    assert result.wait_us >= 1
    assert len(await desk.patient_claim(5)) > 0
    assert len(await desk.claim_all()) <= 1


async def test_other_hosts_are_not_delayed(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a", "b", "https://other.example/")
    await throttle(desk, await desk.one(), 60 * SECOND)
    assert [lease.host for lease in await desk.claim_all()] == ["other.example"]


async def test_a_backed_off_host_is_spared_by_all_crawls(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a")
    await desk.start("b")
    await throttle(desk, await desk.one(), 60 * SECOND)
    await desk.start("c")
    assert await desk.claim_all() == []


async def test_without_retry_after_waits_grow_up_to_the_cap(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a")
    waits = []
    (lease,) = await desk.claim_all()
    for _ in range(14):
        told = desk.clock.now
        await throttle(desk, lease)
        (lease,) = await desk.patient_claim()
        waits.append((desk.clock.now - told) / SECOND)
    assert 0.5 <= waits[0] <= 4.5
    assert all(later > 1.2 * earlier for earlier, later in pairwise(waits[:6]))
    assert max(waits) <= 300 * 1.5
    assert min(waits[-3:]) >= 100


@pytest.mark.parametrize("retry_after_us", [10**17, -5 * SECOND])
async def test_absurd_retry_after_is_bounded(bench: Bench, retry_after_us: int) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a")
    await throttle(desk, await desk.one(), retry_after_us)
    assert await desk.claim_all() == [], "no wait at all is no back-off"
    told = desk.clock.now
    assert len(await desk.patient_claim()) == 1
    assert desk.clock.now - told <= 2 * PATIENT.max_backoff_us


async def test_a_back_off_is_no_attempt(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a")
    await throttle(desk, await desk.one(), SECOND)
    (lease,) = await desk.patient_claim()
    assert (lease.attempts, lease.stalls) == (0, 0)


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_period_counts_once_however_many_say_it(bench: Bench, *, at_once: bool) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start(*"abcdefgh")
    held = await desk.claim_all()
    answers = [ended(lease, end=Again(), hosts=[throttled(lease)]) for lease in held]
    if at_once:
        await desk.step(answers)
    else:
        for answer in answers:
            await desk.step([answer])
            desk.clock.advance(1_000)
    assert await backoffs(desk) == 1


async def test_an_answer_in_flight_does_not_cut_the_back_off_short(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a", "b", "c")
    first, second, _ = await desk.claim_all()
    await throttle(desk, first, 60 * SECOND)
    await desk.finish(second, hosts=[HostNote(host=second.host, answered=True)])
    assert await desk.claim_all() == []


async def test_an_answer_begins_the_row_anew(bench: Bench) -> None:
    desk = await bench.desk(PATIENT)
    await desk.start("a", "b")
    for _ in range(3):
        (lease,) = await desk.patient_claim()
        await throttle(desk, lease, SECOND)
    assert await backoffs(desk) == 3
    (lease,) = await desk.patient_claim()
    await desk.finish(lease, hosts=[HostNote(host=lease.host, answered=True)])
    assert await backoffs(desk) == 0


async def _until_given_up(desk: Desk, note: str, *, most: int = 50) -> int:
    """Work on, the silent host never answering, until nothing is claimable; the number of tries."""
    for tries in range(most):
        leases = await desk.patient_claim()
        if not leases:
            return tries
        notes = [HostNote(host=leases[0].host, throttled=note == "throttled", down=note == "down")]
        await desk.finish(leases[0], end=Again(), hosts=notes)
        await desk.store.sweep()
    raise AssertionError("the host was never given up")


@pytest.mark.parametrize(("note", "code"), [("throttled", "rate_limited"), ("down", "host_down")])
async def test_a_host_that_never_answers_is_given_up_and_the_crawl_ends(bench: Bench, note: str, code: str) -> None:
    desk = await bench.desk(HASTY)
    crawl = await desk.start(*(f"p{n}" for n in range(30)))
    assert await _until_given_up(desk, note) == 8
    await desk.sweep_all(chunk=7)
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.failed, seen.counts.open) == (CrawlStatus.COMPLETED, 30, 0)
    assert await desk.store.failure_counts(crawl) == {code: 30}


async def test_giving_up_a_host_leaves_the_others(bench: Bench) -> None:
    desk = await bench.desk(HASTY)
    crawl = await desk.start("a", "b", *(f"https://other.example/{n}" for n in range(3)))
    for lease in await desk.claim_all():
        if lease.host == host_of(HOME):
            await throttle(desk, lease)
        else:
            assert await desk.finish(lease, f"https://other.example/next{lease.key}")
    others = [lease for lease in await desk.claim_all() if lease.host != host_of(HOME)]
    assert await _until_given_up(desk, "throttled") == 7
    await desk.store.sweep()
    for lease in others:
        assert await desk.finish(lease)
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.failed, seen.counts.done) == (CrawlStatus.COMPLETED, 2, 6)


async def test_a_host_is_given_up_after_its_time(bench: Bench) -> None:
    defaults = HostDefaults(
        max_active=10,
        interval_us=0,
        global_interval_us=0,
        give_up_after=1_000_000,
        give_up_after_us=3_600 * SECOND,
        max_backoff_us=300 * SECOND,
    )
    desk = await bench.desk(defaults)
    crawl = await desk.start(*(f"p{n}" for n in range(5)))
    started = desk.clock.now
    await _until_given_up(desk, "throttled", most=100)
    assert 3_600 * SECOND <= desk.clock.now - started <= 5_000 * SECOND
    assert await desk.store.failure_counts(crawl) == {"rate_limited": 5}
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_delayed_retry_of_a_given_up_host_fails_too(bench: Bench) -> None:
    desk = await bench.desk(HASTY)
    crawl = await desk.start("a", "b")
    late = await desk.one()
    await desk.finish(late, end=Again(delay_us=7_200 * SECOND, attempted=True))
    await _until_given_up(desk, "throttled", most=100)
    await desk.sweep_all()
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_given_up_host_is_tried_again_by_a_later_crawl(bench: Bench) -> None:
    desk = await bench.desk(HASTY)
    await desk.start("a", "b")
    await _until_given_up(desk, "throttled")
    await desk.sweep_all()
    desk.clock.advance(86_400 * SECOND)
    later = await desk.start("a")
    await desk.store.sweep()
    (lease,) = await desk.patient_claim()
    assert lease.crawl == later
    assert await desk.finish(lease, hosts=[HostNote(host=lease.host, answered=True)])
    assert (await desk.look(later)).counts.done == 1


async def test_eight_answers_at_once_do_not_give_a_host_up(bench: Bench) -> None:
    desk = await bench.desk(HASTY)
    crawl = await desk.start(*"abcdefghij")
    held = await desk.claim_all()
    await desk.step([ended(lease, end=Again(), hosts=[throttled(lease)]) for lease in held])
    await desk.store.sweep()
    assert (await desk.look(crawl)).counts.failed == 0
    assert len(await desk.patient_claim(5)) > 0


async def test_an_old_back_off_does_not_weigh_on_a_later_crawl(bench: Bench) -> None:
    """A row of back-offs that nobody went on with is no row: one refusal a day later gives nothing up."""
    desk = await bench.desk(HASTY)
    early = await desk.start("a", "b")
    await throttle(desk, await desk.one())
    await desk.store.cancel(early)
    desk.clock.advance(86_400 * SECOND)
    crawl = await desk.start("c", "d")
    (lease,) = await desk.patient_claim()
    await throttle(desk, lease)
    desk.clock.advance(SECOND // 2)
    await desk.store.sweep()
    assert len(await desk.patient_claim()) == 1
    assert await desk.store.failure_counts(crawl) == {}
