"""Seeds become tasks a step at a time: from any source, held back while many wait, sieved, and after a crash."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest
from tests.integration.seeds.conftest import SHOP, Farm, OpenFarm, product

from perseid.model.job import JobKind
from perseid.runtime.collecting import Collecting
from perseid.seeds import expand
from perseid.seeds.expand import ExpandNote
from perseid.testing import Answer, Request, Site

DETAIL = {**SHOP, "start": "detail", "fetch": {"concurrency": 16, "backoff": {"base": 0.01}}}


def products(site: Site) -> None:
    """Every `/p/N` is a product."""

    def page(request: Request) -> Answer | None:
        number = request.bare_path.removeprefix("/p/")
        return Answer(body=product(int(number))) if number.isdigit() else None

    site.otherwise(page)


async def test_a_template_of_many_steps_makes_each_task_once(farm: Farm, site: Site) -> None:
    products(site)
    await farm.publish(DETAIL)
    await farm.put(task_type="template", payload={"url": site.url("/p/{page:1..1200}")})
    found = await farm.collect(concurrency=32)
    assert len(found.items) == 1200
    (run,) = found.runs
    assert (run.counts.discovered, run.counts.done) == (1200, 1200)
    assert max(site.counts().values()) == 1
    # Of another run, the filter and the exact set leave nothing to do.
    await farm.put(task_type="template", payload={"url": site.url("/p/{page:1..1201}")})
    found = await farm.collect(concurrency=32)
    assert found.runs[0].counts.discovered == 1
    assert len(found.items) == 1201


async def test_while_many_tasks_wait_no_further_ones_are_made(
    farm: Farm, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    products(site)
    monkeypatch.setattr(expand, "HELD_US", 20_000)
    make = Collecting._make
    seen: list[int] = []

    async def made(self: Collecting) -> Any:
        runners = await make(self)
        runners[JobKind.EXPAND].most_open = 50
        begin = runners[JobKind.EXPAND].begin

        async def counted(lease: Any) -> Any:
            seen.append(await farm.store.open_of(lease.crawl, [JobKind.TASK]))
            return await begin(lease)

        runners[JobKind.EXPAND].begin = counted
        return runners

    monkeypatch.setattr(Collecting, "_make", made)
    await farm.publish(DETAIL)
    await farm.put(task_type="template", payload={"url": site.url("/p/{page:1..1100}")})
    found = await farm.collect(concurrency=32)
    assert len(found.items) == 1100
    assert len(seen) > 5
    assert max(seen) <= 50 + 500


async def test_sitemaps_feeds_and_apis_are_asked_as_politely_as_pages(farm: Farm, site: Site) -> None:
    products(site)
    other = site.host("other")
    other.otherwise(lambda r: Answer(body=product(50 + int(r.path[-1]))) if r.path.startswith("/p/") else None)
    site.sitemap("/sitemap.xml", ["/part.xml"], index=True)
    site.sitemap("/part.xml", ["/p/1", "/p/2", other.url("/p/1")])
    site.redirect("/feed", other.url("/feed"))
    entries = "".join(f"<item><link>{site.url(f'/p/{number}')}</link></item>" for number in (3, 4))
    other.respond(
        "/feed", headers={"Content-Type": "application/rss+xml"}, body=f"<rss><channel>{entries}</channel></rss>"
    )

    def api(request: Request) -> Answer:
        assert request.headers["x-key"] == "open"
        page = int(request.path.rpartition("=")[2])
        ids = [5, 6] if page == 1 else [7] if page == 2 else []
        return Answer(headers={"Content-Type": "application/json"}, body=json.dumps({"ids": ids}))

    site.handle("/api", api)
    site.robots("User-agent: *\nDisallow: /sitemap.xml\nDisallow: /part.xml\n")
    await farm.publish(DETAIL)
    await farm.put("map", task_type="sitemap", payload={"url": site.url("/sitemap.xml")})
    await farm.put("news", task_type="feed", payload={"url": site.url("/feed")})
    said = {
        "url": site.url("/api"),
        "items": "$.ids[*]",
        "template": site.url("/p/{value}"),
        "parameter": "page",
        "headers": {"X-Key": "open"},
    }
    await farm.put("api", task_type="api", payload=said)
    found = await farm.collect()
    assert found.failures == {}
    assert found.titles == sorted([f"Product {number}" for number in range(1, 8)] + ["Product 51"])
    # What the seed sends is for the host that it names.
    strangers = [request for request in site.requests if request.host == "other"]
    assert not any("x-key" in request.headers for request in strangers)


async def test_a_source_that_is_not_to_be_had_ends_the_run_with_its_reason(farm: Farm, site: Site) -> None:
    site.respond("/feed", 503, {"Retry-After": "0"})
    site.respond("/other", 404)
    await farm.publish({**DETAIL, "fetch": {"backoff": {"base": 0.01, "max": 0.01, "attempts": 1}}})
    await farm.put("gone", task_type="feed", payload={"url": site.url("/other")})
    found = await farm.collect()
    assert list(found.failures.values()) == ["source_failed"]
    assert found.items == []


async def test_entries_that_are_no_addresses_are_counted(farm: Farm, site: Site) -> None:
    products(site)
    listed = [{"url": site.url("/p/1")}, {"url": "javascript:void(0)"}, {}]
    site.respond("/api", headers={"Content-Type": "application/json"}, body=json.dumps(listed))
    await farm.publish(DETAIL)
    await farm.put(task_type="api", payload={"url": site.url("/api"), "items": "$[*].url"})
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    note = msgspec.json.decode(found.runs[0].note, type=ExpandNote)
    assert note.skipped == 1
    assert note.notes


async def test_a_step_that_a_dead_worker_took_is_taken_again(open_farm: OpenFarm, site: Site) -> None:
    farm: Farm = await open_farm()
    products(site)
    await farm.publish(DETAIL)
    await farm.put(task_type="template", payload={"url": site.url("/p/{page:1..700}")})
    async with await farm.working():
        await site.wait_for(n=100)
    # A process that holds leases, of the expansion too, and is no more.
    gone = await farm.store.register("a machine that is no more", 1, 1)
    taken = await farm.store.step(gone, [], 20)
    assert taken.leases
    await farm.store.reap([gone])
    found = await farm.collect(concurrency=32)
    assert len(found.items) == 700
    (run,) = found.runs
    assert run.counts.done == run.counts.discovered == 700


async def test_seeds_run_by_their_schedule_and_never_beside_themselves(farm: Farm, site: Site) -> None:
    open_now = itertools.count()
    products(site)
    await farm.publish({**DETAIL, "recollect_after": "1ms"})
    await farm.put(urls=[site.url("/p/1")], schedule={"every": 1, "catch_up": "all"})
    assert next(open_now) == 0
    async with await farm.working():
        await site.wait_for("/p/1", n=3, timeout_s=20)
        await farm.sites.seeding.pause("s1")
    runs = await farm.sites.seeding.runs(await farm.sites.seeding.row("s1"))
    crawls = sorted((view.crawl for view in runs), key=lambda crawl: crawl.id)
    assert len(crawls) >= 3
    for earlier, later in itertools.pairwise(crawls):
        assert earlier.ended_at is not None
        assert earlier.ended_at <= later.created_at


async def test_a_paused_seed_starts_nothing_and_a_stopped_one_ends_its_run(farm: Farm, site: Site) -> None:
    site.otherwise(Answer(body=product(1), delay_s=0.05))
    await farm.publish({**DETAIL, "fetch": {"concurrency": 1}})
    await farm.put(task_type="template", payload={"url": site.url("/p/{page:1..100}")})
    async with await farm.working():
        await site.wait_for("/p/2")
        await farm.sites.seeding.pause("s1")
        row = await farm.sites.seeding.row("s1")
        assert row.running
        await farm.put("s2", urls=[site.url("/p/200")])
        await site.wait_for("/p/200")
    asked = len(site.requests)
    found = await farm.collect()
    assert len(site.requests) == asked
    assert len(found.runs) == 2
    await farm.sites.seeding.stop("s1")
    row = await farm.sites.seeding.row("s1")
    assert not row.running


async def test_two_schedulers_begin_one_run(open_farm: OpenFarm, site: Site) -> None:
    one: Farm = await open_farm()
    other: Farm = await open_farm()
    products(site)
    await one.publish(DETAIL)
    for number in range(20):
        await one.put(f"s{number}", urls=[site.url(f"/p/{number}")])
    async with await one.working(), await other.working():
        await one.lab.until(lambda: all_ran(one, 20))
    found = await one.collected()
    assert len(found.runs) == 20
    assert len(found.items) == 20


async def all_ran(farm: Farm, count: int) -> bool:
    rows = await farm.sites.seeding.rows()
    return sum(row.runs == 1 and not row.running for row in rows) == count
