"""What people do to single jobs: retry what failed, cancel what waits."""

from __future__ import annotations

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import JobId
from perseid.model.job import JobKind, JobState
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, Failed, HostNote, Lease, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, document, ended, kickoff, links, page, sitemap
from perseid.testing.conformance.store.desk import denied as refusal

ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)
TIMEOUT = Failed(code="timeout", message="")


def gone(url: str) -> Failed:
    return Failed(code="http_404", message="", status=404, document=document(url, status=404))


# Retrying


@pytest.mark.parametrize("swept", [False, True])
async def test_a_failed_page_is_tried_again(desk: Desk, *, swept: bool) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([ended(a, end=TIMEOUT), ended(b)])
    if swept:
        await desk.sweep_all()
    assert await desk.store.retry_jobs([a.job]) == 1
    seen = await desk.look(crawl)
    assert (seen.status, seen.ended_at) == (CrawlStatus.SCRAPING, None)
    assert (seen.counts.open, seen.counts.failed, seen.counts.discovered) == (1, 0, 2)
    again = await desk.one()
    assert (again.job, again.url, again.attempts) == (a.job, a.url, 0)
    assert not await desk.finish(a), "the old lease is nobody's"
    await desk.finish(again, "c")
    await desk.drain()
    await desk.sweep_all()
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done, seen.counts.failed) == (CrawlStatus.COMPLETED, 3, 0)
    assert await desk.store.failures(crawl) == []


async def test_a_page_of_a_running_crawl_is_tried_again(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a = await desk.one()
    await desk.finish(a, end=TIMEOUT)
    assert await desk.store.retry_jobs([a.job]) == 1
    assert await desk.drain() == [page("b").url, a.url]
    assert (await desk.look(crawl)).counts.done == 2


async def test_the_body_of_a_failed_attempt_is_listed_no_more_and_shifts_nobody(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c")
    a, b, c = await desk.claim_all()
    await desk.step([ended(a, end=gone(a.url)), ended(b)])
    assert await desk.store.retry_jobs([a.job]) == 1
    assert await desk.store.document_of(a.job) is None
    await desk.step([ended(c)])
    await desk.finish(await desk.one())
    rows = await desk.store.documents(crawl)
    assert [(row.seq, row.url) for row in rows] == [(2, b.url), (3, c.url), (4, a.url)]
    assert [row.seq for row in await desk.store.documents(crawl, after=2)] == [3, 4]
    counts = (await desk.look(crawl)).counts
    assert (counts.documents, counts.superseded, counts.done) == (3, 1, 3)


async def test_a_page_may_fail_again_and_again(desk: Desk) -> None:
    crawl = await desk.start("a")
    for rounds in range(1, 4):
        lease = await desk.one()
        await desk.finish(lease, end=gone(lease.url))
        seen = await desk.look(crawl)
        assert (seen.status, seen.counts.failed, seen.counts.superseded) == (CrawlStatus.COMPLETED, 1, rounds - 1)
        assert [row.seq for row in await desk.store.documents(crawl)] == [rounds]
        if rounds < 3:
            assert await desk.store.retry_jobs([lease.job, lease.job]) == 1, "once is enough"


async def test_a_failed_start_page_is_tried_again(desk: Desk) -> None:
    crawl = await desk.start(kickoff())
    start = await desk.one()
    await desk.finish(start, end=TIMEOUT)
    assert await desk.store.retry_jobs([start.job]) == 1
    assert (await desk.drain({HOME: ["a"]})) == [HOME, page("a").url]
    assert (await desk.look(crawl)).counts.done == 2


async def test_only_what_failed_or_was_cancelled_is_tried_again(desk: Desk) -> None:
    crawl = await desk.start("done", "refused", "waiting", "running", "later")
    done, refused, running, later = await desk.claim(4)
    await desk.step(
        [
            ended(done),
            ended(refused, end=Refused(denial=refusal("x").denial)),
            ended(later, end=Again(delay_us=SECOND)),
        ]
    )
    before = await desk.look(crawl)
    jobs = [job.job for job in await desk.jobs(crawl)]
    assert await desk.store.retry_jobs([*jobs, JobId(10**9)]) == 0
    assert await desk.look(crawl) == before
    assert running.crawl == crawl


@pytest.mark.parametrize("how", ["cancelled", "failed", "expired"])
async def test_a_crawl_that_was_stopped_or_forgotten_is_left(desk: Desk, how: str) -> None:
    crawl = await desk.start("a", "b", ttl_us=SECOND)
    a, b = await desk.claim_all()
    await desk.finish(a, end=TIMEOUT)
    if how == "cancelled":
        await desk.store.cancel(crawl)
    elif how == "failed":
        await desk.store.fail(crawl, "x")
    await desk.finish(b)
    if how == "expired":
        desk.clock.advance(SECOND)
    assert await desk.store.retry_jobs([a.job]) == 0
    assert await desk.claim_all() == []


async def test_a_page_that_came_by_another_url_since_is_left(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.finish(a, end=TIMEOUT)
    await desk.finish(b, final_key=page("a").key, final_url=page("a").url)
    assert await desk.store.retry_jobs([a.job]) == 0
    assert await desk.documents(crawl) == [b.url]


async def test_who_redirects_to_a_page_that_is_tried_again_is_its_duplicate(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.finish(a, end=TIMEOUT)
    assert await desk.store.retry_jobs([a.job]) == 1
    await desk.finish(b, final_key=page("a").key, final_url=page("a").url)
    await desk.finish(await desk.one())
    counts = (await desk.look(crawl)).counts
    assert (counts.done, counts.duplicate) == (1, 1)
    assert await desk.documents(crawl) == [a.url]


async def test_a_job_that_took_workers_down_still_runs_alone(desk: Desk) -> None:
    await desk.start("a")
    job = None
    while leases := await desk.claim_all():
        job = leases[0].job
        desk.clock.now = leases[0].expires_at
        await desk.store.reap([])
    assert job is not None
    assert await desk.store.retry_jobs([job]) == 1
    again = await desk.one()
    assert again.stalls == 2
    assert again.alone
    await desk.finish(again)


async def _gone(desk: Desk) -> Lease:
    lease = await desk.one()
    assert await desk.finish(lease, end=Failed(code="http_404", message="", status=404))
    return lease


async def test_other_spellings_are_tried_again_too(desk: Desk) -> None:
    crawl = await desk.start(*(page(name, key=4711) for name in ("p", "p/")), keep_variants=True)
    first, second = [await _gone(desk) for _ in range(2)]
    assert first.job == second.job
    assert await desk.store.retry_jobs([first.job]) == 1
    again = await desk.one()
    assert again.url == page("p/").url
    await desk.finish(again, end=Failed(code="http_404", message="", status=404))
    last = await desk.one()
    assert last.url == page("p").url
    await desk.finish(last)
    assert (await desk.look(crawl)).counts.done == 1


async def test_a_host_that_was_given_up_is_trusted_again(bench: Bench) -> None:
    hasty = HostDefaults(interval_us=0, global_interval_us=0, give_up_after=2)
    desk = await bench.desk(hasty)
    crawl = await desk.start("a")
    job = None
    while leases := await desk.patient_claim():
        job = leases[0].job
        await desk.finish(leases[0], end=Again(), hosts=[HostNote(host=leases[0].host, down=True)])
        await desk.store.sweep()
    assert await desk.store.failure_counts(crawl) == {"host_down": 1}
    assert job is not None
    assert await desk.store.retry_jobs([job]) == 1
    (lease,) = await desk.patient_claim()
    await desk.finish(lease)
    assert (await desk.look(crawl)).counts.done == 1


async def test_many_are_tried_again_in_one_call(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"https://h{n % 7}.example/{n}") for n in range(1_200)])
    leases = await desk.claim_all()
    await desk.step([ended(lease, end=TIMEOUT) for lease in leases])
    assert await desk.store.retry_jobs([lease.job for lease in leases]) == 1_200
    assert len(await desk.claim_all()) == 1_200
    assert (await desk.look(crawl)).counts.open == 1_200


# Cancelling


async def test_waiting_jobs_end_as_cancelled(desk: Desk) -> None:
    crawl = await desk.start(*"abcd")
    jobs = {job.url: job.job for job in await desk.jobs(crawl)}
    assert await desk.store.cancel_jobs([jobs[page(name).url] for name in "bd"]) == 2
    counts = (await desk.look(crawl)).counts
    assert (counts.open, counts.cancelled, counts.discovered, counts.open_pages) == (2, 2, 4, 2)
    assert await desk.drain() == [page("a").url, page("c").url]
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done, seen.counts.failed) == (CrawlStatus.COMPLETED, 2, 0)
    states = await desk.states(crawl)
    assert [states[page(name).url] for name in "abcd"] == [
        JobState.COMPLETED,
        JobState.CANCELLED,
        JobState.COMPLETED,
        JobState.CANCELLED,
    ]
    assert [job.url for job in await desk.store.jobs(state=JobState.CANCELLED)] == [page("b").url, page("d").url]


@pytest.mark.parametrize("which", ["0", "9", "0123456789", "012", "789", "1357", "48", "02468", "13579"])
async def test_those_left_in_line_are_claimed_each_once(desk: Desk, which: str) -> None:
    crawl = await desk.start_with([page(name) for name in "0123456789"])
    jobs = [job.job for job in await desk.jobs(crawl)]
    assert await desk.store.cancel_jobs([jobs[int(name)] for name in which]) == len(which)
    await desk.store.add(crawl, links("later"))
    claimed = await desk.drain(want=3)
    left = [page(name).url for name in "0123456789" if name not in which]
    expected = [*left, page("later").url] if len(which) < 10 else []
    assert sorted(claimed) == sorted(expected)
    assert claimed[:1] == left[:1], "the first in line stays the first"
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_crawl_without_an_open_job_left_completes(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    assert await desk.store.cancel_jobs([job.job for job in await desk.jobs(crawl)]) == 2
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED
    await desk.sweep_all()
    assert await desk.store.prune(ended_before_us=2**62) == [crawl]


async def test_one_that_waits_for_its_time_is_cancelled(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([ended(a, end=Again(delay_us=SECOND)), ended(b, end=Again(delay_us=SECOND, host="other.example"))])
    assert await desk.store.cancel_jobs([a.job, b.job]) == 2
    desk.clock.advance(2 * SECOND)
    assert await desk.claim_all() == []
    assert (await desk.look(crawl)).counts.cancelled == 2


async def test_what_runs_or_has_ended_is_left(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.finish(a)
    assert await desk.store.cancel_jobs([a.job, b.job, JobId(10**9)]) == 0
    assert await desk.finish(b)
    assert await desk.store.cancel_jobs([b.job]) == 0
    assert (await desk.look(crawl)).counts.done == 2


async def test_cancelling_twice_is_cancelling_once(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    job = (await desk.jobs(crawl))[0].job
    assert await desk.store.cancel_jobs([job, job]) == 1
    before = await desk.look(crawl)
    assert await desk.store.cancel_jobs([job]) == 0
    assert await desk.look(crawl) == before


async def test_a_cancelled_page_can_be_tried_again(desk: Desk) -> None:
    crawl = await desk.start("a")
    job = (await desk.jobs(crawl))[0].job
    await desk.store.cancel_jobs([job])
    assert await desk.store.retry_jobs([job]) == 1
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.cancelled, seen.counts.open) == (CrawlStatus.SCRAPING, 0, 1)
    assert await desk.drain() == [page("a").url]


async def test_a_lane_parked_at_a_full_host_is_left_in_order(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    first = await desk.start("busy")
    busy = await desk.one()
    crawl = await desk.start("a", "b", sitemap("map.xml"))
    assert await desk.claim_all() == []
    jobs = [job.job for job in await desk.jobs(crawl) if job.kind is JobKind.PAGE]
    assert await desk.store.cancel_jobs(jobs) == 2
    await desk.finish(busy)
    assert [lease.kind for lease in await desk.claim_all()] == [JobKind.SITEMAP]
    assert (await desk.look(first)).status is CrawlStatus.COMPLETED


async def test_jobs_of_a_cancelled_crawl_have_no_end_of_their_own(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.store.cancel(crawl)
    jobs = [job.job for job in await desk.jobs(crawl)]
    assert await desk.store.cancel_jobs(jobs) == 0
    assert await desk.store.retry_jobs(jobs) == 0
    assert (await desk.look(crawl)).counts.cancelled == 0
