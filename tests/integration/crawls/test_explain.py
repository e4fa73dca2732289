"""Why is this page (not) here? One answer for each way a URL can end, or wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.errors import InvalidURL
from perseid.testing import Site


async def test_a_page_that_was_fetched(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"], "/a": ["/b"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    told = await lab.explain(site.url("/b"), found.crawl.uid)
    assert (told.state, told.status, told.depth, told.attempts) == ("completed", 200, 2, 1)
    assert told.referrers[0] == site.url("/a")


async def test_a_page_that_failed(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.respond("/a", 404)
    found = await lab.crawl(site.url("/"), sitemap="skip")
    told = await lab.explain(site.url("/a"), found.crawl.uid)
    assert (told.state, told.reason, told.status) == ("failed", "http_404", 404)
    assert "404" in told.message


async def test_a_link_that_was_refused_names_rule_and_referrer(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"], "/a": ["/shop/1"]})
    found = await lab.crawl(site.url("/"), scope={"exclude": ("^/shop/",)}, sitemap="skip")
    told = await lab.explain(site.url("/shop/1"), found.crawl.uid)
    assert (told.state, told.reason) == ("refused", "EXCLUDE_PATTERN")
    assert "^/shop/" in told.message
    assert told.referrers[0] == site.url("/a")


async def test_the_end_of_a_redirect_is_an_alias(site: Site, lab: Any) -> None:
    site.links({"/": ["/old"]})
    site.redirect("/old", "/new")
    site.page("/new", "<p>new</p>")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    told = await lab.explain(site.url("/new"), found.crawl.uid)
    assert told.state == "alias"
    assert site.url("/old") in told.message
    assert (await lab.explain(site.url("/old"), found.crawl.uid)).final_url == site.url("/new")


async def test_a_duplicate_names_the_page_that_is_kept(site: Site, lab: Any) -> None:
    site.links({"/": ["/new", "/old"]})
    site.redirect("/old", "/new")
    found = await lab.crawl(site.url("/"), sitemap="skip", concurrency=1)
    told = await lab.explain(site.url("/old"), found.crawl.uid)
    assert told.state == "duplicate"
    assert site.url("/new") in told.message


async def test_a_url_never_met_is_judged_as_a_dry_run(site: Site, lab: Any) -> None:
    site.links({"/": []})
    found = await lab.crawl(site.url("/"), scope={"exclude": ("^/shop/",)}, sitemap="skip")
    shut, free = site.url("/shop/x"), site.url("/other")
    told = await lab.explain(shut, found.crawl.uid)
    assert (told.state, told.reason) == ("unknown", "EXCLUDE_PATTERN")
    assert "would have been refused" in told.message
    assert (await lab.explain(free, found.crawl.uid)).reason == ""


async def test_a_page_that_waits(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    assert (await lab.explain(site.url("/"), crawl.uid)).state in ("queued", "backlog")


async def test_a_page_that_is_being_fetched(site: Site, lab: Any) -> None:
    site.respond("/", hang=True)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid))
    await site.wait_for("/")
    assert (await lab.explain(site.url("/"), crawl.uid)).state == "active"
    await lab.client.cancel(crawl.uid)
    await site.stop()
    await running


async def test_other_spellings_find_the_page(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    for spelling in ("/a#section", "/x/../a"):
        assert (await lab.explain(site.url(spelling), found.crawl.uid)).state == "completed"


async def test_a_link_of_another_protocol_can_be_explained(site: Site, lab: Any) -> None:
    site.links({"/": ["mailto:x@y.test", "javascript:void(0)"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert (await lab.explain("mailto:x@y.test", found.crawl.uid)).reason == "NON_WEB_PROTOCOL"


async def test_what_is_no_url_is_refused(site: Site, lab: Any) -> None:
    site.links({"/": []})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    with pytest.raises(InvalidURL):
        await lab.client.explain("not a url", found.crawl.uid)


async def test_a_sitemap_file_can_be_explained(site: Site, lab: Any) -> None:
    site.robots(f"Sitemap: {site.url('/list.xml')}")
    site.links({"/": []})
    found = await lab.crawl(site.url("/"))
    told = await lab.explain(site.url("/list.xml"), found.crawl.uid)
    assert (told.state, told.reason) == ("failed", "http_404")


async def test_a_batch_can_be_explained(site: Site, lab: Any) -> None:
    site.page("/a", "<p>a</p>")
    found = await lab.batch([site.url("/a"), site.url("/gone")])
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).state == "completed"
    assert (await lab.explain(site.url("/gone"), found.crawl.uid)).reason == "http_404"


async def test_all_crawls_of_a_store_that_know_the_url_answer(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    first = await lab.crawl(site.url("/"), sitemap="skip")
    second = await lab.crawl(site.url("/"), scope={"exclude": ("/a",)}, sitemap="skip")
    told = {answer.crawl: answer.state for answer in await lab.client.explain(site.url("/a"))}
    assert told == {first.crawl.uid: "completed", second.crawl.uid: "refused"}
