"""Crawling again without having unchanged pages sent again: only where asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from perseid.testing import Answer, Site
from perseid.testing.answer import Request

AGAIN = {"revalidate": True}


class Versioned:
    """A page that answers 304 to who has its version."""

    def __init__(self, body: str, etag: str = '"1"', **headers: str) -> None:
        self.body = body
        self.etag = etag
        self.headers = headers
        self.sent = 0

    def __call__(self, request: Request) -> Answer:
        if request.headers.get("if-none-match") == self.etag:
            return Answer(status=304, headers={"ETag": self.etag})
        self.sent += 1
        return Answer(body=self.body, headers={"ETag": self.etag, "Content-Type": "text/html", **self.headers})


async def test_an_unchanged_page_keeps_its_document_and_its_links(site: Site, lab: Any) -> None:
    start = Versioned("<title>Start</title><p>text</p><a href='/a'>a</a>")
    site.handle("/", start)
    site.page("/a", "<p>a</p>")
    first = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    second = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert (first.paths, second.paths, start.sent) == (["/", "/a"], ["/", "/a"], 1)
    one, two = (next(d for d in found.documents if d.title == "Start") for found in (first, second))
    assert (one.markdown, one.status, one.content_type) == (two.markdown, two.status, two.content_type)
    assert two.fetched_at > one.fetched_at


async def test_a_changed_page_is_sent(site: Site, lab: Any) -> None:
    page = Versioned("<p>old</p>")
    site.handle("/", page)
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    page.body, page.etag = "<p>new</p>", '"2"'
    for _ in range(2):
        found = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
        assert found.documents[0].markdown.strip() == "new"
    assert page.sent == 2


async def test_it_is_never_done_unasked(site: Site, lab: Any) -> None:
    page = Versioned("<p>x</p>")
    site.handle("/", page)
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    await lab.crawl(site.url("/"), sitemap="skip")
    assert page.sent == 2


async def test_an_unchanged_page_is_converted_by_the_options_of_now(site: Site, lab: Any) -> None:
    site.handle("/", Versioned("<p>text</p>"))
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    found = await lab.crawl(site.url("/"), scrape=AGAIN | {"formats": ("rawHtml",)}, sitemap="skip")
    assert (found.documents[0].raw_html, found.documents[0].markdown) == ("<p>text</p>", None)


async def test_a_date_alone_will_do(site: Site, lab: Any) -> None:
    date = "Mon, 01 Jan 2024 00:00:00 GMT"

    def page(request: Request) -> Answer:
        if request.headers.get("if-modified-since") == date:
            return Answer(status=304)
        return Answer(body="<p>dated</p>", headers={"Last-Modified": date})

    site.handle("/", page)
    for _ in range(2):
        found = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
        assert found.documents[0].markdown.strip() == "dated"
    assert "if-modified-since" in site.requests[-1].headers


async def test_sitemaps_are_revalidated_too(site: Site, lab: Any) -> None:
    site.links({"/": [], "/a": []})
    listing = Versioned(
        f"<urlset><url><loc>{site.url('/a')}</loc></url></urlset>", **{"Content-Type": "application/xml"}
    )
    site.handle("/sitemap.xml", listing)
    for _ in range(2):
        assert (await lab.crawl(site.url("/"), scrape=AGAIN)).paths == ["/", "/a"]
    assert listing.sent == 1


@pytest.mark.parametrize("headers", [{"Cache-Control": "private, no-store"}, {"Vary": "*"}])
async def test_what_must_not_be_kept_is_not(site: Site, lab: Any, headers: dict[str, str]) -> None:
    page = Versioned("<p>x</p>", **headers)
    site.handle("/", page)
    for _ in range(2):
        await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert page.sent == 2


async def test_another_identity_is_another_page(site: Site, lab: Any) -> None:
    page = Versioned("<p>x</p>")
    site.handle("/", page)
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    await lab.crawl(site.url("/"), scrape=AGAIN | {"headers": (("Accept-Language", "de"),)}, sitemap="skip")
    assert page.sent == 2


async def test_a_304_about_another_version_has_the_page_sent_at_the_next_attempt(site: Site, lab: Any) -> None:
    site.sequence(
        "/",
        [
            (200, {"ETag": '"1"'}, "<p>one</p>"),
            (304, {"ETag": '"9"'}),
            (200, {"ETag": '"9"'}, "<p>nine</p>"),
        ],
    )
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    found = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert found.documents[0].markdown.strip() == "nine"
    assert "if-none-match" not in site.requests[-1].headers


async def test_a_weak_validator_may_become_strong(site: Site, lab: Any) -> None:
    site.sequence("/", [(200, {"ETag": 'W/"1"'}, "<p>one</p>"), (304, {"ETag": '"1"'})])
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    found = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert found.documents[0].markdown.strip() == "one"


async def test_a_page_that_is_gone_is_a_failure_all_the_same(site: Site, lab: Any) -> None:
    site.sequence("/", [(200, {"ETag": '"1"'}, "<p>one</p>"), (404,)])
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    found = await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert (found.documents, found.codes) == ([], {site.url("/"): "http_404"})


@pytest.mark.parametrize("status", [304, 302])
async def test_an_answer_without_anything_is_no_page(site: Site, lab: Any, status: int) -> None:
    site.respond("/", status)
    found = await lab.crawl(site.url("/"), scrape={"max_attempts": 1}, sitemap="skip")
    assert found.codes == {site.url("/"): "bad_response"}


async def test_pruning_forgets_pages_too(site: Site, lab: Any, tmp_path: Path) -> None:
    page = Versioned("<p>x</p>")
    site.handle("/", page)
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    await lab.client.prune(older_than_s=0)
    await lab.crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
    assert page.sent == 2


async def test_it_holds_in_another_process(site: Site, open_lab: Any) -> None:
    page = Versioned("<p>x</p>")
    site.handle("/", page)
    for _ in range(2):
        await (await open_lab()).crawl(site.url("/"), scrape=AGAIN, sitemap="skip")
        await asyncio.sleep(1)  # a process writes what it remembers some at a time, soon
    assert page.sent == 1
