"""From what happened in a crawl to its receiver: at least once, in order, and nobody held up by anybody."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from perseid.model.terms import EventKind
from perseid.ports.work import Done, Finished, Lease
from perseid.testing import Answer, Site
from perseid.worker.stop import Stop

from .conftest import Post, done, failed, told

ALL = int(EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED | EventKind.FAILED | EventKind.CANCELLED)


def types(site: Site, path: str = "/hook") -> list[str]:
    return [body["type"].partition(".")[2] for body in told(site, path)]


async def test_a_crawl_is_told_from_start_to_end(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"), 3, metadata={"order": "7"})
    await office.tell()
    await office.fetch(crawl)
    await office.tell()
    assert types(site) == ["started", "page", "page", "page", "completed"]
    bodies = told(site)
    assert {body["id"] for body in bodies} == {"crawl-1"}
    assert {body["metadata"]["order"] for body in bodies} == {"7"}
    assert len({body["webhookId"] for body in bodies}) == 5
    assert await office.log(crawl) == [(204, True)] * 5
    assert await office.store.outbox.next_event_us() is None


async def test_a_page_is_told_as_the_callers_of_the_api_know_it(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"), events=int(EventKind.PAGE))
    await office.fetch(crawl)
    await office.tell()
    (body,) = told(site)
    url = "https://site.example/1/0"
    assert body["data"] == [{"of": "crawl-1/1", "markdown": f"# {url}", "metadata": {"sourceURL": url}}]
    assert body["success"] is True
    assert "error" not in body


async def test_a_page_that_failed_is_told_with_its_url_and_the_reason(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"), events=int(EventKind.PAGE))
    await office.fetch(crawl, failed())
    await office.tell()
    (body,) = told(site)
    assert body["data"] == [{"metadata": {"sourceURL": "https://site.example/1/0"}}]
    assert (body["success"], body["error"]) == (False, "too slow")


async def test_a_body_outside_the_database_is_told_too(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"), events=int(EventKind.PAGE))
    (lease,) = await office.leases(crawl)
    document = done(lease).document
    assert document is not None
    await office.blobs.put("1/2/document", document.body)
    end = done(lease).__class__(document=document._replace(body=b"", blob="1/2/document"))
    await office.store.step(office.worker, [end_of(lease, end)], 0)
    await office.tell()
    assert told(site)[0]["data"][0]["markdown"] == f"# {lease.url}"


def end_of(lease: Lease, end: Done) -> Finished:
    return Finished(lease=lease, end=end)


async def test_what_failed_is_told_again_under_the_same_id(office: Post, site: Site) -> None:
    site.sequence("/hook", [Answer(status=500), Answer(status=404), Answer(status=204)])
    crawl = await office.start(site.url("/hook"))
    for _ in range(3):
        await office.tell()
        await office.clock.advance(10)
    assert len({body["webhookId"] for body in told(site)}) == 1
    assert await office.log(crawl) == [(500, False), (404, False), (204, True)]


async def test_the_end_is_told_last_however_often_the_others_fail(office: Post, site: Site) -> None:
    answers: dict[str, int] = {}

    def stubborn(request: Any) -> Answer:
        """Each page is refused twice."""
        body = json.loads(request.body)
        answers[body["webhookId"]] = answers.get(body["webhookId"], 0) + 1
        refused = body["type"].endswith("page") and answers[body["webhookId"]] <= 2
        return Answer(status=400 if refused else 200)

    site.handle("/hook", stubborn)
    crawl = await office.start(site.url("/hook"), 20)
    await office.fetch(crawl)
    for _ in range(8):
        await office.tell()
        await office.clock.advance(5)
    assert types(site)[-1] == "completed"
    assert types(site).count("completed") == 1
    assert types(site).count("page") == 60


async def test_pauses_between_tries_grow(office: Post, site: Site) -> None:
    site.respond("/hook", 400)
    await office.start(site.url("/hook"), events=int(EventKind.STARTED))
    waits = []
    for _ in range(6):
        await office.tell()
        wait = await office.store.outbox.next_event_us()
        assert wait is not None
        waits.append(wait / 1_000_000)
        await office.clock.advance(waits[-1])
    assert all(0.7 * 2**n <= wait <= max(1.0, 2.0**n) for n, wait in enumerate(waits))


async def test_the_patience_that_is_asked_for_is_given(office: Post, site: Site) -> None:
    site.sequence("/hook", [Answer(status=503, headers={"Retry-After": "120"}), Answer(status=200)])
    first = await office.start(site.url("/hook"))
    await office.tell()
    second = await office.start(site.url("/hook"))
    await office.clock.advance(100)
    await office.tell()
    assert len(site.requests) == 1
    await office.clock.advance(30)
    await office.tell()
    assert (await office.log(first))[-1] == (await office.log(second))[-1] == (200, True)


async def test_it_is_given_up_after_its_time(office: Post, site: Site) -> None:
    site.respond("/hook", 400)
    crawl = await office.start(site.url("/hook"), events=int(EventKind.STARTED))
    for _ in range(40):
        await office.tell()
        await office.clock.advance(3_600)
    log = await office.log(crawl)
    assert log[-1] == (400, True)
    assert [final for _status, final in log].count(True) == 1
    assert await office.store.outbox.next_event_us() is None


async def test_a_dead_receiver_delays_no_other(office: Post, site: Site) -> None:
    site.respond("/dead", 503)
    dead = [await office.start(site.url("/dead"), 300) for _ in range(3)]
    async with Site() as other:
        other.respond("/hook", 200)
        alive = await office.start(other.url("/hook"), 300)
        for crawl in (*dead, alive):
            await office.fetch(crawl)
        await office.tell()
        assert types(other)[-1] == "completed"
        assert len(other.requests) == 302
    assert len(site.requests) < 20, "a receiver in trouble is left alone"


async def test_a_silent_receiver_holds_up_no_other(office: Post, site: Site) -> None:
    """While it is waited for, the others are told."""
    site.respond("/hook", hang=True)
    silent = await office.start(site.url("/hook"), 300)
    await office.fetch(silent)
    duty = office.webhooks(timeout_s=60.0)
    await duty.round()
    await site.wait_for("/hook", 4)
    async with Site() as other:
        other.respond("/hook", 200)
        alive = await office.start(other.url("/hook"), 40)
        await office.fetch(alive)
        stop = Stop()
        running = asyncio.create_task(duty.run(stop))
        await other.wait_for("/hook", 42)
        stop.now()
        await running
        assert types(other)[-1] == "completed"
    assert len(site.requests) == 4, "no more than four at once"


async def test_a_receiver_that_comes_back_gets_everything(office: Post, site: Site) -> None:
    site.respond("/hook", 503)
    crawl = await office.start(site.url("/hook"), 50)
    await office.fetch(crawl)
    for _ in range(10):
        await office.tell()
        await office.clock.advance(60)
    tried = len(site.requests)
    assert tried < 60
    site.respond("/hook", 200)
    for _ in range(20):
        await office.clock.advance(900)
        await office.tell()
    assert sorted(types(site)[tried:]) == sorted(["started", *["page"] * 50, "completed"])
    assert types(site)[-1] == "completed"


async def test_what_waits_behind_a_dead_receiver_is_given_up_untried_in_the_end(office: Post, site: Site) -> None:
    site.respond("/hook", 503)
    crawl = await office.start(site.url("/hook"), 40)
    await office.fetch(crawl)
    for _ in range(60):
        await office.tell()
        await office.clock.advance(1_800)
    assert await office.store.outbox.next_event_us() is None
    assert [final for _status, final in await office.log(crawl)].count(True) == 42
    assert len(site.requests) < 120


async def test_at_most_four_at_once(office: Post, site: Site) -> None:
    site.respond("/hook", delay_s=0.02)
    for _ in range(5):
        await office.fetch(await office.start(site.url("/hook"), 8))
    for _ in range(10):
        await office.tell()
        await office.clock.advance(1)
    assert len(site.requests) == 5 * 10
    assert site.peak() <= 4


async def test_a_refused_address_is_not_tried_again(office: Post) -> None:
    crawl = await office.start("http://127.0.0.2:9/hook", events=int(EventKind.STARTED))
    await office.tell()
    assert await office.log(crawl) == [(None, True)]
    assert await office.store.outbox.next_event_us() is None


async def test_the_operator_is_told_of_crawls_that_name_nobody(office: Post, site: Site) -> None:
    site.respond("/crawl-1", 200)
    duty = office.webhooks(operators=site.url("/{{JOB_ID}}"), secret="s")
    crawl = await office.start(None)
    await office.fetch(crawl)
    await office.tell(duty)
    assert types(site, "/crawl-1") == ["started", "page", "completed"]
    assert all("x-firecrawl-signature" in request.headers for request in site.requests)


async def test_muted_deliveries_are_dropped(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"))
    await office.fetch(crawl)
    await office.tell(office.webhooks(disabled=True))
    assert site.requests == []
    assert await office.store.outbox.next_event_us() is None


async def test_a_page_that_cannot_be_read_is_tried_again_and_harms_nobody(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"), 2, events=int(EventKind.PAGE))
    first, second = await office.leases(crawl)
    broken = done(first).document
    assert broken is not None
    end = done(first).__class__(document=broken._replace(body=b"no zstd"))
    await office.store.step(office.worker, [end_of(first, end), end_of(second, done(second))], 0)
    await office.tell()
    assert types(site) == ["page"]
    assert set(await office.log(crawl)) == {(None, False), (204, True)}


async def test_a_crawl_that_is_gone_is_told_to_nobody(office: Post, site: Site) -> None:
    crawl = await office.start(site.url("/hook"))
    await office.fetch(crawl)
    await office.store.prune(ended_before_us=2**62)
    await office.tell()
    assert site.requests == []


@pytest.mark.parametrize("status", [200, 500])
async def test_a_stop_waits_for_what_is_under_way(office: Post, site: Site, status: int) -> None:
    site.respond("/hook", status, delay_s=0.1)
    crawl = await office.start(site.url("/hook"), events=int(EventKind.STARTED))
    stop = Stop()
    running = asyncio.create_task(office.duty.run(stop))
    await site.wait_for("/hook")
    stop.ask()
    await running
    assert [code for code, _final in await office.log(crawl)] == [status]
