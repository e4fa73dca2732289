"""Clean-up and supervision: prune, deadlines, the robots cache, and an audit that notices damage."""

from __future__ import annotations

import pytest

from perseid.errors import NotFound
from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.work import Again, Failed
from perseid.testing.conformance.store.backend import SECOND, NewBackend
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, denied, document, ended, page

EVER = 2**62


async def _rich_crawl(desk: Desk) -> CrawlId:
    """A crawl that left something in every table, cancelled in the middle of its work."""
    crawl = await desk.start(keep_variants=True, max_discovery_depth=1)
    refused = [denied("https://x.example/")]
    await desk.finish(await desk.one(), *"abcdef", page("a/", key=page("a").key), denied=refused)
    a, b, c, d = await desk.claim(4)
    final = page("end")
    await desk.step([ended(a, "deep", cut=True, final_key=final.key, final_url=final.url)])
    await desk.finish(b, end=Failed(code="http_404", message="", status=404, document=document(b.url, status=404)))
    await desk.finish(c, end=Again(delay_us=SECOND))
    await desk.finish(d, end=Again(host="other.example", hops=b"h"))
    await desk.claim(1)
    await desk.store.cancel(crawl)
    return crawl


async def test_prune_leaves_no_row_behind(desk: Desk) -> None:
    crawl = await _rich_crawl(desk)
    assert await desk.backend.rows_of(crawl)
    desk.clock.advance(3_600 * SECOND)
    await desk.store.reap([])
    gone = await desk.store.prune(ended_before_us=EVER, crawl=crawl)
    assert gone == [crawl]
    assert await desk.backend.rows_of(crawl) == {}
    with pytest.raises(NotFound):
        await desk.look(crawl)
    assert await desk.store.documents(crawl) == []


async def test_prune_takes_nothing_of_others(desk: Desk) -> None:
    other = await _rich_crawl(desk)
    await desk.sweep_all()
    crawl = await desk.start()
    await desk.drain({HOME: ["a"]})
    before = await desk.backend.rows_of(other)
    assert await desk.store.prune(ended_before_us=EVER, crawl=crawl) == [crawl]
    assert await desk.backend.rows_of(other) == before
    assert await desk.store.prune(ended_before_us=EVER, crawl=crawl) == []


async def test_running_crawls_are_not_pruned(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    await desk.finish(await desk.one())
    assert await desk.store.prune(ended_before_us=EVER) == []
    assert await desk.store.prune(ended_before_us=EVER, crawl=crawl) == []
    assert len(await desk.documents(crawl)) == 1


async def test_only_crawls_that_ended_before_are_pruned(desk: Desk) -> None:
    early = await desk.start()
    await desk.drain()
    desk.clock.advance(10 * SECOND)
    late = await desk.start()
    await desk.drain()
    gone = await desk.store.prune(ended_before_us=desk.clock.now - 5 * SECOND)
    assert gone == [early]
    assert (await desk.look(late)).counts.done == 1


async def test_a_crawl_of_many_rows_is_pruned_whole(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"https://h{n % 50}.example/{n}") for n in range(6_000)])
    await desk.store.cancel(crawl)
    assert await desk.store.prune(ended_before_us=EVER, crawl=crawl) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}


async def test_one_call_prunes_all_that_ended(desk: Desk) -> None:
    crawls = []
    for _ in range(30):
        crawls.append(await desk.start("a", "b", "https://other.example/"))
        await desk.store.cancel(crawls[-1])
    assert sorted(await desk.store.prune(ended_before_us=EVER)) == crawls
    assert await desk.store.crawls() == []


async def test_pruning_in_rounds_goes_on_where_it_stopped(desk: Desk) -> None:
    large = await desk.start_with([page(f"https://h{n % 50}.example/{n}") for n in range(6_000)], ttl_us=SECOND)
    await desk.store.cancel(large)
    small = [await desk.start("a", "b", ttl_us=SECOND) for _ in range(3)]
    for crawl in small:
        await desk.store.cancel(crawl)
    kept = await desk.start("a")
    await desk.sweep_all()
    assert await desk.store.prune(rounds=1) == []
    desk.clock.advance(SECOND)
    assert await desk.store.prune(rounds=1) == [], "more rows than go in one round"
    assert [seen.id for seen in await desk.store.crawls()] == [kept], "what is going is seen no more"
    with pytest.raises(NotFound):
        await desk.look(large)
    assert await desk.store.audit() == []
    gone: list[CrawlId] = []
    for _ in range(10):
        gone += await desk.store.prune(rounds=1)
    assert sorted(gone) == [large, *small]
    assert [await desk.backend.rows_of(crawl) for crawl in gone] == [{}] * 4


async def test_pruning_one_leaves_others_that_are_going(desk: Desk) -> None:
    large = await desk.start_with([page(f"https://h{n % 50}.example/{n}") for n in range(6_000)], ttl_us=SECOND)
    small = await desk.start("a")
    for crawl in (large, small):
        await desk.store.cancel(crawl)
    await desk.sweep_all()
    desk.clock.advance(SECOND)
    assert await desk.store.prune(rounds=1) == []
    assert await desk.store.prune(ended_before_us=EVER, crawl=small) == [small]
    assert await desk.store.prune() == [large]


async def test_a_crawl_of_many_hosts_is_pruned_whole(desk: Desk) -> None:
    crawl = await desk.start_with([page(f"https://h{n}.example/") for n in range(6_000)])
    await desk.store.cancel(crawl)
    assert await desk.store.prune(ended_before_us=EVER, crawl=crawl) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}


async def test_a_pruned_crawl_that_is_still_worked_on_harms_nobody(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    other = await desk.start("a")
    held = await desk.claim_all(crawl=crawl)
    await desk.store.cancel(crawl)
    await desk.store.prune(ended_before_us=EVER, crawl=crawl)
    result = await desk.step([ended(lease, "c") for lease in held], 5)
    assert result.kept == [False, False]
    assert [lease.crawl for lease in result.leases] == [other]
    assert await desk.store.audit() == []


async def test_a_crawl_ends_at_its_deadline(desk: Desk) -> None:
    crawl = await desk.start(deadline_us=10 * SECOND)
    await desk.finish(await desk.one(), *(f"p{n}" for n in range(20)))
    running = await desk.one()
    desk.clock.advance(10 * SECOND - 1)
    await desk.sweep_all()
    assert (await desk.look(crawl)).status is CrawlStatus.SCRAPING
    desk.clock.advance(2)
    await desk.sweep_all(chunk=5)
    assert await desk.claim(5) == []
    await desk.finish(running, "late")
    await desk.sweep_all()
    seen = await desk.look(crawl)
    assert seen.status in {CrawlStatus.COMPLETED, CrawlStatus.FAILED}
    assert await desk.claim(5) == []
    assert (await desk.store.failure_counts(crawl)).keys() <= {"crawl_deadline"}
    assert await desk.documents(crawl)


async def test_delayed_work_does_not_outlive_the_deadline(desk: Desk) -> None:
    crawl = await desk.start(deadline_us=10 * SECOND)
    await desk.finish(await desk.one(), end=Again(delay_us=3_600 * SECOND))
    desk.clock.advance(11 * SECOND)
    await desk.sweep_all()
    assert (await desk.look(crawl)).status is not CrawlStatus.SCRAPING


async def test_sweeping_a_tidy_store_touches_nothing(desk: Desk) -> None:
    await desk.start()
    await desk.drain({HOME: ["a"]})
    await desk.start("b", deadline_us=10 * SECOND)
    await desk.sweep_all()
    assert await desk.store.sweep() == 0
    assert len(await desk.claim_all()) == 1


async def test_nothing_waits_for_time_where_nothing_waits(desk: Desk) -> None:
    assert (await desk.step((), 5)).wait_us is None
    await desk.start("a", "b", max_concurrency=1)
    await desk.claim(1)
    assert (await desk.step((), 5)).wait_us is None


async def test_robots_are_kept_as_they_came(desk: Desk) -> None:
    origin = "https://site.example"
    assert await desk.store.get_robots(origin) is None
    await desk.store.put_robots(origin, 200, b"User-agent: *\n\x00\xff")
    assert await desk.store.get_robots(origin) == (desk.clock.now, 200, b"User-agent: *\n\x00\xff")
    desk.clock.advance(SECOND)
    await desk.store.put_robots(origin, 404, b"")
    assert await desk.store.get_robots(origin) == (desk.clock.now, 404, b"")
    assert await desk.store.get_robots("http://site.example") is None


async def test_a_checkpoint_changes_nothing(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    await desk.finish(await desk.one(), "c")
    before = await desk.look(crawl)
    await desk.store.checkpoint()
    assert await desk.look(crawl) == before


async def test_limits_of_unknown_crawls_are_no_accident(desk: Desk) -> None:
    await desk.store.set_crawl_limits(CrawlId(99), max_concurrency=3)
    assert not await desk.store.cancel(CrawlId(99))
    assert not await desk.store.fail(CrawlId(99), "no such crawl")
    assert await desk.store.add(CrawlId(99), [page("a")]) == 0


async def test_the_audit_notices_damage(bench: Bench, new_backend: NewBackend) -> None:
    unnoticed = []
    for name in new_backend().damages:
        desk = await bench.desk()
        desk.lying = True
        await desk.start(*"abcd", "https://other.example/", max_concurrency=3)
        await desk.start(*"xy")
        await desk.finish(await desk.one(), "e", denied=[denied("https://x.example/")])
        await desk.claim(3)
        assert await desk.store.audit() == []
        await desk.backend.execute(desk.backend.damages[name])
        if await desk.store.audit() == []:
            unnoticed.append(name)
    assert unnoticed == []


async def test_the_audit_repairs_nothing(bench: Bench, new_backend: NewBackend) -> None:
    statement = next(iter(new_backend().damages.values()))
    desk = await bench.desk()
    desk.lying = True
    await desk.start("a", "b")
    await desk.claim(1)
    await desk.backend.execute(statement)
    found = await desk.store.audit()
    assert found
    assert await desk.store.audit() == found


async def test_an_origin_that_no_host_can_have_does_no_harm(desk: Desk) -> None:
    origin = "https://" + "x" * 50_000
    await desk.store.put_robots(origin, 0, b"")
    assert await desk.store.get_robots(origin) in {None, (desk.clock.now, 0, b"")}
