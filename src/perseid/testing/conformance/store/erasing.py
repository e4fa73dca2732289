"""Zero retention: of a crawl that was delivered nothing is left but its counters, in no file."""

from __future__ import annotations

import msgspec

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.terms import EventKind, Terms, Webhook
from perseid.ports.outbox import Attempt
from perseid.ports.work import Again, Done, Failed, Finished, Lease, StoredDocument
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, denied, document, ended, page

MARK = "zq7vk3marker"
HOUR = 3_600 * SECOND


async def _start(desk: Desk, *first: str, **fields: int) -> CrawlId:
    return await desk.start(*first, zero_retention=True, **fields)


async def _marked_crawl(desk: Desk) -> CrawlId:
    """A crawl with the mark in everything that can hold text, ended."""
    hook = Webhook(url=f"https://r.example/{MARK}", headers={"X": MARK})
    terms = Terms(zero_retention=True, webhook=hook, request={"url": MARK})
    first = [page(f"{MARK}-{n}", payload=f"{MARK}-{n}") for n in range(60)]
    crawl = await desk.start_with(
        first,
        url=f"https://site.example/{MARK}",
        options=msgspec.json.encode({"scope": {"include": [MARK]}}),
        terms=msgspec.json.encode(terms),
        zero_retention=True,
        events=int(EventKind.PAGE | EventKind.COMPLETED),
        keep_variants=True,
        max_discovery_depth=1,
    )
    for _ in range(30):
        desk.clock.advance(2 * SECOND)
        leases = await desk.claim(40, crawl=crawl)
        if not leases:
            break
        await desk.step([_marked_end(n, lease) for n, lease in enumerate(leases)])
    await desk.store.cancel(crawl)
    return crawl


def _marked_end(n: int, lease: Lease) -> Finished:
    deep = [page(f"{MARK}/deep/{lease.job}/{i}") for i in range(3)]
    refused = [denied(f"https://x.example/{MARK}/{lease.job}")]
    if lease.attempts == 0 and n % 5 == 0:
        return ended(lease, end=Again(delay_us=SECOND, attempted=True, hops=MARK.encode()))
    if n % 5 == 1:
        return ended(lease, end=Failed(code="timeout", message=f"{MARK} was too slow"))
    body = MARK.encode() * (n * 40 + 1)
    end = Done(document=StoredDocument(lease.url, 200, f"{MARK} title", body))
    return ended(lease, *deep, end=end, denied=refused, cut=True, note=MARK.encode())


async def test_nothing_is_to_be_erased_without_the_terms(desk: Desk) -> None:
    crawl = await desk.start("a")
    await desk.drain()
    await desk.store.mark_delivered(crawl, 1)
    desk.clock.advance(2 * HOUR)
    await desk.sweep_all()
    assert await desk.store.erasures() == []


async def test_a_crawl_is_due_when_all_was_read(desk: Desk) -> None:
    crawl = await _start(desk, "a", "b")
    await desk.drain()
    await desk.sweep_all()
    await desk.store.mark_delivered(crawl, 1)
    desk.clock.advance(HOUR // 2)
    assert await desk.store.erasures() == []
    await desk.store.mark_delivered(crawl, 2)
    desk.clock.advance(120 * SECOND)
    assert await desk.store.erasures() == [crawl]


async def test_what_was_read_before_the_end_was_not_delivered(desk: Desk) -> None:
    crawl = await _start(desk, "a", "b")
    await desk.finish(await desk.one())
    await desk.store.mark_delivered(crawl, 9)
    await desk.drain()
    await desk.sweep_all()
    desk.clock.advance(HOUR // 2)
    assert await desk.store.erasures() == []


async def test_a_crawl_is_due_an_hour_after_its_end(desk: Desk) -> None:
    crawl = await _start(desk, "a")
    await desk.drain()
    await desk.sweep_all()
    desk.clock.advance(HOUR - 1)
    assert await desk.store.erasures() == []
    desk.clock.advance(1)
    assert await desk.store.erasures() == [crawl]


async def test_a_crawl_is_due_when_every_page_was_told(desk: Desk) -> None:
    crawl = await _start(desk, "a", events=int(EventKind.PAGE | EventKind.COMPLETED))
    await desk.drain()
    await desk.sweep_all()
    assert await desk.store.erasures() == []
    await _tell(desk, status=200)
    assert await desk.store.erasures() == [crawl]


async def test_pages_that_could_not_be_told_keep_it_for_its_hour(desk: Desk) -> None:
    crawl = await _start(desk, "a", events=int(EventKind.PAGE | EventKind.COMPLETED))
    await desk.drain()
    await desk.sweep_all()
    await _tell(desk, status=500)
    assert await desk.store.erasures() == []
    desk.clock.advance(HOUR)
    assert await desk.store.erasures() == [crawl]


async def _tell(desk: Desk, *, status: int) -> None:
    while events := await desk.store.outbox.take_events(10, lease_us=SECOND):
        for event in events:
            entry = Attempt(1, event.uid, event.kind, "", 1, status, "", 1, final=True)
            await desk.store.outbox.settle(event, entry, again_in_us=None)


async def test_a_running_crawl_is_not_erased(desk: Desk) -> None:
    crawl = await _start(desk, "a", "b")
    await desk.finish(await desk.one())
    assert not await desk.store.erase(crawl)
    assert len(await desk.documents(crawl)) == 1


async def test_counters_outlive_what_they_count(desk: Desk) -> None:
    crawl = await _marked_crawl(desk)
    await desk.sweep_all()
    before = await desk.look(crawl)
    assert await desk.store.erase(crawl)
    after = await desk.look(crawl)
    assert after.counts == before.counts
    assert after.status is before.status
    assert after.erased
    assert MARK not in repr(after)
    assert await desk.documents(crawl) == []
    assert await desk.store.erasures() == []
    assert (await desk.backend.rows_of(crawl)).keys() <= {"crawl", "denied_count"}


async def test_the_audit_takes_no_offence_at_what_was_erased(desk: Desk) -> None:
    crawl = await _start(desk, "a")
    await desk.drain({page("a").url: ["b", "c"]})
    await desk.sweep_all()
    assert await desk.store.erase(crawl)
    assert await desk.store.audit() == []


async def test_an_erased_crawl_can_be_pruned(desk: Desk) -> None:
    crawl = await _start(desk, "a")
    await desk.drain()
    await desk.sweep_all()
    assert await desk.store.erase(crawl)
    assert await desk.store.prune(ended_before_us=2**62) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}


async def test_no_file_holds_a_trace(bench: Bench, desk: Desk) -> None:
    """Among other crawls, which are worked on before, meanwhile and after, by another process too."""
    twin = await bench.twin(desk)
    other = await desk.start_with([page(f"https://other.example/{n}") for n in range(400)])
    kept = await twin.claim(100)
    crawl = await _marked_crawl(desk)
    await twin.step([ended(lease, *(f"https://other.example/{lease.job}/{n}" for n in range(8))) for lease in kept])
    await desk.sweep_all()
    assert await desk.backend.holds(MARK.encode())
    assert await desk.store.erase(crawl)
    assert not await desk.backend.holds(MARK.encode())
    await twin.drain(want=100)
    await desk.store.checkpoint()
    assert not await desk.backend.holds(MARK.encode())
    assert (await desk.look(other)).status is CrawlStatus.COMPLETED


async def test_a_crawl_that_was_pruned_first_leaves_no_trace_either(desk: Desk) -> None:
    crawl = await _marked_crawl(desk)
    await desk.sweep_all()
    assert await desk.store.prune(ended_before_us=2**62) == [crawl]
    assert await desk.store.erasures() == [crawl]
    assert await desk.store.erase(crawl)
    assert await desk.store.erasures() == []
    assert not await desk.backend.holds(MARK.encode())


async def test_nothing_of_others_is_erased(desk: Desk) -> None:
    other = await desk.start("a", "b")
    lease, _waiting = await desk.claim(2)
    await desk.finish(lease, end=Done(document=document(lease.url)))
    crawl = await _marked_crawl(desk)
    await desk.sweep_all()
    before = await desk.backend.rows_of(other)
    assert await desk.store.erase(crawl)
    assert await desk.backend.rows_of(other) == before
    assert await desk.documents(other) == [lease.url]


async def test_a_crawl_is_erased_when_it_is_asked_for_again(desk: Desk) -> None:
    crawl = await _start(desk, "a")
    await desk.drain()
    await desk.sweep_all()
    assert await desk.store.erase(crawl)
    assert await desk.store.erase(crawl)
