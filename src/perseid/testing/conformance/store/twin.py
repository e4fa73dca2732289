"""Two processes on one database see each other's work and never do it twice."""

from __future__ import annotations

import asyncio

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.job import JobKind
from perseid.ports.store import Beat
from perseid.ports.work import Failed, Lease, NewUrl
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Bench, Desk, ended, links, page


async def test_what_one_starts_the_other_works_on(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    crawl = await desk.start()
    await twin.finish(await twin.one(), "a")
    await desk.finish(await desk.one())
    assert (await twin.look(crawl)).status is CrawlStatus.COMPLETED
    assert await desk.documents(crawl) == await twin.documents(crawl) == [HOME, page("a").url]


async def test_a_lease_may_be_finished_through_another_store(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.start()
    assert await twin.finish(await desk.one())
    assert await desk.claim(5) == []


async def test_a_cancel_reaches_the_other(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    crawl = await desk.start("a", "b")
    lease = await twin.one()
    await desk.store.cancel(crawl)
    assert await twin.store.beat(twin.worker) == Beat({crawl})
    assert not await twin.finish(lease)
    assert await twin.claim(5) == []


async def test_each_sees_the_others_visited_urls(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    crawl = await desk.start("a", "b")
    a, b = await desk.one(), await twin.one()
    await desk.finish(a, "c", "d")
    await twin.finish(b, "c", "d", "e")
    assert (await desk.look(crawl)).counts.discovered == 5
    assert await desk.store.add(crawl, links("c", "e", "f")) == 1


@pytest.mark.parametrize("keep_variants", [False, True])
async def test_one_finds_what_the_other_has_found(desk: Desk, bench: Bench, *, keep_variants: bool) -> None:
    """Always the second to see a link; now and then it is a new one, or another spelling."""
    twin = await bench.twin(desk)
    rounds, width = 10, 30
    crawl = await desk.start(*(f"page{n}" for n in range(2 * rounds)), keep_variants=keep_variants)
    held = await desk.claim(2 * rounds)
    for n in range(rounds):
        first = [page(f"{n}-{link}") for link in range(width)]
        other = first[0]._replace(url=f"{first[0].url}/")
        assert await desk.finish(held[2 * n], *first)
        assert await twin.finish(held[2 * n + 1], *first, other, page(f"{n}-new"))
    assert (await desk.look(crawl)).counts.discovered == rounds * (2 + width + 1)
    found = await twin.claim_all()
    assert len({lease.key for lease in found}) == len(found) == rounds * (width + 1)
    gone = [lease for lease in found if lease.url.endswith("-0")]
    await twin.step([ended(lease, end=Failed(code="http_404", message="", status=404)) for lease in gone])
    again = [f"{lease.url}/" for lease in gone] if keep_variants else []
    assert sorted(lease.url for lease in await desk.claim_all()) == sorted(again)


async def test_a_reaped_twins_known_urls_do_not_lie(desk: Desk, bench: Bench) -> None:
    """A worker may remember which keys it wrote, but only those that were."""
    twin = await bench.twin(desk)
    crawl = await desk.start()
    lost = await twin.one()
    await desk.store.reap([twin.worker])
    assert (await twin.step([ended(lost, "a", "b")])).kept == [False]
    await twin.store.register("here", 1, 1)
    await twin.finish(await desk.one(), "a", "b")
    assert (await desk.look(crawl)).counts.discovered == 3


async def test_limits_and_robots_are_shared(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.store.put_robots("https://site.example", 200, b"x")
    assert await twin.store.get_robots("https://site.example") == (desk.clock.now, 200, b"x")
    await desk.store.set_team_limit(1, 1)
    await desk.start("a", "b")
    await desk.one()
    assert await twin.claim(5) == []


async def test_jobs_of_one_are_reaped_by_the_other(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.start("a", "b")
    await desk.claim(2)
    assert await twin.store.reap([desk.worker]) == 2
    assert len(await twin.claim_all()) == 2
    assert await desk.store.beat(desk.worker) is None


async def _work(desk: Desk, site: dict[str, list[str]], runs: list[str]) -> None:
    """A worker that goes on until it met nothing to do a few times."""
    idle = 0
    held: list[Lease] = []
    while idle < 5:
        done = [ended(lease, *site.get(lease.url, [])) for lease in held]
        held = (await desk.step(done, 3)).leases
        runs += [lease.url for lease in held]
        idle = 0 if held else idle + 1
        await asyncio.sleep(0)


async def test_many_at_once_do_everything_exactly_once(desk: Desk, bench: Bench) -> None:
    site = {page(f"{n}").url: [f"{m}" for m in range(2 * n, min(2 * n + 12, 300))] for n in range(300)}
    crawl = await desk.start("1", max_concurrency=8)
    twins = [desk, await bench.twin(desk), await bench.twin(desk)]
    runs: list[str] = []
    await asyncio.gather(*(_work(side, site, runs) for side in twins))
    await _work(desk, site, runs)
    seen = await desk.look(crawl)
    assert len(runs) == len(set(runs)) == seen.counts.discovered == seen.counts.done
    assert seen.counts.done >= 290
    assert seen.status is CrawlStatus.COMPLETED


async def test_time_is_the_stores_own(desk: Desk, bench: Bench) -> None:
    twin = await bench.twin(desk)
    await desk.start()
    lease = await desk.one(lease_us=SECOND)
    desk.clock.now = lease.expires_at + 1
    assert await twin.store.reap([]) == 1


async def test_work_of_a_kind_nobody_here_knows_waits_for_who_does(desk: Desk, bench: Bench) -> None:
    """While a fleet is upgraded, newer processes may begin what older ones have never heard of."""
    crawl = await desk.start("a", "b")
    lease = await desk.one()
    await desk.backend.execute(f"UPDATE queue SET class = 9 WHERE crawl = {crawl}")  # noqa: S608 - a number
    twin = await bench.twin(desk)
    assert await twin.claim(5) == []
    assert await desk.claim(5) == []
    await desk.backend.execute(f"UPDATE queue SET class = {int(JobKind.PAGE)} WHERE crawl = {crawl}")  # noqa: S608 - numbers
    assert await desk.finish(lease)
    assert len(await twin.claim(5)) == 1


async def test_a_worker_claims_only_the_kinds_it_asks_for(desk: Desk) -> None:
    await desk.start(NewUrl(url=HOME, key=1, host="site.example", kind=JobKind.KICKOFF))
    assert await desk.claim(5, kinds=(JobKind.PAGE, JobKind.SITEMAP)) == []
    assert [lease.kind for lease in await desk.claim(5, kinds=(JobKind.KICKOFF,))] == [JobKind.KICKOFF]
