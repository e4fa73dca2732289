"""What a run says of its source: what was left out, and why it could not be read."""

from __future__ import annotations

from tests.integration.seeds.conftest import SHOP, Farm, product

from perseid.runtime.seeding import RunView
from perseid.testing import Site


async def newest(farm: Farm, seed: str) -> RunView:
    view = await farm.sites.seeding.newest(await farm.sites.seeding.row(seed))
    assert view is not None
    return view


async def test_a_run_tells_what_it_left_out_and_what_it_could_not_read(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    site.sitemap("/good.xml", ["/p/1", "ftp://x.example/2"])
    await farm.publish({**SHOP, "start": "detail"})
    for name in ("good", "gone"):
        await farm.put(name, task_type="sitemap", payload={"url": site.url(f"/{name}.xml")})
    await farm.put("ruleless", "nobody", urls=[site.url("/p/1")])
    await farm.collect()
    good = await newest(farm, "good")
    assert (good.stats.done, good.left_out, good.trouble) == (1, 1, "")
    assert good.notes == (f"{site.url('/good.xml')}: 'ftp://x.example/2' is no address of the web",)
    gone = await newest(farm, "gone")
    assert (gone.stats.tasks, gone.left_out, gone.notes) == (0, 0, ())
    assert gone.trouble == f"the sitemap {site.url('/gone.xml')} answered 404"
    ruleless = await newest(farm, "ruleless")
    assert ruleless.trouble == "nobody has published a rule for the site 'nobody'"


async def test_a_list_that_leads_nowhere_is_kept_and_read_again_under_a_mended_rule(farm: Farm, site: Site) -> None:
    site.page("/p/1", product(1))
    site.page("/list", '<h4><a href="/p/1">x</a></h4>')
    await farm.publish(SHOP)
    await farm.put(urls=[site.url("/list")])
    found = await farm.collect()
    assert [(each.reason, each.url) for each in found.exceptions] == [("missing:follow", site.url("/list"))]
    assert (await newest(farm, "s1")).stats.empty == 1
    await farm.publish({**SHOP, "follow": "h4 a"})
    done = await farm.sites.reread("shop")
    assert (done.pages, done.exceptions, done.unread) == (1, 0, 0)
    await farm.sites.seeding.run("s1")
    found = await farm.collect()
    assert (found.titles, found.exceptions) == (["Product 1"], [])
