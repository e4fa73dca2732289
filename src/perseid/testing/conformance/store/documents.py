"""What a crawl brought home: dense in finishing order, and pages of a listing never shift."""

from __future__ import annotations

import asyncio

from perseid.model.job import JobState
from perseid.ports.work import Done, Failed, StoredDocument
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import FREE, HOME, Bench, Desk, document, ended, page


async def test_documents_are_numbered_in_finishing_order(desk: Desk) -> None:
    crawl = await desk.start(*"abcd")
    a, b, c, d = await desk.claim_all()
    await desk.finish(c)
    await desk.step([ended(a), ended(d)])
    await desk.finish(b)
    rows = await desk.store.documents(crawl)
    assert [(row.seq, row.url) for row in rows] == [(n, lease.url) for n, lease in enumerate((c, a, d, b), start=1)]


async def test_failed_pages_with_a_body_are_documents_others_are_not(desk: Desk) -> None:
    crawl = await desk.start(*"abc")
    a, b, c = await desk.claim_all()
    await desk.finish(a, end=Failed(code="timeout", message="slow"))
    body = document(b.url, status=404)
    await desk.finish(b, end=Failed(code="http_404", message="gone", status=404, document=body))
    await desk.finish(c)
    rows = await desk.store.documents(crawl)
    assert [(row.seq, row.url, row.status, row.state) for row in rows] == [
        (1, b.url, 404, JobState.FAILED),
        (2, c.url, 200, JobState.COMPLETED),
    ]


async def test_a_document_comes_back_as_it_was_written(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    body = bytes(range(256)) * 9_000
    await desk.finish(a, end=Done(document=StoredDocument(HOME + "final", 203, "Ti\u4f60", body)))
    await desk.finish(b, end=Done(document=StoredDocument(HOME + "big", 200, None, b"", "1/ab/body")))
    first, second = await desk.store.documents(crawl)
    assert (first.job, first.url, first.status, first.body, first.blob) == (
        a.job,
        HOME + "final",
        203,
        body,
        None,
    )
    assert (second.body, second.blob) == (b"", "1/ab/body")


async def test_pages_of_a_listing_never_shift(desk: Desk) -> None:
    """Reading while the crawl goes on neither skips nor repeats a document."""
    crawl = await desk.start_with([page(f"p{n}") for n in range(60)])
    held = await desk.claim_all()
    read: list[str] = []
    after = 0
    while held or len(read) < 60:
        await desk.step([ended(lease) for lease in held[-4:]])
        del held[-4:]
        rows = await desk.store.documents(crawl, after=after, limit=3)
        read += [row.url for row in rows]
        after = rows[-1].seq
        assert after == len(read)
    assert read == await desk.documents(crawl)
    assert len(set(read)) == 60


async def test_two_processes_finishing_at_once_number_densely(desk: Desk, bench: Bench) -> None:
    crawl = await desk.start_with([page(f"p{n}") for n in range(60)])
    twin = await bench.twin(desk)
    held = await desk.claim_all()
    theirs = await twin.claim_all()
    assert theirs == []
    await asyncio.gather(*((desk, twin)[n % 2].finish(lease) for n, lease in enumerate(held)))
    assert [row.seq for row in await desk.store.documents(crawl, limit=100)] == list(range(1, 61))


async def test_each_crawl_numbers_its_own_documents(desk: Desk) -> None:
    crawls = [await desk.start("a", "b") for _ in range(3)]
    await desk.drain()
    for crawl in crawls:
        assert [row.seq for row in await desk.store.documents(crawl)] == [1, 2]


async def test_failures_tell_what_happened_where_and_whence(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), "a")
    desk.clock.advance(SECOND)
    lease = await desk.one()
    await desk.finish(lease, end=Failed(code="http_500", message="broken", status=500))
    (row,) = await desk.store.failures(crawl)
    assert (row.job, row.url, row.code, row.message, row.status) == (
        lease.job,
        lease.url,
        "http_500",
        "broken",
        500,
    )
    assert (row.at, row.referrer) == (desk.clock.now, HOME)


async def test_failures_are_counted_by_code_and_paged(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"p{n}") for n in range(25)])
    leases = await desk.claim_all()
    codes = ["timeout" if n % 3 else "dns_error" for n in range(25)]
    ends = [Failed(code=code, message="") for code in codes]
    await desk.step([ended(lease, end=end) for lease, end in zip(leases, ends, strict=True)])
    assert await desk.store.failure_counts(crawl) == {"dns_error": 9, "timeout": 16}
    urls: list[str] = []
    after = 0
    while rows := await desk.store.failures(crawl, after=after, limit=10):
        urls += [row.url for row in rows]
        after = rows[-1].job
    assert sorted(urls) == sorted(lease.url for lease in leases)


async def test_jobs_are_listed_by_state(desk: Desk) -> None:
    crawl = await desk.start(*"abcd")
    a, b, _ = await desk.claim(3)
    await desk.finish(a)
    await desk.finish(b, end=Failed(code="timeout", message="slow"))
    for state, name in [
        (JobState.COMPLETED, "a"),
        (JobState.FAILED, "b"),
        (JobState.ACTIVE, "c"),
        (JobState.QUEUED, "d"),
    ]:
        rows = await desk.store.jobs(crawl=crawl, state=state)
        assert [(row.url, row.state, row.crawl) for row in rows] == [(page(name).url, state, crawl)]


async def test_waiting_jobs_of_a_full_crawl_are_its_backlog(desk: Desk) -> None:
    crawl = await desk.start("a", "b", max_concurrency=1)
    await desk.one()
    states = await desk.states(crawl)
    assert states == {page("a").url: JobState.ACTIVE, page("b").url: JobState.BACKLOG}


async def test_hosts_show_their_load(desk: Desk) -> None:
    await desk.start("a", "b", "c", "https://other.example/")
    await desk.claim(1)
    views = {view.name: view for view in await desk.store.hosts()}
    assert (views["site.example"].active, views["site.example"].max_active) == (1, FREE.max_active)
    assert views["other.example"].active == 0


async def test_jobs_of_a_state_are_found_behind_many_others(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"p{n}") for n in range(300)])
    *_, last = await desk.claim_all()
    await desk.finish(last)
    (row,) = await desk.store.jobs(crawl=crawl, state=JobState.COMPLETED, limit=2)
    assert row.url == last.url


async def test_jobs_of_all_crawls_are_listed_together(desk: Desk) -> None:
    crawls = [await desk.start("a", "b") for _ in range(3)]
    rows = await desk.store.jobs(limit=5)
    rows += await desk.store.jobs(after=rows[-1].job, limit=5)
    assert [row.crawl for row in rows] == [crawl for crawl in crawls for _ in "ab"]
