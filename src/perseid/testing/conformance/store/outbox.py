"""Events: written with what made them true, each delivered until settled, the last one last."""

from __future__ import annotations

from perseid.model.crawl import CrawlKind
from perseid.model.terms import EventKind
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.outbox import Attempt, Event
from perseid.ports.work import Again, Failed, Refused
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, denied, document, ended, kickoff, page, sitemap

ALL = int(EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED | EventKind.FAILED | EventKind.CANCELLED)
LEASE = 60 * SECOND
EVER = 2**62


def attempt(event: Event, *, status: int | None = 200, final: bool = True) -> Attempt:
    return Attempt(1, event.uid, event.kind, "https://r.example/", event.attempts + 1, status, "", 5, final)


async def take(desk: Desk, limit: int = 100) -> list[Event]:
    return await desk.store.outbox.take_events(limit, lease_us=LEASE)


async def deliver(desk: Desk, *events: Event) -> None:
    for event in events:
        assert await desk.store.outbox.settle(event, attempt(event), again_in_us=None)


async def deliver_all(desk: Desk) -> list[Event]:
    """Take and deliver until nothing is due; the events in order."""
    told: list[Event] = []
    while events := await take(desk):
        await deliver(desk, *events)
        told += events
    return told


def kinds(events: list[Event]) -> list[EventKind]:
    return [event.kind for event in events]


async def test_nothing_is_written_that_nobody_wants_to_know(desk: Desk) -> None:
    await desk.start("a", "b")
    await desk.drain()
    assert await desk.store.outbox.next_event_us() is None
    assert await take(desk) == []


async def test_only_the_wanted_kinds_are_written(desk: Desk) -> None:
    await desk.start("a", events=int(EventKind.COMPLETED))
    await desk.drain()
    assert kinds(await deliver_all(desk)) == [EventKind.COMPLETED]


async def test_a_crawl_is_told_from_its_start_to_its_end(desk: Desk) -> None:
    crawl = await desk.start("a", "b", events=ALL)
    assert kinds(await deliver_all(desk)) == [EventKind.STARTED]
    await desk.drain()
    told = await deliver_all(desk)
    assert kinds(told) == [EventKind.PAGE, EventKind.PAGE, EventKind.COMPLETED]
    assert {event.crawl for event in told} == {crawl}
    assert len({event.uid for event in told}) == 3


async def test_every_page_that_ends_is_told_however_it_ends(desk: Desk) -> None:
    await desk.start(*"abc", events=int(EventKind.PAGE))
    done, failed, refused = await desk.claim(3)
    denial = Denial(DenialReason.ROBOTS_TXT, "rule", "value")
    await desk.step(
        [
            ended(done),
            ended(failed, end=Failed(code="timeout", message="m")),
            ended(refused, end=Refused(denial=denial)),
        ]
    )
    told = await deliver_all(desk)
    assert {event.job for event in told} == {done.job, failed.job, refused.job}


async def test_what_is_no_page_of_its_own_is_not_told(desk: Desk) -> None:
    """Sitemaps, a start page outside the limit, a duplicate, a page to be tried again."""
    await desk.start_with([kickoff(counted=False)], events=int(EventKind.PAGE))
    await desk.finish(await desk.one(), sitemap("s.xml"), "a", "b", "c")
    leases = {lease.url.rpartition("/")[2]: lease for lease in await desk.claim_all()}
    await desk.finish(leases["s.xml"])
    await desk.finish(leases["a"])
    await desk.finish(leases["b"], final_key=page("a").key, final_url=page("a").url)
    await desk.finish(leases["c"], end=Again(delay_us=SECOND))
    assert [event.job for event in await deliver_all(desk)] == [leases["a"].job]


async def test_a_page_without_its_lock_is_not_told(desk: Desk) -> None:
    await desk.start("a", events=int(EventKind.PAGE))
    lease = await desk.one()
    desk.clock.advance(3_600 * SECOND)
    await desk.store.reap([])
    assert not await desk.finish(lease)
    assert await take(desk) == []


async def test_pages_that_fail_without_being_fetched_are_told(desk: Desk) -> None:
    crawl = await desk.start(*"abc", events=ALL, deadline_us=SECOND)
    desk.clock.advance(2 * SECOND)
    await desk.sweep_all()
    told = kinds(await deliver_all(desk))
    assert told == [EventKind.STARTED, *3 * [EventKind.PAGE], EventKind.COMPLETED]
    assert (await desk.look(crawl)).counts.failed == 3


async def test_cancelling_is_told_once_and_not_for_each_page(desk: Desk) -> None:
    crawl = await desk.start(*"abc", events=ALL)
    lease = await desk.one()
    await desk.store.cancel(crawl)
    assert not await desk.finish(lease)
    await desk.sweep_all()
    assert kinds(await deliver_all(desk)) == [EventKind.STARTED, EventKind.CANCELLED]


async def test_a_crawl_that_could_not_begin_is_told(desk: Desk) -> None:
    crawl = await desk.start(events=ALL)
    await desk.store.fail(crawl, "no")
    assert kinds(await deliver_all(desk)) == [EventKind.STARTED, EventKind.FAILED]


async def test_the_last_event_waits_for_all_others(desk: Desk) -> None:
    await desk.start("a", "b", events=ALL)
    await desk.drain()
    first = await take(desk)
    assert kinds(first) == [EventKind.STARTED, EventKind.PAGE, EventKind.PAGE]
    again = first[1]
    assert await desk.store.outbox.settle(again, attempt(again, status=500, final=False), again_in_us=9 * SECOND)
    await deliver(desk, first[0], first[2])
    assert await take(desk) == []
    desk.clock.advance(9 * SECOND)
    (retried,) = await take(desk)
    assert (retried.uid, retried.attempts) == (again.uid, 1)
    await deliver(desk, retried)
    assert kinds(await take(desk)) == [EventKind.COMPLETED]


async def test_giving_up_on_the_others_frees_the_last_event(desk: Desk) -> None:
    await desk.start("a", events=int(EventKind.PAGE | EventKind.COMPLETED))
    await desk.drain()
    (event,) = await take(desk)
    assert await desk.store.outbox.settle(event, attempt(event, status=None), again_in_us=None)
    assert kinds(await take(desk)) == [EventKind.COMPLETED]


async def test_an_event_whose_taker_died_is_due_again_under_its_name(desk: Desk) -> None:
    await desk.start(events=int(EventKind.STARTED))
    (event,) = await take(desk)
    desk.clock.advance(LEASE - 1)
    assert await take(desk) == []
    desk.clock.advance(1)
    (again,) = await take(desk)
    assert (again.uid, again.id) == (event.uid, event.id)
    assert not await desk.store.outbox.settle(event, attempt(event), again_in_us=None)
    await deliver(desk, again)
    assert await desk.store.outbox.next_event_us() is None


async def test_two_takers_never_hold_one_event(bench: Bench, desk: Desk) -> None:
    twin = await bench.twin(desk)
    for _ in range(20):
        await desk.start("a", events=ALL)
    await desk.drain()
    told: list[Event] = []
    while held := [*await take(desk, 3), *await take(twin, 3)]:
        assert len({event.id for event in held}) == len(held)
        told += held
        await deliver(twin, *held)
    assert len({event.id for event in told}) == len(told) == 20 * 3


async def test_what_is_held_of_a_crawl_is_bounded_over_all_takers(bench: Bench, desk: Desk) -> None:
    twin = await bench.twin(desk)
    await desk.start_with([page(f"p{n}") for n in range(200)], events=int(EventKind.PAGE))
    await desk.drain(want=100)
    first = await take(desk, 1_000)
    assert 0 < len(first) < 100
    assert await take(twin, 1_000) == []
    await deliver(desk, *first[1:])
    assert await take(twin, 1_000) == []
    await deliver(desk, first[0])
    assert len(await take(twin, 1_000)) > 0


async def test_a_receiver_that_is_away_delays_nobody_else(desk: Desk) -> None:
    dead = await desk.start("a", events=ALL)
    alive = await desk.start("b", events=ALL)
    await desk.drain()
    held = await take(desk)
    await desk.store.outbox.put_back([event for event in held if event.crawl == dead], in_us=100 * SECOND)
    await deliver(desk, *(event for event in held if event.crawl == alive))
    assert {event.crawl for event in await deliver_all(desk)} == {alive}
    later = await desk.start("c", events=ALL)
    desk.clock.advance(99 * SECOND)
    assert {event.crawl for event in await deliver_all(desk)} == {later}
    desk.clock.advance(SECOND)
    assert {event.crawl for event in await deliver_all(desk)} == {dead}


async def test_new_events_do_not_wake_a_receiver_that_is_away(desk: Desk) -> None:
    crawl = await desk.start("a", events=ALL)
    await desk.store.outbox.put_back(await take(desk), in_us=100 * SECOND)
    await desk.drain()
    assert await take(desk) == []
    assert await desk.store.outbox.next_event_us() == 100 * SECOND
    desk.clock.advance(100 * SECOND)
    assert kinds(await deliver_all(desk)) == [EventKind.STARTED, EventKind.PAGE, EventKind.COMPLETED]
    assert (await desk.look(crawl)).counts.done == 1


async def test_what_was_put_back_was_not_tried(desk: Desk) -> None:
    crawl = await desk.start(events=ALL)
    (event,) = await take(desk)
    await desk.store.outbox.put_back([event], in_us=0)
    (again,) = await take(desk)
    assert (again.uid, again.attempts) == (event.uid, 0)
    assert await desk.store.outbox.attempts(crawl) == []


async def test_it_is_told_when_to_ask_again(desk: Desk) -> None:
    await desk.start(events=ALL)
    assert await desk.store.outbox.next_event_us() == 0
    (event,) = await take(desk)
    assert await desk.store.outbox.next_event_us() == LEASE
    await desk.store.outbox.settle(event, attempt(event, status=500, final=False), again_in_us=7 * SECOND)
    assert await desk.store.outbox.next_event_us() == 7 * SECOND


async def test_the_page_of_an_event_is_as_it_ended(desk: Desk) -> None:
    first = [page("a", payload="SITE.example/a"), page("b"), page("c")]
    await desk.start_with(first, events=int(EventKind.PAGE))
    done, failed, gone = await desk.claim(3)
    await desk.step(
        [
            ended(done),
            ended(failed, end=Failed(code="timeout", message="too slow")),
            ended(
                gone, end=Failed(code="http_404", message="gone", status=404, document=document(gone.url, status=404))
            ),
        ]
    )
    pages = [await desk.store.outbox.event_page(lease.job) for lease in (done, failed, gone)]
    assert [(found.url, found.code, found.message, found.body) for found in pages if found] == [
        ("SITE.example/a", "", "", done.url.encode()),
        (failed.url, "timeout", "too slow", None),
        (gone.url, "http_404", "gone", gone.url.encode()),
    ]


async def test_deliveries_are_logged_in_order_and_expire(desk: Desk) -> None:
    crawl = await desk.start(events=ALL)
    (event,) = await take(desk)
    await desk.store.outbox.settle(event, attempt(event, status=500, final=False), again_in_us=0)
    (event,) = await take(desk)
    await deliver(desk, event)
    log = await desk.store.outbox.attempts(crawl)
    assert [(entry.attempt, entry.status, entry.final) for _number, entry in log] == [(1, 500, False), (2, 200, True)]
    assert [number for number, _entry in await desk.store.outbox.attempts(crawl, after=log[0][0])] == [log[1][0]]
    assert await desk.store.outbox.expire_attempts(EVER) == 2
    assert await desk.store.outbox.attempts(crawl) == []


async def test_a_pruned_crawl_takes_its_events_and_its_log_along(desk: Desk) -> None:
    crawl = await desk.start(*"abc", events=ALL)
    await desk.drain()
    held = await take(desk)
    await deliver(desk, held[0])
    assert await desk.store.prune(ended_before_us=EVER) == [crawl]
    assert await desk.backend.rows_of(crawl) == {}
    assert not await desk.store.outbox.settle(held[1], attempt(held[1]), again_in_us=None)
    assert await desk.backend.rows_of(crawl) == {}
    job = held[1].job
    assert job is not None
    assert await desk.store.outbox.event_page(job) is None


async def test_an_end_nobody_was_told_of_is_not_told_when_the_crawl_goes_on(desk: Desk) -> None:
    """Though it is due, since all before it was delivered."""
    crawl = await desk.start("a", kind=CrawlKind.BATCH, events=ALL)
    await desk.drain()
    await deliver(desk, *await take(desk))
    assert await desk.store.append(crawl, [page("b")]) == 1
    assert await take(desk) == []
    await desk.drain()
    assert kinds(await deliver_all(desk)) == [EventKind.PAGE, EventKind.COMPLETED]


async def test_refused_links_are_not_told(desk: Desk) -> None:
    await desk.start("a", events=int(EventKind.PAGE))
    await desk.finish(await desk.one(), denied=[denied("https://x.example/")])
    assert len(await deliver_all(desk)) == 1
