"""Every URL has one answer to "why is it, or why is it not, among the pages?"."""

from __future__ import annotations

from perseid.model.ids import CrawlId
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.inspect import Explanation
from perseid.ports.work import Again, Done, Failed, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import HOME, Desk, denied, document, key_of, page


async def explain(desk: Desk, crawl: CrawlId, url: str) -> Explanation:
    return await desk.store.explain(crawl, [page(url).key], page(url).url)


async def test_explain_tells_an_accepted_page_and_its_way(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.drain({HOME: ["a"], page("a").url: ["b"]})
    url = page("b").url
    told = await desk.store.explain(crawl, [key_of("nothing"), key_of(url)], url)
    assert (told.state, told.depth, told.status, told.seen_as) == ("completed", 2, 200, url)
    assert told.referrers == (page("a").url, HOME)


async def test_explain_tells_a_refusal(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.drain({HOME: ["a"]})
    other = await desk.start("a")
    await desk.finish(await desk.one(), denied=[denied("https://x.example/", DenialReason.TRAP)])
    told = await desk.store.explain(other, [key_of("https://x.example/")], "https://x.example/")
    assert (told.state, told.reason, told.referrers) == ("refused", "TRAP", (page("a").url,))
    elsewhere = await desk.store.explain(crawl, [key_of("https://x.example/")], "https://x.example/")
    assert elsewhere.state == "unknown"


async def test_explain_finds_a_spelling_beyond_the_key(desk: Desk) -> None:
    crawl = await desk.start()
    await desk.finish(await desk.one(), page(HOME + "A", key=key_of("folded")))
    told = await desk.store.explain(crawl, [key_of("folded")], HOME + "a")
    assert (told.state, told.seen_as) == ("queued", HOME + "A")


async def test_explain_tells_a_failure_with_its_reason(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.finish(await desk.one(), end=Again(attempted=True))
    await desk.finish(await desk.one(), end=Failed(code="http_500", message="broken", status=500))
    told = await explain(desk, crawl, "a")
    assert (told.state, told.reason, told.message, told.status) == ("failed", "http_500", "broken", 500)
    assert told.attempts == 2


async def test_explain_tells_a_page_that_was_refused_after_its_fetch(desk: Desk) -> None:
    crawl = await desk.start("a")
    denial = Denial(DenialReason.ROBOTS_TXT, "/a")
    await desk.finish(await desk.one(), end=Refused(denial=denial))
    told = await explain(desk, crawl, "a")
    assert (told.state, told.reason, told.message) == ("denied", "ROBOTS_TXT", denial.message)


async def test_explain_tells_work_that_goes_on(desk: Desk) -> None:
    crawl = await desk.start("a", "b", "c", max_concurrency=2)
    a, _ = await desk.claim_all()
    await desk.finish(a, end=Again(delay_us=SECOND))
    assert (await explain(desk, crawl, "a")).state == "retrying"
    assert (await explain(desk, crawl, "b")).state == "active"
    assert (await explain(desk, crawl, "c")).state == "queued"


async def test_explain_tells_what_a_cancel_dropped(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.store.cancel(crawl)
    assert (await explain(desk, crawl, "a")).state == "cancelled"
    await desk.sweep_all()
    assert (await explain(desk, crawl, "a")).state == "cancelled"


async def test_explain_tells_a_duplicate_where_it_ended(desk: Desk) -> None:
    crawl = await desk.start("a", "b")
    a, _ = await desk.claim_all()
    final = page("b")
    await desk.finish(a, end=Done(document=document(final.url)), final_key=final.key, final_url=final.url)
    told = await explain(desk, crawl, "a")
    assert (told.state, told.final_url) == ("duplicate", final.url)


async def test_explain_tells_what_the_limit_refused(desk: Desk) -> None:
    crawl = await desk.start(limit=1)
    await desk.finish(await desk.one(), "a")
    told = await explain(desk, crawl, "a")
    assert (told.state, told.reason, told.referrers) == ("refused", "LIMIT_REACHED", (HOME,))


async def test_explain_admits_that_it_was_not_recorded(desk: Desk) -> None:
    crawl = await desk.start(max_denied=1)
    await desk.finish(await desk.one(), denied=[denied(page("a").url), denied(page("b").url)])
    told = await explain(desk, crawl, "b")
    assert told.state == "unknown"
    assert "not recorded" in told.message.lower()


async def test_explain_of_a_long_way_comes_to_the_start(desk: Desk) -> None:
    crawl = await desk.start("0")
    for n in range(1, 120):
        await desk.finish(await desk.one(), str(n))
    told = await explain(desk, crawl, "119")
    assert told.referrers[0] == page("118").url
    assert told.depth == 119
