"""From a seed to items: lists lead to details, each page once, by the newest rule, whatever a page is like."""

from __future__ import annotations

import json
import logging

import pytest
from tests.integration.seeds.conftest import SHOP, Farm, product

from perseid.model.crawl import CrawlStatus
from perseid.testing import Answer, Request, Site


def lists(site: Site, pages: int, each: int) -> None:
    """`/list?page=N` with links to products, and to the next page."""
    for page in range(1, pages + 1):
        numbers = range((page - 1) * each, page * each)
        links = "".join(f'<h2><a href="/p/{number}">x</a></h2>' for number in numbers)
        further = f'<a rel=next href="/list?page={page + 1}">next</a>' if page < pages else ""
        site.page(f"/list?page={page}", f"<body>{links}{further}</body>")
        for number in numbers:
            site.page(f"/p/{number}", product(number))


async def test_lists_lead_to_details_and_to_the_next_page(farm: Farm, site: Site) -> None:
    lists(site, pages=3, each=5)
    await farm.publish({**SHOP, "next": "auto"})
    await farm.put(urls=[site.url("/list?page=1"), site.url("/list?page=1#top")])
    found = await farm.collect()
    assert found.titles == sorted(f"Product {number}" for number in range(15))
    assert {item.rule_version for item in found.items} == {1}
    assert {item.seed for item in found.items} == {"s1"}
    assert site.counts() == {
        "/robots.txt": 1,
        **{f"/list?page={page}": 1 for page in (1, 2, 3)},
        **{f"/p/{number}": 1 for number in range(15)},
    }
    (run,) = found.runs
    assert run.status is CrawlStatus.COMPLETED
    stats = await farm.stats()
    assert (stats.tasks, stats.done, stats.failed, stats.items) == (18, 18, 0, 15)
    assert stats.p50_ms is not None
    kept = await farm.store.items.page(1, site.url("/p/3"))
    assert kept is not None
    assert kept.status == 200


async def test_lists_without_end_end(farm: Farm, site: Site) -> None:
    for number in range(12):
        site.page(
            f"/list?from={number}",
            f'<a class=m href="/list?from={number + 1}">x</a><a class=m href="/q/{number}">y</a>',
        )
    await farm.publish({**SHOP, "follow": [{"css": "a.m", "to": "list"}], "list_depth": 4})
    await farm.put(urls=[site.url("/list?from=0")])
    await farm.collect()
    assert max(int(path.rpartition("=")[2]) for path in site.counts() if "from=" in path) == 4
    await farm.publish({**SHOP, "follow": [{"css": "a.m", "to": "list"}]})
    await farm.put(urls=[site.url("/list?from=0")], limit=7)
    found = await farm.collect()
    assert (await farm.stats()).tasks == 7
    view = await farm.sites.seeding.run_of(found.runs[0].id)
    assert any("7 tasks" in note for note in view.notes)


async def test_a_page_that_was_collected_is_not_fetched_again(farm: Farm, site: Site) -> None:
    lists(site, pages=1, each=4)
    await farm.publish(SHOP)
    await farm.put(urls=[site.url("/list?page=1")])
    await farm.collect()
    site.page("/list?page=1", '<h2><a href="/p/3">x</a></h2><h2><a href="/p/9">x</a></h2>')
    site.page("/p/9", product(9))
    await farm.sites.seeding.run("s1")
    found = await farm.collect()
    assert found.titles == ["Product 0", "Product 1", "Product 2", "Product 3", "Product 9"]
    assert site.counts()["/list?page=1"] == 2
    assert {path: n for path, n in site.counts().items() if path.startswith("/p/")} == {
        f"/p/{number}": 1 for number in (0, 1, 2, 3, 9)
    }
    # The interval of the rule has passed, or the seed insists.
    await farm.publish({**SHOP, "recollect_after": "1ms"})
    await farm.sites.seeding.run("s1")
    await farm.collect()
    assert site.counts()["/p/3"] == 2
    await farm.publish({**SHOP, "recollect_after": "1d"})
    await farm.put(urls=[site.url("/list?page=1")], force=True)
    await farm.collect()
    assert site.counts()["/p/3"] == 3


async def test_a_new_version_is_used_from_the_next_task_on(farm: Farm, site: Site) -> None:
    for number in range(6):
        site.page(f"/p/{number}", f"<h1>Product {number}</h1><h3>New {number}</h3>", delay_s=0.05)
    rule = {**SHOP, "start": "detail", "fetch": {"concurrency": 1}}
    await farm.publish(rule)
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(6)])
    async with await farm.working():
        await site.wait_for("/p/1")
        await farm.publish({**rule, "fields": {"title": {"css": "h3", "required": True}}})
        await farm.lab.until(lambda: run_over(farm))
    found = await farm.collected()
    by_version = {item.url.rpartition("/")[2]: item.rule_version for item in found.items}
    assert by_version["0"] == 1
    assert by_version["5"] == 2
    assert {json.loads(item.fields)["title"][:3] for item in found.items if item.rule_version == 2} == {"New"}
    assert sorted(by_version) == [str(number) for number in range(6)]


async def run_over(farm: Farm) -> bool:
    row = await farm.sites.seeding.row("s1")
    return row.run is not None and not row.running


async def test_what_lacks_a_core_field_waits_beside_the_items(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    site.page("/p/2", "<p class=price>2.00 €</p>")
    await farm.publish({**SHOP, "start": "detail"})
    await farm.put(urls=[site.url("/p/1"), site.url("/p/2")])
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    (exception,) = found.exceptions
    assert (exception.reason, exception.url, exception.rule_version) == ("missing:title", site.url("/p/2"), 1)
    (group,) = await farm.store.items.groups(1)
    assert (group.site, group.count) == ("shop", 1)


async def test_each_task_ends_for_a_reason_that_people_see(farm: Farm, site: Site) -> None:
    site.robots("User-agent: *\nDisallow: /private")
    site.respond("/gone", 410)
    site.respond("/broken", 500)
    site.redirect("/moved", "/p/1")
    site.page("/p/1", product(1))
    site.page("/ads/1", product(2))
    site.respond("/slow", hang=True)
    fetch = {**SHOP["fetch"], "timeout": 0.3, "block": ["/ads/"], "backoff": {"base": 0.01, "attempts": 2}}
    await farm.publish({**SHOP, "start": "detail", "fetch": fetch})
    paths = ("/missing", "/gone", "/broken", "/moved", "/slow", "/private/1", "/ads/1")
    await farm.put(urls=[site.url(path) for path in paths])
    found = await farm.collect()
    assert {url.removeprefix(site.origin): code for url, code in found.failures.items()} == {
        "/missing": "http_404",
        "/gone": "http_410",
        "/broken": "http_500",
        "/slow": "timeout",
    }
    (run,) = found.runs
    assert (run.counts.done, run.counts.failed, run.counts.denied) == (1, 4, 2)
    counts = site.counts()
    assert (counts["/missing"], counts["/gone"], counts["/broken"], counts["/slow"]) == (1, 1, 2, 2)
    assert not {"/private/1", "/ads/1"} & counts.keys()
    assert found.titles == ["Product 1"]


async def test_the_log_tells_the_story_of_a_task(farm: Farm, site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="perseid")
    site.page("/p/1", product(1))
    await farm.publish({**SHOP, "start": "detail"})
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    told = [(record.msg, record.event_fields) for record in caplog.records if hasattr(record, "event_fields")]
    story = [(name, said) for name, said in told if said.get("task") == found.items[0].task]
    assert [name for name, _said in story] == ["task.start", "fetch.ok", "extract.ok"]
    assert all(said["seed"] == "s1" and said["site"] == "shop" for _name, said in story)
    fetched, extracted = story[1][1], story[2][1]
    assert (fetched["url"], fetched["status"], fetched["bytes"]) == (site.url("/p/1"), 200, len(product(1).encode()))
    assert (extracted["fields"], extracted["items"], extracted["rule_version"]) == (2, 1, 1)
    assert [said["tasks"] for name, said in told if name == "seed.expanded"] == [1]


async def test_a_run_without_a_rule_says_so(farm: Farm, site: Site) -> None:
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert list(found.failures.values()) == ["no_rule"]


async def test_a_rule_may_stand_in_the_seed(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    await farm.put(urls=[site.url("/p/1")], rule={"selectors": {"title": "h1"}})
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    assert found.items[0].rule_version == 0


async def test_a_rule_that_wants_a_browser_ends_its_tasks(farm: Farm, site: Site) -> None:
    await farm.publish({**SHOP, "fetch": {"browser": "auto"}})
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert list(found.failures.values()) == ["feature_unavailable"]
    assert site.counts() == {}


async def test_a_task_may_be_a_post(farm: Farm, site: Site) -> None:
    def answer(request: Request) -> Answer:
        right = (request.method, request.body) == ("POST", b"q=seven")
        return Answer(body=product(7) if right else "<p>no</p>")

    site.handle("/search", answer)
    await farm.publish({**SHOP, "start": "detail"})
    said = {"urls": [site.url("/search")], "method": "POST", "body": "q=seven", "headers": {"X-Wish": "7"}}
    await farm.put(payload=said)
    found = await farm.collect()
    assert found.titles == ["Product 7"]
    (asked,) = [request for request in site.requests if request.path == "/search"]
    assert asked.headers["x-wish"] == "7"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"


async def test_what_no_database_likes_loses_no_page(farm: Farm, site: Site) -> None:
    odd = {"title": "a\u0000b \U0001f600", "raw": {"z": "\u0000", "n": 1e308}, "number": 10**30}
    site.respond("/p/1", headers={"Content-Type": "application/json", "X-Odd": "\x7fä"}, body=json.dumps(odd))
    site.respond("/p/2", body=b"<h1>\xed\xa0\x80 \x00</h1>", headers={"Content-Type": "text/html; charset=utf-8"})
    rule = {
        "site_id": "shop",
        "fields": {
            "title": {"from": [{"jsonpath": "$.title"}, {"css": "h1"}]},
            "raw": {"jsonpath": "$.raw", "type": "json"},
            "number": {"jsonpath": "$.number", "type": "number"},
        },
    }
    await farm.publish(rule)
    await farm.put(urls=[site.url("/p/1"), site.url("/p/2")])
    found = await farm.collect()
    assert found.failures == {}
    assert len(found.items) == 2
    (item,) = [item for item in found.items if item.url == site.url("/p/1")]
    assert json.loads(item.fields)["number"] == 1e30


async def test_large_pages_are_read_in_a_process_of_their_own(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1) + "<!-- filler -->" * 200_000)
    await farm.publish({**SHOP, "start": "detail"})
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert found.titles == ["Product 1"]
