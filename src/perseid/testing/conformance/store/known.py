"""What teams remember: URLs of sites as pages bring them home, and versions of pages."""

from __future__ import annotations

from typing import Any

from perseid.ports.known import Snapshot
from perseid.ports.work import Done, Failed
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Desk, document, page

SITE = "site.example"


async def _bring(desk: Desk, url: str, *, team: int = 1, **fields: Any) -> None:
    await desk.start(url, team=team)
    lease = await desk.one()
    await desk.finish(lease, end=Done(document=document(lease.url, **fields)))


async def urls(desk: Desk, team: int = 1, site: str = SITE, **fields: int) -> list[str]:
    return [known.url for known in await desk.store.known.known_urls(team, site, **fields)]


async def test_a_page_that_carries_a_site_is_remembered(desk: Desk) -> None:
    await _bring(desk, "a", site=SITE, title="A", description="d")
    (known,) = await desk.store.known.known_urls(1, SITE)
    assert known == (page("a").url, "A", "d", desk.clock.now)


async def test_other_pages_are_not(desk: Desk) -> None:
    await _bring(desk, "a")
    await desk.start("b")
    lease = await desk.one()
    gone = document(lease.url, status=404, site=SITE)
    await desk.finish(lease, end=Failed(code="http_404", message="", status=404, document=gone))
    assert await urls(desk) == []


async def test_nothing_of_a_crawl_that_is_to_be_erased_is(desk: Desk) -> None:
    await desk.start("a", zero_retention=True)
    lease = await desk.one()
    await desk.finish(lease, end=Done(document=document(lease.url, site=SITE)))
    assert await urls(desk) == []


async def test_a_duplicate_is_not(desk: Desk) -> None:
    await desk.start("a", "b")
    first, second = await desk.claim(2)
    await desk.finish(first)
    there = Done(document=document(page("a").url, site=SITE))
    await desk.finish(second, end=there, final_key=page("a").key, final_url=page("a").url)
    assert await urls(desk) == []


async def test_the_newest_come_first_and_are_bounded(desk: Desk) -> None:
    for name in "abc":
        desk.clock.advance(SECOND)
        await _bring(desk, name, site=SITE)
    assert await urls(desk) == [page(name).url for name in "cba"]
    assert await urls(desk, limit=2) == [page(name).url for name in "cb"]
    desk.clock.advance(SECOND)
    await _bring(desk, "a", site=SITE, title="new")
    assert await urls(desk) == [page(name).url for name in "acb"]


async def test_teams_and_sites_know_nothing_of_each_other(desk: Desk) -> None:
    await _bring(desk, "a", site=SITE, team=2)
    assert await urls(desk, 2) == [page("a").url]
    assert await urls(desk, 1) == []
    assert await urls(desk, 2, "other.example") == []


async def test_urls_outlive_their_crawl_and_are_forgotten_by_age(desk: Desk) -> None:
    await _bring(desk, "a", site=SITE)
    await desk.store.prune(ended_before_us=2**62)
    desk.clock.advance(SECOND)
    await _bring(desk, "b", site=SITE)
    assert len(await urls(desk)) == 2
    assert await desk.store.known.forget_urls(desk.clock.now) == 1
    assert await urls(desk) == [page("b").url]


async def test_text_that_databases_refuse_does_not_cost_the_page(desk: Desk) -> None:
    crawl = await desk.start("a")
    lease = await desk.one()
    odd = document(lease.url, site=SITE, title="a\0\ud800", description="\udfff")
    assert await desk.finish(lease, end=Done(document=odd._replace(title="t")))
    assert (await desk.look(crawl)).counts.done == 1
    assert len(await urls(desk)) == 1


async def test_the_newest_snapshot_stays(desk: Desk) -> None:
    known = desk.store.known
    assert await known.snapshot(1, "https://a.example/", "") is None
    await known.put_snapshot(1, "https://a.example/", "", Snapshot(20, b"new"))
    await known.put_snapshot(1, "https://a.example/", "", Snapshot(10, b"old"))
    assert await known.snapshot(1, "https://a.example/", "") == Snapshot(20, b"new")
    await known.put_snapshot(1, "https://a.example/", "", Snapshot(30, b"newer"))
    assert await known.snapshot(1, "https://a.example/", "") == Snapshot(30, b"newer")


async def test_snapshots_are_apart_by_team_url_and_tag(desk: Desk) -> None:
    known = desk.store.known
    await known.put_snapshot(1, "https://a.example/", "t", Snapshot(1, b"x"))
    assert await known.snapshot(2, "https://a.example/", "t") is None
    assert await known.snapshot(1, "https://a.example/b", "t") is None
    assert await known.snapshot(1, "https://a.example/", "") is None
    assert await known.forget_snapshots(2) == 1
    assert await known.snapshot(1, "https://a.example/", "t") is None
