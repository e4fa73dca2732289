"""Jobs that go back to waiting: delayed, attempted, or moved to another host's lane."""

from __future__ import annotations

from perseid.model.crawl import CrawlStatus
from perseid.model.job import JobKind, JobState
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, kickoff, page

RETRY = Again(delay_us=5 * SECOND, attempted=True, code="timeout", message="too slow")


async def test_a_retry_is_not_claimed_before_it_is_due(desk: Desk) -> None:
    await desk.start()
    result = await desk.step([ended(await desk.one(), end=RETRY)], 5)
    assert result.leases == []
    assert result.wait_us == 5 * SECOND
    desk.clock.advance(5 * SECOND - 1)
    assert await desk.claim(5) == []
    desk.clock.advance(1)
    assert (await desk.one()).url == HOME


async def test_only_attempts_count_as_attempts(desk: Desk) -> None:
    await desk.start()
    counted = []
    for attempted in (True, False, True):
        lease = await desk.one()
        counted.append(lease.attempts)
        await desk.finish(lease, end=Again(attempted=attempted))
    lease = await desk.one()
    assert [*counted, lease.attempts] == [0, 1, 1, 2]
    assert lease.stalls == 0


async def test_a_retry_keeps_its_crawl_open(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), end=RETRY)
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.open, seen.counts.discovered) == (CrawlStatus.SCRAPING, 1, 1)
    assert (await desk.store.progress(crawl)).retrying == 1
    assert await desk.states(crawl) == {HOME: JobState.RETRYING}


async def test_a_retried_page_ends_once_with_one_document(desk: Desk) -> None:
    crawl = await desk.start()
    for _ in range(3):
        (lease,) = await desk.patient_claim()
        await desk.finish(lease, end=RETRY)
    (lease,) = await desk.patient_claim()
    assert lease.attempts == 3
    await desk.finish(lease)
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.done, counts.documents, counts.open) == (1, 1, 1, 0)


async def test_a_delayed_retry_holds_no_slot_and_no_other_page(desk: Desk) -> None:
    await desk.start("a", "b", max_concurrency=1)
    result = await desk.step([ended(await desk.one(), end=RETRY)], 5)
    assert [lease.url for lease in result.leases] == [page("b").url]


async def test_retries_come_back_in_order_of_their_time(desk: Desk) -> None:
    await desk.start("a", "b", "c")
    for delay, lease in zip((30, 10, 20), await desk.claim_all(), strict=True):
        await desk.finish(lease, end=Again(delay_us=delay * SECOND))
    back = [(await desk.patient_claim())[0].url for _ in range(3)]
    assert back == [page(name).url for name in "bca"]


async def test_a_moved_job_goes_to_the_other_hosts_lane_with_its_hops(desk: Desk) -> None:
    crawl = await desk.start()
    first = await desk.one()
    await desk.finish(first, end=Again(host="other.example", hops=b"state"))
    moved = await desk.one()
    assert (moved.job, moved.url, moved.host, moved.hops) == (first.job, HOME, "other.example", b"state")
    assert (moved.attempts, moved.stalls, moved.depth) == (0, 0, 0)
    await desk.finish(moved, "a")
    assert (await desk.look(crawl)).counts.discovered == 2


async def test_a_moved_job_may_move_back(desk: Desk) -> None:
    await desk.start()
    for host in ("other.example", "site.example", "third.example"):
        await desk.finish(await desk.one(), end=Again(host=host, hops=host.encode()))
    lease = await desk.one()
    assert (lease.host, lease.hops) == ("third.example", b"third.example")


async def test_a_job_may_move_and_wait(desk: Desk) -> None:
    await desk.start()
    await desk.finish(await desk.one(), end=Again(host="other.example", hops=b"h", delay_us=SECOND))
    assert await desk.claim(5) == []
    (lease,) = await desk.patient_claim()
    assert (lease.host, lease.hops) == ("other.example", b"h")


async def test_hops_are_given_up_where_the_run_begins_anew(desk: Desk) -> None:
    await desk.start()
    await desk.finish(await desk.one(), end=Again(host="other.example", hops=b"h"))
    await desk.finish(await desk.one(), end=Again(attempted=True))
    assert (await desk.one()).hops == b""


async def test_a_reaped_job_keeps_its_hops(desk: Desk) -> None:
    await desk.start()
    await desk.finish(await desk.one(), end=Again(host="other.example", hops=b"h"))
    lost = await desk.one()
    desk.clock.now = lost.expires_at + 1
    await desk.store.reap([])
    again = await desk.one()
    assert (again.host, again.hops) == ("other.example", b"h")


async def test_a_moved_job_does_not_overtake_what_its_host_holds_back(bench: Bench) -> None:
    desk = await bench.desk(HostDefaults(max_active=1, interval_us=0, global_interval_us=0))
    await desk.start("https://other.example/x")
    busy = await desk.one()
    await desk.start()
    await desk.finish(await desk.one(), end=Again(host="other.example"))
    assert await desk.claim(5) == []
    assert [lease.url for lease in (await desk.step([ended(busy)], 5)).leases] == [HOME]


async def test_kickoffs_can_be_retried_too(desk: Desk) -> None:
    crawl = await desk.start(kickoff())
    await desk.finish(await desk.one(), end=RETRY)
    (lease,) = await desk.patient_claim()
    assert (lease.kind, lease.attempts) == (JobKind.KICKOFF, 1)
    await desk.finish(lease)
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_links_of_a_page_that_is_not_over_are_admitted_once(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), "a", end=Again())
    again = next(lease for lease in await desk.claim_all() if lease.url == HOME)
    await desk.finish(again, "a", "b")
    assert set(await desk.states(crawl)) == {HOME, page("a").url, page("b").url}
