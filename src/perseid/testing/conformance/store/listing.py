"""What operators and tenants look at: crawls, jobs, workers, and the store as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind, JobState
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, Failed, HostNote
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, document, kickoff, page, sitemap

ONE_A_HOST = HostDefaults(max_active=1, interval_us=0, global_interval_us=0)


async def _ids(desk: Desk, **wanted: Any) -> list[CrawlId]:
    return [crawl.id for crawl in await desk.store.crawls(**wanted)]


async def _some(desk: Desk) -> dict[str, CrawlId]:
    """One of each kind and team, a second apart."""
    found = {}
    for name, kind, team in (
        ("crawl", CrawlKind.CRAWL, 1),
        ("batch", CrawlKind.BATCH, 1),
        ("scrape", CrawlKind.SCRAPE, 1),
        ("map", CrawlKind.MAP, 1),
        ("theirs", CrawlKind.CRAWL, 2),
        ("their scrape", CrawlKind.SCRAPE, 2),
    ):
        found[name] = await desk.start(kickoff(), kind=kind, team=team)
        desk.clock.advance(SECOND)
    return found


async def test_scrapes_are_listed_only_where_they_are_asked_for(desk: Desk) -> None:
    some = await _some(desk)
    assert await _ids(desk) == [some[name] for name in ("theirs", "map", "batch", "crawl")]
    assert await _ids(desk, kinds=[CrawlKind.SCRAPE]) == [some["their scrape"], some["scrape"]]
    assert await _ids(desk, kinds=[CrawlKind.SCRAPE, CrawlKind.BATCH]) == [
        some[name] for name in ("their scrape", "scrape", "batch")
    ]
    assert await _ids(desk, kinds=[]) == []


async def test_crawls_are_listed_by_team(desk: Desk) -> None:
    some = await _some(desk)
    assert await _ids(desk, team=2) == [some["theirs"]]
    assert await _ids(desk, team=1, kinds=[CrawlKind.SCRAPE]) == [some["scrape"]]
    assert await _ids(desk, team=3) == []


async def test_crawls_are_listed_by_status(desk: Desk) -> None:
    some = await _some(desk)
    await desk.store.cancel(some["batch"])
    assert await _ids(desk, status=CrawlStatus.CANCELLED) == [some["batch"]]
    assert await _ids(desk, status=CrawlStatus.SCRAPING, team=1) == [some["map"], some["crawl"]]


async def test_crawls_are_paged_through_newest_first(desk: Desk) -> None:
    some = await _some(desk)
    every = list(CrawlKind)
    seen: list[CrawlId] = []
    before = None
    while rows := await desk.store.crawls(kinds=every, before=before, limit=2):
        seen += [row.id for row in rows]
        before = rows[-1].created_at
    assert seen == sorted(some.values(), reverse=True)


async def test_jobs_are_listed_by_team_and_host(desk: Desk) -> None:
    await desk.start("a", "https://other.example/b", team=1)
    await desk.start("https://other.example/c", team=2)
    store = desk.store
    assert [job.url for job in await store.jobs(team=1)] == [page("a").url, "https://other.example/b"]
    assert [job.url for job in await store.jobs(host="other.example")] == [
        "https://other.example/b",
        "https://other.example/c",
    ]
    assert [job.url for job in await store.jobs(host="other.example", team=2)] == ["https://other.example/c"]
    assert await store.jobs(host="nowhere.example") == []


async def test_the_host_of_a_job_is_known_after_its_crawl_was_swept(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.drain()
    await desk.sweep_all()
    assert [job.host for job in await desk.store.jobs(crawl=crawl)] == ["site.example"]


@pytest.mark.parametrize("state", [state for state in JobState if state is not JobState.DUPLICATE])
async def test_jobs_in_each_state_are_found(bench: Bench, state: JobState) -> None:
    desk = await bench.desk(ONE_A_HOST)
    await desk.start(*(f"https://{name}.example/" for name in ("failed", "retrying", "completed", "denied")))
    for lease in await desk.claim_all():
        match lease.host:
            case "failed.example":
                await desk.finish(lease, end=Failed(code="timeout", message=""))
            case "retrying.example":
                await desk.finish(lease, end=Again(delay_us=SECOND))
            case "completed.example":
                await desk.finish(lease)
    stopped = await desk.start("https://cancelled.example/")
    await desk.store.cancel(stopped)
    await desk.start("https://active.example/", "https://active.example/backlog")
    await desk.claim_all()
    await desk.start("https://queued.example/")
    found = {job.url for job in await desk.store.jobs(state=state)}
    expected = {
        JobState.BACKLOG: {"https://active.example/backlog"},
        JobState.DENIED: set(),
        JobState.ACTIVE: {"https://active.example/", "https://denied.example/"},
    }
    assert found == expected.get(state, {f"https://{state.value}.example/"})
    assert all(job.state is state for job in await desk.store.jobs() if job.url in found)


async def test_pages_of_a_map_are_no_jobs(desk: Desk) -> None:
    crawl = await desk.start_with([kickoff()], kind=CrawlKind.MAP)
    await desk.finish(await desk.one(), "a", sitemap("map.xml"))
    kinds = {job.kind: job.state for job in await desk.store.jobs(crawl=crawl)}
    assert kinds == {JobKind.KICKOFF: JobState.COMPLETED, JobKind.SITEMAP: JobState.QUEUED}
    told = await desk.store.explain(crawl, [page("a").key], page("a").url)
    assert (told.state, told.referrers) == ("listed", (HOME,))


async def test_a_document_is_found_by_its_job(desk: Desk) -> None:
    await desk.start("a", "b", "c")
    a, b, c = await desk.claim_all()
    await desk.finish(b)
    kept = Failed(code="http_404", message="", status=404, document=document(a.url, status=404))
    await desk.finish(a, end=kept)
    await desk.finish(c, end=Failed(code="timeout", message=""))
    found = await desk.store.document_of(a.job)
    assert found is not None
    assert (found.seq, found.job, found.url, found.status, found.state) == (2, a.job, a.url, 404, JobState.FAILED)
    assert await desk.store.document_of(c.job) is None


async def test_workers_are_shown_with_what_they_hold(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.start("a", "b")
    began = desk.clock.now
    first = await desk.one()
    desk.clock.advance(SECOND)
    second = await desk.one()
    await desk.store.beat(desk.worker)
    busy, idle = await desk.store.workers_view()
    assert (busy.id, busy.host, busy.pid, busy.beat) == (desk.worker, "here", 1000, 1)
    assert [(lease.job, lease.url, lease.started_at) for lease in busy.leases] == [
        (first.job, first.url, began),
        (second.job, second.url, began + SECOND),
    ]
    assert (idle.id, idle.leases) == (twin.worker, [])


async def test_the_store_at_a_glance(bench: Bench) -> None:
    desk = await bench.desk(ONE_A_HOST)
    ended = await desk.start("https://done.example/")
    await desk.drain()
    await desk.store.cancel(await desk.start("https://done.example/"))
    await desk.start("a", "b", "https://slow.example/", "https://busy.example/")
    held = {lease.host: lease for lease in await desk.claim_all()}
    throttled = HostNote(host="slow.example", throttled=True, retry_after_us=SECOND)
    await desk.finish(held["slow.example"], end=Again(delay_us=2 * SECOND), hosts=[throttled])
    await desk.start("https://new.example/", kind=CrawlKind.SCRAPE)
    stats = await desk.store.stats()
    assert (await desk.look(ended)).status is CrawlStatus.COMPLETED
    assert stats.crawls == {
        CrawlStatus.SCRAPING: 1,
        CrawlStatus.COMPLETED: 1,
        CrawlStatus.CANCELLED: 1,
        CrawlStatus.FAILED: 0,
    }
    assert stats.jobs == {JobState.QUEUED: 1, JobState.BACKLOG: 1, JobState.ACTIVE: 2, JobState.RETRYING: 1}
    assert (stats.scrapes, stats.hosts_backed_off, stats.hosts_paused, stats.workers) == (1, 1, 0, 1)
