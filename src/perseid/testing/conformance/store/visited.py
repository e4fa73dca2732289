"""The visited set and the ledger: each URL once, accepted beats denied, the first reason stays."""

from __future__ import annotations

import asyncio

from perseid.model.crawl import CrawlKind
from perseid.model.verdict import DenialReason
from perseid.ports.work import Again, Done, Failed
from perseid.testing.conformance.store.desk import (
    HOME,
    Bench,
    Desk,
    denied,
    document,
    ended,
    key_of,
    links,
    page,
)


async def test_a_key_is_admitted_once_within_one_page(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), "a", "a", HOME)
    assert (await desk.look(crawl)).counts.discovered == 2


async def test_a_key_is_admitted_once_across_pages(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    first, second = await desk.claim_all()
    await desk.step([ended(first, "c", "b"), ended(second, "c", "a")])
    assert (await desk.look(crawl)).counts.discovered == 3
    assert await desk.drain() == [page("c").url]


async def test_an_ended_page_is_not_admitted_again(desk: Desk) -> None:
    await desk.start()
    await desk.drain({HOME: ["a"]})
    crawl = await desk.start()
    seen = await desk.drain({HOME: ["a"], page("a").url: [HOME, "a"]})
    assert sorted(seen) == [HOME, page("a").url]
    assert (await desk.look(crawl)).counts.discovered == 2


async def test_the_url_fetched_is_the_one_found_not_the_key(desk: Desk) -> None:
    crawl = await desk.start()
    spelling = page(HOME + "A?b=1#c", key=key_of("x"))
    await desk.finish(await desk.one(), spelling, page(HOME + "a", key=key_of("x")))
    assert (await desk.one()).url == spelling.url
    assert (await desk.look(crawl)).counts.discovered == 2


async def test_two_processes_admit_a_key_once(desk: Desk, bench: Bench) -> None:
    crawl = await desk.start()
    twin = await bench.twin(desk)
    urls = links(*(f"p{n}" for n in range(40)))
    admitted = await asyncio.gather(*(side.store.add(crawl, urls[n * 5 :]) for n in range(5) for side in (desk, twin)))
    assert sum(admitted) == 40
    assert len(await desk.claim_all()) == 41


async def test_extreme_keys_are_keys_like_others(desk: Desk) -> None:
    crawl = await desk.start()
    keys = [-(2**63), -1, 0, 1, 2**63 - 1]
    urls = [page(f"k{key}", key=key) for key in keys]
    await desk.finish(await desk.one(), *urls, *urls)
    assert {lease.key for lease in await desk.claim_all()} == set(keys)
    assert (await desk.look(crawl)).counts.discovered == 6


async def test_neighbouring_keys_are_different_pages(desk: Desk) -> None:
    """Nothing that remembers keys may take one for another, whatever it saves by it."""
    crawl = await desk.start()
    for key in (10, 11, 9, 10 + 2**32, 10 - 2**32, -10):
        await desk.finish(await desk.one(), page(f"k{key}", key=key))
    assert (await desk.look(crawl)).counts.discovered == 7


async def test_crawls_do_not_share_their_visited_sets(desk: Desk) -> None:
    one, two = await desk.start(), await desk.start()
    await desk.drain({HOME: ["a"]})
    assert len(await desk.documents(one)) == len(await desk.documents(two)) == 2


async def test_a_batch_may_ask_for_a_url_twice(desk: Desk) -> None:
    crawl = await desk.start(HOME, HOME, kind=CrawlKind.BATCH)
    assert len(await desk.drain()) == 2
    assert (await desk.look(crawl)).counts.done == 2


async def test_a_batch_knows_no_raced_redirects(desk: Desk) -> None:
    """Each URL was asked for by name, so each gets its answer."""
    crawl = await desk.start("a", "b", "a", kind=CrawlKind.BATCH)
    final = page("end")
    for lease in await desk.claim_all():
        done = Done(document=document(final.url))
        await desk.finish(lease, end=done, final_key=final.key, final_url=final.url)
    assert await desk.documents(crawl) == [final.url] * 3
    assert (await desk.look(crawl)).counts.duplicate == 0


async def test_a_batch_retries_and_fails_each_job_by_itself(desk: Desk) -> None:
    crawl = await desk.start("a", "a", kind=CrawlKind.BATCH)
    first, second = await desk.claim_all()
    await desk.finish(first, end=Again(attempted=True))
    await desk.finish(second, end=Failed(code="timeout", message=""))
    again = await desk.one()
    assert (again.job, again.attempts) == (first.job, 1)
    await desk.finish(again)
    counts = (await desk.look(crawl)).counts
    assert (counts.done, counts.failed, counts.discovered) == (1, 1, 2)


async def test_a_refused_link_stands_in_the_ledger_with_its_referrer(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), denied=[denied("https://x.example/")])
    (row,) = await desk.store.denied(crawl)
    assert (row.url, row.reason, row.referrer) == ("https://x.example/", "EXTERNAL_LINK", HOME)
    assert row.message == denied("https://x.example/").denial.message
    counts = (await desk.look(crawl)).counts
    assert (counts.refused, counts.refused_beyond, counts.denied) == (1, 0, 0)


async def test_add_writes_the_ledger_too(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.store.add(crawl, links("a"), denied=[denied("https://x.example/")])
    assert await desk.store.denied_counts(crawl) == {"EXTERNAL_LINK": 1}


async def test_the_first_reason_is_kept(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    first, second = await desk.claim_all()
    await desk.finish(first, denied=[denied("https://x.example/", DenialReason.TRAP)])
    await desk.finish(second, denied=[denied("https://x.example/", DenialReason.ROBOTS_TXT)])
    (row,) = await desk.store.denied(crawl)
    assert (row.reason, row.referrer) == ("TRAP", first.url)
    assert await desk.store.denied_counts(crawl) == {"TRAP": 1}


async def test_accepted_after_denied_leaves_the_ledger(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    first, second = await desk.claim_all()
    await desk.finish(first, denied=[denied(page("c").url), denied(page("d").url)])
    await desk.finish(second, "c")
    assert [row.url for row in await desk.store.denied(crawl)] == [page("d").url]
    assert (await desk.look(crawl)).counts.refused == 1
    assert await desk.store.denied_counts(crawl) == {"EXTERNAL_LINK": 1}
    assert (await desk.one()).url == page("c").url


async def test_denied_after_accepted_does_not_enter_the_ledger(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    first, second = await desk.claim_all()
    await desk.finish(first, "c")
    await desk.finish(second, denied=[denied(page("c").url), denied(page("a").url)])
    assert await desk.store.denied(crawl) == []
    assert (await desk.look(crawl)).counts.refused == 0


async def test_accepted_beats_denied_on_one_page(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), "c", denied=[denied(page("c").url)])
    assert await desk.store.denied(crawl) == []
    assert (await desk.one()).url == page("c").url


async def test_beyond_the_cap_refusals_are_counted_only(desk: Desk) -> None:
    crawl = await desk.start(max_denied=2)
    refused = [denied(f"https://x.example/{n}") for n in range(5)]
    await desk.finish(await desk.one(), denied=refused)
    counts = (await desk.look(crawl)).counts
    assert (counts.refused, counts.refused_beyond) == (2, 3)
    assert len(await desk.store.denied(crawl)) == 2


async def test_the_cap_holds_over_many_pages(desk: Desk) -> None:
    crawl = await desk.start("a", "b", max_denied=3)
    for number, lease in enumerate(await desk.claim_all()):
        refused = [denied(f"https://x.example/{number}/{n}") for n in range(2)]
        await desk.finish(lease, denied=refused)
    counts = (await desk.look(crawl)).counts
    assert (counts.refused, counts.refused_beyond) == (3, 1)


async def test_refusals_by_the_limit_obey_the_cap(desk: Desk) -> None:
    crawl = await desk.start(max_denied=2, limit=1)
    await desk.finish(await desk.one(), "a", "b", "c", "d")
    counts = (await desk.look(crawl)).counts
    assert (counts.refused, counts.refused_beyond) == (2, 2)


async def test_a_ledger_is_paged_without_gaps(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), denied=[denied(f"https://x.example/{n}") for n in range(25)])
    urls: list[str] = []
    after = 0
    while rows := await desk.store.denied(crawl, after=after, limit=10):
        urls += [row.url for row in rows]
        after = rows[-1].id
    assert urls == [f"https://x.example/{n}" for n in range(25)]
