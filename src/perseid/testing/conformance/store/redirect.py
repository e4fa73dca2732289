"""Redirects end on keys: a new one is visited from then on, a known one makes a duplicate, once."""

from __future__ import annotations

from itertools import permutations

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.job import JobState
from perseid.ports.work import Done, Failed, Finished, Lease
from perseid.testing.conformance.store.desk import HOME, Desk, document, ended, key_of, page


def redirected(lease: Lease, to: str, *urls: str) -> Finished:
    """The page was found at the end of a redirect."""
    final = page(to)
    return ended(lease, *urls, end=Done(document=document(final.url)), final_key=final.key, final_url=final.url)


async def _duplicates(desk: Desk, crawl: CrawlId) -> tuple[int, int]:
    counts = (await desk.look(crawl)).counts
    assert counts.documents == counts.done
    return counts.done, counts.duplicate


async def test_a_new_final_url_is_visited_from_then_on(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([redirected(a, "end", "c")])
    await desk.finish(b, "end", "c")
    assert await desk.drain() == [page("c").url]
    assert await desk.documents(crawl) == [page("end").url, page("b").url, page("c").url]
    assert (await desk.look(crawl)).counts.discovered == 3, "the end of a redirect takes no place"


async def test_a_redirect_to_itself_is_no_race(desk: Desk) -> None:
    crawl = await desk.start("post")
    lease = await desk.one()
    final = HOME + "post/"
    done = Done(document=document(final))
    await desk.step([Finished(lease=lease, end=done, final_key=lease.key, final_url=final)])
    assert await desk.documents(crawl) == [final]
    assert await _duplicates(desk, crawl) == (1, 0)


async def test_a_redirect_to_an_open_page_is_a_duplicate(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a = await desk.one()
    await desk.step([redirected(a, "b")])
    assert await _duplicates(desk, crawl) == (0, 1)
    assert await desk.drain() == [page("b").url]
    assert await desk.documents(crawl) == [page("b").url]
    assert (await desk.states(crawl))[a.url] is JobState.DUPLICATE


async def test_a_redirect_to_a_running_page_is_a_duplicate(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([redirected(a, "b")])
    await desk.finish(b)
    assert await _duplicates(desk, crawl) == (1, 1)


async def test_a_redirect_to_a_done_page_is_a_duplicate(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.finish(b)
    assert (await desk.step([redirected(a, "b")])).kept == [True]
    assert await _duplicates(desk, crawl) == (1, 1)
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


async def test_two_redirects_to_one_unknown_end_give_one_page(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([redirected(a, "end"), redirected(b, "end")])
    assert await _duplicates(desk, crawl) == (1, 1)
    assert await desk.documents(crawl) == [page("end").url]


async def test_a_redirect_to_an_ended_duplicate_is_no_race(desk: Desk) -> None:
    crawl = await desk.start("sbn", "sbn/")
    plain, slash = await desk.claim_all()
    await desk.step([redirected(plain, "sbn/")])
    await desk.step([redirected(slash, "sbn")])
    assert await _duplicates(desk, crawl) == (1, 1)


async def test_a_redirect_to_a_failed_page_is_no_race(desk: Desk) -> None:
    """The page answered at last, by the other way: its content must not be lost."""
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.finish(b, end=Failed(code="http_503", message="busy", status=503))
    await desk.step([redirected(a, "b")])
    assert await desk.documents(crawl) == [page("b").url]


@pytest.mark.parametrize("in_one_batch", [True, False])
@pytest.mark.parametrize("order", list(permutations("ab")))
async def test_two_pages_redirecting_to_each_other_give_one(
    desk: Desk, order: tuple[str, ...], *, in_one_batch: bool
) -> None:
    crawl = await desk.start("a", "b")
    leases = dict(zip("ab", await desk.claim_all(), strict=True))
    ends = [redirected(leases[name], {"a": "b", "b": "a"}[name]) for name in order]
    for batch in [ends] if in_one_batch else [[end] for end in ends]:
        await desk.step(batch)
    assert await _duplicates(desk, crawl) == (1, 1)
    assert (await desk.look(crawl)).status is CrawlStatus.COMPLETED


@pytest.mark.parametrize("order", list(permutations("abc")))
async def test_a_ring_of_redirects_gives_one_page(desk: Desk, order: tuple[str, ...]) -> None:
    crawl = await desk.start("a", "b", "c")
    leases = dict(zip("abc", await desk.claim_all(), strict=True))
    for name in order:
        await desk.step([redirected(leases[name], {"a": "b", "b": "c", "c": "a"}[name])])
    assert await _duplicates(desk, crawl) == (1, 2)


async def test_links_of_a_lost_race_wait_for_the_winner(desk: Desk) -> None:
    """Whether or not the loser's links are taken, the winner's page brings them and none is doubled."""
    crawl = await desk.start("a", "b")
    a, b = await desk.claim_all()
    await desk.step([redirected(a, "b", "c")])
    await desk.finish(b, "c")
    await desk.drain()
    assert await desk.documents(crawl) == [page("b").url, page("c").url]


async def test_explain_knows_the_end_of_a_redirect(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.step([redirected(await desk.one(), "end")])
    url = page("end").url
    told = await desk.store.explain(crawl, [key_of(url)], url)
    assert told.state == "alias"
    assert page("a").url in (told.seen_as, *told.referrers, *told.message.split())
    source = await desk.store.explain(crawl, [page("a").key], page("a").url)
    assert (source.state, source.final_url) == ("completed", url)


async def test_the_end_of_a_redirect_leaves_the_ledger_consistent(desk: Desk) -> None:
    crawl = await desk.start("a", "b", limit=2)
    a, b = await desk.claim_all()
    await desk.finish(b, "end")
    await desk.step([redirected(a, "end")])
    seen = await desk.look(crawl)
    assert (seen.status, seen.counts.done, seen.counts.discovered) == (CrawlStatus.COMPLETED, 2, 2)


async def test_only_the_first_redirect_to_a_failed_page_takes_its_place(desk: Desk) -> None:
    crawl = await desk.start("x", "a", "b", "c")
    x, a, b, c = await desk.claim_all()
    await desk.finish(x, end=Failed(code="timeout", message="it took too long"))
    for lease in (a, b, c):
        await desk.step([redirected(lease, "x")])
    assert await desk.documents(crawl) == [page("x").url]
    assert await _duplicates(desk, crawl) == (1, 2)


async def test_a_redirect_to_a_duplicate_of_another_page_is_a_duplicate_of_that(desk: Desk) -> None:
    crawl = await desk.start("x", "y", "a")
    x, y, a = await desk.claim_all()
    await desk.step([redirected(x, "y")])
    await desk.finish(y)
    await desk.step([redirected(a, "x")])
    assert await desk.documents(crawl) == [page("y").url]
    assert await _duplicates(desk, crawl) == (1, 2)
