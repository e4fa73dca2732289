"""What holds for a site beside its rule: proxies with health, rates, ceilings, block lists, pauses."""

from __future__ import annotations

import itertools
import logging

import msgspec
import pytest
from tests.integration.seeds.conftest import SHOP, Farm, OpenFarm, product, told

from perseid.model.seed import Schedule
from perseid.ports.configs import ConfigKind
from perseid.testing import Answer, Site

DETAIL = {**SHOP, "start": "detail"}


async def test_a_dead_proxy_rests_and_the_next_one_is_taken(open_farm: OpenFarm, site: Site) -> None:
    farm: Farm = await open_farm(fetch={"allow_private": "127.0.0.1"})
    for number in range(8):
        site.page(f"/p/{number}", product(number))
    async with Site() as proxy:
        for number in range(8):
            proxy.page(f"/p/{number}", product(100 + number))
        gone = Site()
        await gone.start()
        await gone.stop()
        pool = {"proxies": [gone.origin, proxy.origin], "failures": 2, "rest": "1h"}
        await farm.config(ConfigKind.PROXY_POOL, "eu", pool)
        fetch = {"proxies": "eu", "robots": False, "concurrency": 1, "backoff": {"base": 0.01}}
        await farm.publish({**DETAIL, "fetch": fetch})
        await farm.put(urls=[site.url(f"/p/{number}") for number in range(8)])
        found = await farm.collect()
        # The proxy answers by itself: nothing came from the site.
        assert found.titles == sorted(f"Product {100 + number}" for number in range(8))
        assert site.counts() == {}
        assert proxy.counts() == {f"/p/{number}": 1 for number in range(8)}


async def test_a_session_stays_behind_one_proxy(open_farm: OpenFarm, site: Site) -> None:
    farm: Farm = await open_farm(fetch={"allow_private": "127.0.0.1"})
    async with Site() as one, Site() as other:
        for proxy in (one, other):
            proxy.page("/", "<p>welcome</p>")
            for number in range(6):
                proxy.page(f"/p/{number}", product(number))
        await farm.config(ConfigKind.PROXY_POOL, "eu", {"proxies": [one.origin, other.origin]})
        await farm.publish({**DETAIL, "fetch": {"proxies": "eu", "robots": False, "warm_up": site.url("/")}})
        await farm.put(urls=[site.url(f"/p/{number}") for number in range(6)])
        found = await farm.collect()
        assert len(found.items) == 6
        assert one.counts() == {"/": 1, **{f"/p/{number}": 1 for number in range(6)}}
        assert other.counts() == {}


async def test_a_proxy_of_a_team_may_not_lie_in_a_private_network(
    farm: Farm, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="perseid")
    async with Site() as proxy:
        pool = {"proxies": [proxy.origin.replace("127.0.0.1", "127.0.0.2")], "failures": 1, "rest": "1h"}
        await farm.config(ConfigKind.PROXY_POOL, "eu", pool)
        await farm.publish({**DETAIL, "fetch": {"proxies": "eu", "robots": False, "backoff": {"base": 0.01}}})
        await farm.put(urls=[site.url("/p/1")])
        async with await farm.working():
            await farm.lab.until(lambda: told(caplog, "all proxies of the pool 'eu' rest"))
        assert proxy.counts() == site.counts() == {}


async def test_a_rate_holds_for_all_runs_of_a_site_together(farm: Farm, site: Site) -> None:
    for number in range(12):
        site.page(f"/p/{number}", product(number))
    fetch = {"rate": {"per_s": 20, "burst": 1}, "robots": False, "concurrency": 8}
    await farm.publish({**DETAIL, "fetch": fetch})
    await farm.put("a", urls=[site.url(f"/p/{number}") for number in range(6)])
    await farm.put("b", urls=[site.url(f"/p/{number}") for number in range(6, 12)])
    found = await farm.collect()
    assert len(found.items) == 12
    first, last = site.requests[0].at_s, site.requests[-1].at_s
    # Eleven pauses of 50 ms at the least, as the bucket counts them.
    assert last - first >= 11 * 0.05 * 0.9


async def test_the_ceilings_of_a_team_hold_below_each_rule(farm: Farm, site: Site) -> None:
    for number in range(6):
        site.page(f"/p/{number}", product(number), delay_s=0.02)
    await farm.config(ConfigKind.LIMITS, "default", {"concurrency": 1})
    await farm.publish({**DETAIL, "fetch": {"concurrency": 8, "robots": False}})
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(6)])
    found = await farm.collect()
    assert len(found.items) == 6
    assert site.peak() == 1


async def test_all_runs_of_a_site_share_its_concurrency(farm: Farm, site: Site) -> None:
    for number in range(24):
        site.page(f"/p/{number}", product(number), delay_s=0.03)
    await farm.publish({**DETAIL, "fetch": {"concurrency": 2, "robots": False}})
    for seed in range(3):
        await farm.put(f"s{seed}", urls=[site.url(f"/p/{number}") for number in range(8 * seed, 8 * seed + 8)])
    found = await farm.collect(concurrency=16)
    assert len(found.titles) == 24
    assert site.peak() == 2


async def test_a_crawl_delay_holds_for_every_request_of_a_seed(farm: Farm, site: Site) -> None:
    site.robots("User-agent: *\nCrawl-delay: 0.15\n")
    site.respond("/", headers={"Set-Cookie": "seen=yes; Path=/"}, body="<p>welcome</p>")
    site.sitemap("/sitemap.xml", ["/part.xml"], index=True)
    site.sitemap("/part.xml", ["/p/1", "/p/2"])
    site.page("/p/1", product(1))
    site.redirect("/p/2", "/p/3")
    site.page("/p/3", product(3))
    await farm.publish({**DETAIL, "fetch": {"warm_up": site.url("/"), "concurrency": 8}})
    await farm.put(task_type="sitemap", payload={"url": site.url("/sitemap.xml")})
    found = await farm.collect()
    assert found.titles == ["Product 1", "Product 3"]
    paths = ("/robots.txt", "/", "/sitemap.xml", "/part.xml", "/p/1", "/p/2", "/p/3")
    assert site.counts() == dict.fromkeys(paths, 1)
    known = next(at for at, request in enumerate(site.requests) if request.path == "/robots.txt")
    starts = [request.at_s for request in site.requests[known:]]
    assert all(later - earlier >= 0.15 for earlier, later in itertools.pairwise(starts))


async def test_a_published_rule_slows_a_run_that_goes_on(farm: Farm, site: Site) -> None:
    for number in range(40):
        site.page(f"/p/{number}", product(number), delay_s=0.03)
    await farm.publish({**DETAIL, "fetch": {"concurrency": 4, "robots": False}})
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(40)])
    async with await farm.working():
        await site.wait_for(n=8)
        assert site.peak() == 4
        await farm.publish({**DETAIL, "fetch": {"concurrency": 1, "robots": False}})
        await site.wait_for(n=20)
        slowed = len(site.requests)
        await site.wait_for(n=30)
    assert {request.concurrent for request in site.requests[slowed:30]} == {1}


async def test_block_lists_hold_whatever_a_rule_says(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    site.redirect("/p/2", "/admin/2")
    await farm.config(ConfigKind.BLOCK_LIST, "ours", {"patterns": ["/admin/"], "hosts": ["blocked.example"]})
    await farm.publish({**DETAIL, "fetch": {"robots": False}})
    await farm.put(urls=[site.url("/p/1"), site.url("/p/2"), site.url("/admin/3"), "http://blocked.example/p/4"])
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    (run,) = found.runs
    assert (run.counts.done, run.counts.denied) == (1, 3)
    assert site.counts() == {"/p/1": 1, "/p/2": 1}


async def test_a_paused_site_runs_no_task_until_it_goes_on(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    await farm.publish(DETAIL)
    await farm.put(urls=[site.url("/p/1")])
    await farm.sites.pause("shop", "somebody looks")
    found = await farm.collect()
    assert (found.items, site.counts()) == ([], {})
    await farm.sites.resume("shop")
    found = await farm.collect()
    assert found.titles == ["Product 1"]


async def test_a_site_that_asks_for_patience_gets_it_without_losing_tries(farm: Farm, site: Site) -> None:
    busy = Answer(status=429, headers={"Retry-After": "0"})
    site.sequence("/p/1", [busy, Answer(body=product(1))])
    fetch = {"robots": False, "backoff": {"base": 0.01, "max": 0.02, "attempts": 1}}
    await farm.publish({**DETAIL, "fetch": fetch})
    await farm.put(urls=[site.url("/p/1")])
    found = await farm.collect()
    assert found.titles == ["Product 1"]
    assert site.counts() == {"/p/1": 2}


@pytest.mark.parametrize("delay", [[0.03, 0.05]])
async def test_a_pause_before_each_request_is_kept(farm: Farm, site: Site, delay: list[float]) -> None:
    for number in range(4):
        site.page(f"/p/{number}", product(number))
    await farm.publish({**DETAIL, "fetch": {"delay": delay, "concurrency": 1, "robots": False}})
    await farm.put(urls=[site.url(f"/p/{number}") for number in range(4)])
    found = await farm.collect()
    assert len(found.items) == 4
    starts = [request.at_s for request in site.requests]
    assert all(later - earlier >= 0.03 for earlier, later in itertools.pairwise(starts))


async def test_a_seed_that_can_not_be_begun_here_holds_up_no_other(
    farm: Farm, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.page("/p/1", product(1))
    await farm.publish(DETAIL)
    newer = msgspec.structs.replace(farm.seed("newer", urls=[site.url("/p/2")]), schedule=Schedule(every_s=1e300))
    await farm.sites.seeding.put(newer)
    await farm.put(urls=[site.url("/p/1")])
    async with await farm.working():
        await site.wait_for(n=2)
        await farm.lab.until(lambda: told(caplog, "'newer' begins 600 s later"))
    assert site.counts() == {"/robots.txt": 1, "/p/1": 1}
