"""From start to completion: jobs end once, completion is a fact of the last finish, lost locks write nothing."""

from __future__ import annotations

import pytest

from perseid.errors import NotFound
from perseid.model.crawl import CrawlStatus
from perseid.model.ids import WorkerId
from perseid.model.job import JobKind, JobState
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.work import Failed, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import (
    HOME,
    Desk,
    document,
    ended,
    key_of,
    kickoff,
    links,
    page,
    sitemap,
)


async def test_start_writes_the_crawl_with_its_first_job(desk: Desk) -> None:
    crawl = await desk.start(key_seed=-5, options=b'{"a":1}')
    seen = await desk.look(crawl)
    assert (seen.id, seen.status, seen.url, seen.key_seed) == (crawl, CrawlStatus.SCRAPING, HOME, -5)
    assert (seen.options, seen.created_at, seen.ended_at) == (b'{"a":1}', desk.clock.now, None)
    assert (seen.counts.open, seen.counts.discovered) == (1, 1)


async def test_an_unknown_crawl_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await desk.store.crawl("never started")


async def test_a_claimed_job_says_all_that_its_run_needs(desk: Desk) -> None:
    crawl = await desk.start(page(HOME, payload="p"))
    lease = await desk.one(lease_us=400 * SECOND)
    assert (lease.crawl, lease.url, lease.key, lease.host) == (crawl, HOME, key_of(HOME), "site.example")
    assert (lease.kind, lease.depth, lease.counted, lease.payload) == (JobKind.PAGE, 0, True, "p")
    assert (lease.attempts, lease.stalls, lease.hops, lease.alone) == (0, 0, b"", False)
    assert 0 <= lease.expires_at - desk.clock.now - 400 * SECOND <= 60 * SECOND


async def test_a_claimed_job_is_not_claimed_again(desk: Desk) -> None:
    await desk.start()
    await desk.one()
    assert await desk.claim(10) == []


async def test_nothing_is_claimed_unasked(desk: Desk) -> None:
    await desk.start()
    assert await desk.claim(0) == []


async def test_locks_differ(desk: Desk) -> None:
    await desk.start_with([page(str(n)) for n in range(50)])
    leases = await desk.claim_all()
    assert len({lease.lock for lease in leases}) == 50
    assert all(0 < lease.lock < 2**63 for lease in leases)


async def test_the_last_finish_completes_the_crawl(desk: Desk) -> None:
    crawl = await desk.start(ttl_us=60 * SECOND)
    lease = await desk.one()
    desk.clock.advance(SECOND)
    assert await desk.finish(lease)
    seen = await desk.look(crawl)
    assert (seen.status, seen.ended_at, seen.expires_at) == (
        CrawlStatus.COMPLETED,
        desk.clock.now,
        desk.clock.now + 60 * SECOND,
    )
    assert (seen.counts.open, seen.counts.done, seen.counts.documents) == (0, 1, 1)


async def test_a_crawl_goes_when_its_time_to_live_is_over(desk: Desk) -> None:
    crawl = await desk.start(ttl_us=60 * SECOND)
    await desk.finish(await desk.one())
    desk.clock.advance(59 * SECOND)
    assert await desk.store.prune(ended_before_us=0) == []
    desk.clock.advance(2 * SECOND)
    assert await desk.store.prune(ended_before_us=0) == [crawl]


async def test_a_crawl_with_nothing_to_do_is_completed_at_once(desk: Desk) -> None:
    crawl = await desk.start_with([])
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_a_crawl_with_an_open_job_goes_on(desk: Desk) -> None:
    crawl = await desk.start()
    assert await desk.finish(await desk.one(), "a")
    seen = await desk.look(crawl)
    assert (seen.status, seen.ended_at) == (CrawlStatus.SCRAPING, None)
    assert (seen.counts.open, seen.counts.discovered, seen.counts.done) == (1, 2, 1)


async def test_a_kickoff_is_the_start_page(desk: Desk) -> None:
    crawl = await desk.start(kickoff())
    assert (await desk.look(crawl)).counts.discovered == 1
    await desk.finish(await desk.one(), HOME, "a", sitemap("sitemap.xml"))
    counts = (await desk.look(crawl)).counts
    assert (counts.open, counts.discovered, counts.done, counts.documents) == (2, 2, 1, 1)
    await desk.drain()
    seen = await desk.look(crawl)
    assert seen.status is CrawlStatus.COMPLETED
    assert (seen.counts.discovered, seen.counts.done, seen.counts.documents) == (2, 2, 2)


async def test_sitemap_work_is_open_but_no_page(desk: Desk) -> None:
    crawl = await desk.start(sitemap("sitemap.xml"))
    counts = (await desk.look(crawl)).counts
    assert (counts.open, counts.discovered, counts.sitemap_files) == (1, 0, 1)
    await desk.finish(await desk.one())
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.discovered, seen.counts.done) == (CrawlStatus.COMPLETED, 0, 0)


async def test_a_failed_sitemap_is_no_failed_page(desk: Desk) -> None:
    crawl = await desk.start(page(HOME), sitemap("sitemap.xml"))
    for lease in await desk.claim_all():
        await desk.finish(lease, end=Failed(code="timeout", message=""))
    counts = (await desk.look(crawl)).counts
    assert (counts.discovered, counts.failed, counts.open) == (1, 1, 0)


async def test_sitemap_files_are_bounded(desk: Desk) -> None:
    crawl = await desk.start(sitemap("s0"), max_sitemap_files=2)
    await desk.finish(await desk.one(), sitemap("s1"), sitemap("s2"), "a")
    counts = (await desk.look(crawl)).counts
    assert (counts.sitemap_files, counts.discovered, counts.open) == (2, 1, 2)
    assert await desk.store.denied_counts(crawl) == {"LIMIT_REACHED": 1}


async def test_an_open_sitemap_keeps_the_crawl_going(desk: Desk) -> None:
    crawl = await desk.start(page(HOME), sitemap("sitemap.xml"))
    leases = {lease.kind: lease for lease in await desk.claim_all()}
    await desk.finish(leases[JobKind.PAGE])
    assert (await desk.look(crawl)).status is CrawlStatus.SCRAPING
    await desk.finish(leases[JobKind.SITEMAP])
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_the_store_sets_the_depth_of_links(desk: Desk) -> None:
    await desk.start(kickoff())
    start = await desk.one()
    assert start.depth == 0
    await desk.finish(start, page("a", depth=55), HOME)
    assert (await desk.one()).depth == 1


async def test_the_kickoff_leaves_its_note(desk: Desk) -> None:
    crawl = await desk.start(kickoff())
    await desk.finish(await desk.one(), "a", note=b'{"n":1}')
    await desk.finish(await desk.one(), "b")
    assert (await desk.look(crawl)).note == b'{"n":1}'


async def test_every_end_counts_in_its_own_counter(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c", "d")
    a, b, c, d = await desk.claim_all()
    await desk.step(
        [
            ended(a),
            ended(b, end=Failed(code="timeout", message="slow")),
            ended(c, end=Failed(code="http_404", message="gone", status=404, document=document(c.url, status=404))),
            ended(d, end=Refused(denial=Denial(DenialReason.ROBOTS_TXT, "/d"))),
        ]
    )
    seen = await desk.look(crawl)
    counts = seen.counts
    assert seen.status is CrawlStatus.COMPLETED
    assert (counts.discovered, counts.done, counts.failed, counts.denied) == (4, 1, 2, 1)
    assert counts.documents == 2
    assert set((await desk.states(crawl)).values()) == {JobState.COMPLETED, JobState.FAILED, JobState.DENIED}


async def test_a_job_ends_once(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    lease = await desk.one()
    assert await desk.finish(lease, "c")
    before = await desk.look(crawl)
    assert not await desk.finish(lease, "d", "e")
    assert not await desk.finish(lease, end=Failed(code="timeout", message=""))
    assert await desk.look(crawl) == before
    assert await desk.documents(crawl) == [lease.url]


async def test_a_job_ends_once_within_a_batch(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    lease = await desk.one()
    result = await desk.step([ended(lease, "c"), ended(lease, "d")])
    assert result.kept == [True, False]
    assert set(await desk.states(crawl)) == {page(name).url for name in "abc"}


async def test_a_forged_lock_writes_nothing(desk: Desk) -> None:
    crawl = await desk.start()
    lease = await desk.one()
    forged = type(lease)(**{name: getattr(lease, name) for name in lease.__struct_fields__} | {"lock": 12})
    assert not await desk.finish(forged, "a")
    assert (await desk.look(crawl)).counts.open == 1
    assert await desk.finish(lease)


async def test_a_batch_spans_crawls(desk: Desk) -> None:
    crawls = [await desk.start("a", "b") for _ in range(5)]
    result = await desk.step([ended(lease, "c") for lease in await desk.claim_all()])
    assert result.kept == [True] * 10
    for crawl in crawls:
        counts = (await desk.look(crawl)).counts
        assert (counts.done, counts.open, counts.discovered) == (2, 1, 3)


async def test_a_step_claims_what_its_own_finish_found(desk: Desk) -> None:
    await desk.start()
    result = await desk.step([ended(await desk.one(), "a", "b")], 5)
    assert sorted(lease.url for lease in result.leases) == [page("a").url, page("b").url]


async def test_only_kinds_that_the_worker_knows_are_claimed(desk: Desk) -> None:
    await desk.start(kickoff(), page("https://other.example/"), sitemap("https://third.example/s.xml"))
    assert [lease.kind for lease in await desk.claim_all(kinds=[JobKind.PAGE])] == [JobKind.PAGE]
    assert [lease.kind for lease in await desk.claim_all(kinds=[JobKind.SITEMAP])] == [JobKind.SITEMAP]
    assert [lease.kind for lease in await desk.claim_all()] == [JobKind.KICKOFF]


async def test_a_host_that_a_crawl_begins_with_is_asked_once_until_it_has_answered(desk: Desk) -> None:
    await desk.start(kickoff())
    await desk.start(kickoff())
    (lease,) = await desk.claim_all()
    assert await desk.claim_all() == [], "its crawl-delay is not known yet"
    await desk.finish(lease, "a", "b")
    assert len(await desk.claim_all()) == 3


async def test_a_claim_may_name_its_crawl(desk: Desk) -> None:
    await desk.start("a", "b")
    wanted = await desk.start("c", "d")
    assert {lease.crawl for lease in await desk.claim_all(crawl=wanted)} == {wanted}
    assert len(await desk.claim_all()) == 2


async def test_a_worker_that_never_registered_gets_nothing(desk: Desk) -> None:
    await desk.start()
    assert await desk.claim(5, worker=WorkerId(987_654)) == []


async def test_a_second_crawl_of_the_same_site_starts_anew(desk: Desk) -> None:
    site = {HOME: ["a", "b"]}
    for _ in range(2):
        crawl = await desk.start()
        await desk.drain(site)
        assert len(await desk.documents(crawl)) == 3


async def test_fail_ends_the_crawl_with_its_error(desk: Desk) -> None:
    crawl = await desk.start(kickoff())
    lease = await desk.one()
    assert await desk.store.fail(crawl, "no such host")
    seen = await desk.look(crawl)
    assert (seen.status, seen.error, seen.ended_at) == (CrawlStatus.FAILED, "no such host", desk.clock.now)
    assert not await desk.finish(lease, HOME)
    assert not await desk.store.fail(crawl, "again")
    assert not await desk.store.cancel(crawl)
    assert (await desk.look(crawl)).error == "no such host"


async def test_crawls_are_listed_newest_first(desk: Desk) -> None:
    crawls = []
    for _ in range(5):
        crawls.append(await desk.start())
        desk.clock.advance(1)
    newest = await desk.store.crawls(limit=2)
    assert [crawl.id for crawl in newest] == crawls[:2:-1]
    rest = await desk.store.crawls(before=newest[-1].created_at)
    assert [crawl.id for crawl in rest] == crawls[2::-1]


async def test_progress_tells_queued_from_active(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "https://other.example/c")
    await desk.one()
    progress = await desk.store.progress(crawl)
    assert (progress.queued, progress.active, progress.retrying) == (2, 1, 0)


async def test_sitemaps_count_distinct_urls(desk: Desk) -> None:
    crawl = await desk.start(sitemap("s1"), sitemap("s2"))
    first, second = await desk.claim_all()
    await desk.finish(first, *[page(name, sitemap=True) for name in ("a", "b")])
    await desk.finish(second, *[page(name, sitemap=True) for name in ("b", "c")])
    counts = (await desk.look(crawl)).counts
    assert (counts.sitemap_files, counts.sitemap_urls, counts.discovered) == (2, 3, 3)


async def test_a_page_known_before_its_sitemap_counts_into_the_coverage(desk: Desk) -> None:
    crawl = await desk.start(page("a"), sitemap("s"))
    lease = await desk.one(kinds=[JobKind.SITEMAP])
    await desk.finish(lease, page("a", sitemap=True), page("b", sitemap=True))
    assert (await desk.look(crawl)).counts.sitemap_urls == 2


async def test_a_fan_out_in_chunks_before_the_step(desk: Desk) -> None:
    crawl = await desk.start(sitemap("s"))
    lease = await desk.one()
    admitted = [
        await desk.store.add(crawl, links(*(f"p{n}" for n in range(at, at + 100))), parent=lease) for at in (0, 50, 100)
    ]
    assert admitted == [100, 50, 50]
    assert await desk.finish(lease, *(f"p{n}" for n in range(190, 210)))
    assert (await desk.look(crawl)).counts.discovered == 210
