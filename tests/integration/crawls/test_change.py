"""Change tracking through whole crawls."""

from __future__ import annotations

from typing import Any

from perseid.model.options import CachePolicy, ChangeTracking
from perseid.testing import Site

TRACK = {"change_tracking": ChangeTracking(modes=("git-diff",))}


async def statuses(lab: Any, site: Site) -> dict[str, str]:
    found = await lab.crawl(site.url("/"), scrape=TRACK, sitemap="skip")
    return {
        document.url.removeprefix(site.origin): document.change_tracking["changeStatus"] for document in found.documents
    }


async def test_each_page_of_a_crawl_is_compared_with_the_crawl_before(site: Site, lab: Any) -> None:
    site.page("/", "<p>start <a href=/a>a</a> <a href=/b>b</a></p>")
    site.page("/a", "<p>one</p>")
    site.page("/b", "<p>two</p>")
    assert await statuses(lab, site) == {"/": "new", "/a": "new", "/b": "new"}
    site.page("/b", "<p>three</p>")
    assert await statuses(lab, site) == {"/": "same", "/a": "same", "/b": "changed"}


async def test_nothing_is_tracked_unasked(site: Site, lab: Any) -> None:
    site.page("/", "<p>one</p>")
    (document,) = (await lab.batch([site.url("/")])).documents
    assert document.change_tracking is None
    (document,) = (await lab.batch([site.url("/")], **TRACK)).documents
    assert document.change_tracking["changeStatus"] == "new"


async def test_a_page_to_be_compared_comes_from_the_site(site: Site, lab: Any) -> None:
    site.page("/", "<p>one</p>")
    for _ in range(2):
        await lab.batch([site.url("/")], cache=CachePolicy(max_age_s=60, store=True), **TRACK)
    assert site.counts() == {"/": 2}


async def test_documents_name_their_page_as_it_was_sent(site: Site, lab: Any) -> None:
    site.page("/a", "<p>one</p>")
    sent = site.url("/a").replace("http://", "HTTP://")
    (document,) = (await lab.batch([sent])).documents
    assert (document.source_url, document.metadata["sourceURL"], document.url) == (sent, sent, site.url("/a"))
