"""Sitemaps in whole crawls: found, read in any form, bounded, and reported."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from perseid.testing import Answer, Site, zip_bomb

XML = {"Content-Type": "application/xml"}


def _urlset(*urls: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>"


async def test_a_sitemap_named_by_robots_is_read(site: Site, lab: Any) -> None:
    site.robots(f"Sitemap: {site.url('/here.xml')}")
    site.links({"/": [], "/a": []})
    site.sitemap("/here.xml", ["/a"])
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]


async def test_a_sitemap_is_looked_for_where_nobody_named_it(site: Site, lab: Any) -> None:
    site.links({"/docs/": [], "/docs/a": [], "/docs/b": []})
    site.sitemap("/sitemap.xml", ["/docs/a", "/elsewhere"])
    site.sitemap("/docs/sitemap.xml", ["/docs/b"])
    found = await lab.crawl(site.url("/docs/"))
    assert found.paths == ["/docs/", "/docs/a", "/docs/b"]
    assert found.reasons[site.url("/elsewhere")] == "BACKWARD_CRAWLING"


async def test_a_sitemap_that_was_only_guessed_may_be_absent(site: Site, lab: Any) -> None:
    site.links({"/": []})
    found = await lab.crawl(site.url("/"))
    assert site.counts()["/sitemap.xml"] == 1
    assert found.failures == {}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(status=404), "http_404"),
        (Answer(status=410), "http_410"),
        (Answer(body="<!doctype html><h1>Not found</h1>"), "not_xml"),
    ],
)
async def test_a_listed_sitemap_that_cannot_be_read_is_a_failure(
    site: Site, lab: Any, answer: Answer, code: str
) -> None:
    site.robots(f"Sitemap: {site.url('/list.xml')}")
    site.links({"/": []})
    site.handle("/list.xml", lambda _request: answer)
    found = await lab.crawl(site.url("/"))
    assert found.codes == {site.url("/list.xml"): code}
    assert found.summary.failures == {code: 1}


async def test_a_listed_sitemap_with_a_server_error_is_tried_again(site: Site, lab: Any) -> None:
    site.robots(f"Sitemap: {site.url('/list.xml')}")
    site.links({"/": [], "/a": []})
    site.sequence("/list.xml", [(500, XML, "<urlset/>"), (200, XML, _urlset(site.url("/a")))])
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]


async def test_a_soft_404_in_place_of_a_guessed_sitemap_is_nothing(site: Site, lab: Any) -> None:
    site.page("/", "<p>start</p>")
    site.otherwise(Answer(body="<!doctype html><h1>Sorry</h1><a href='/lost'>x</a>"))
    found = await lab.crawl(site.url("/"))
    assert (found.paths, found.failures) == (["/"], {})


async def test_an_empty_location_is_ignored(site: Site, lab: Any) -> None:
    site.links({"/": [], "/a": []})
    site.respond(
        "/sitemap.xml",
        headers=XML,
        body=f"<urlset><url><loc></loc></url><url><loc>{site.url('/a')}</loc></url></urlset>",
    )
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]


async def test_forty_files_of_an_index_are_fetched_once_each(site: Site, lab: Any) -> None:
    children = [f"/c{n}.xml" for n in range(1, 41)]
    site.links({"/": []} | {f"/p{n}": [] for n in range(1, 41)})
    site.sitemap("/sitemap.xml", [*children, "/c7.xml", "/sitemap.xml"], index=True)
    for n, child in enumerate(children, start=1):
        site.sitemap(child, [f"/p{n}"])
    found = await lab.crawl(site.url("/"))
    counts = site.counts()
    assert len(found.paths) == 41
    assert [counts[child] for child in children] == [1] * 40
    assert counts["/sitemap.xml"] == 1
    assert (found.summary.sitemap_urls, found.summary.sitemap_crawled) == (40, 40)


async def test_more_files_than_allowed_are_refused_in_the_ledger(site: Site, lab: Any) -> None:
    site.links({"/": []})
    site.sitemap("/sitemap.xml", [f"/c{n}.xml" for n in range(10)], index=True)
    for n in range(10):
        site.sitemap(f"/c{n}.xml", [])
    found = await lab.crawl(site.url("/"), max_sitemap_files=5)
    assert sum(path.startswith("/c") for path in site.counts()) == 4
    assert found.reasons[site.url("/c9.xml")] == "LIMIT_REACHED"


async def test_urls_of_a_sitemap_pass_the_filter_of_links(site: Site, lab: Any) -> None:
    site.links({"/": [], "/a": []})
    other = site.host("other")
    site.respond("/sitemap.xml", headers=XML, body=_urlset(site.url("/a"), other.url("/b"), "mailto:x@y.test"))
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]
    assert found.reasons[other.url("/b")] == "EXTERNAL_LINK"
    assert found.reasons["mailto:x@y.test"] == "NON_WEB_PROTOCOL"


async def test_a_sitemap_may_lie_on_another_host(site: Site, lab: Any) -> None:
    other = site.host("other")
    site.robots(f"Sitemap: {other.url('/for-site.xml')}")
    site.links({"/": [], "/a": []})
    other.respond("/for-site.xml", headers=XML, body=_urlset(site.url("/a"), other.url("/b")))
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]


async def test_a_blocked_host_is_not_asked_for_its_sitemap(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"blocked_hosts": ("blocked.test",)})
    site.robots("Sitemap: http://blocked.test/sitemap.xml")
    site.links({"/": []})
    found = await lab.crawl(site.url("/"))
    assert (await lab.explain("http://blocked.test/sitemap.xml", found.crawl.uid)).reason == "BLOCKED_HOST"


@pytest.mark.parametrize("form", ["gz", "coding", "text", "rss", "atom", "utf-16"])
async def test_sitemaps_come_in_many_forms(site: Site, lab: Any, form: str) -> None:
    url = site.url("/a?x=1&y=2")
    escaped = url.replace("&", "&amp;")
    xml = _urlset(escaped)
    answers = {
        "gz": Answer(headers={"Content-Type": "application/gzip"}, body=gzip.compress(xml.encode())),
        "coding": Answer(headers=XML, body=xml, coding="gzip"),
        "text": Answer(headers={"Content-Type": "text/plain"}, body=f"\ufeff{url}\n\n"),
        "rss": Answer(headers=XML, body=f"<rss><channel><item><link>{escaped}</link></item></channel></rss>"),
        "atom": Answer(
            headers=XML,
            body=f"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='{escaped}'/></entry></feed>",
        ),
        "utf-16": Answer(headers=XML, body=f"<?xml version='1.0' encoding='utf-16'?>{xml}".encode("utf-16")),
    }
    site.robots(f"Sitemap: {site.url('/list')}")
    site.handle("/list", lambda _request: answers[form])
    site.page("/", "<p>start</p>")
    site.page("/a", "<p>a</p>")
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a?x=1&y=2"]


async def test_nesting_without_end_is_a_failure_in_the_end(site: Site, lab: Any) -> None:
    for n in range(50):
        site.sitemap(f"/s{n}.xml", [f"/s{n + 1}.xml"], index=True)
    site.robots(f"Sitemap: {site.url('/s0.xml')}")
    site.links({"/": []})
    found = await lab.crawl(site.url("/"))
    assert set(found.codes.values()) == {"sitemap_nesting_too_deep"}
    assert sum(path.startswith("/s") and path.endswith("0.xml") for path in site.counts()) <= 2


async def test_a_bomb_of_a_sitemap_leaves_the_worker_alive(site: Site, lab: Any) -> None:
    site.robots(f"Sitemap: {site.url('/bomb.xml.gz')}")
    bomb = zip_bomb(200_000_000, start=b"<urlset>")
    site.respond("/bomb.xml.gz", headers={"Content-Type": "application/gzip"}, body=bomb)
    site.links({"/": ["/a"]})
    found = await lab.crawl(site.url("/"))
    assert found.paths == ["/", "/a"]
    assert found.codes == {site.url("/bomb.xml.gz"): "decompressed_too_large"}


MEASURE = """
import asyncio, pathlib, resource, sys
from perseid.model.options import CrawlOptions
from perseid.runtime import Client

async def main(folder, small, large):
    async with await Client.open(pathlib.Path(folder)) as client:
        await client.map(small, CrawlOptions())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        crawl = await client.start_crawl(large, CrawlOptions(limit=2))
        await client.run(crawl.uid)
        print((await client.crawl(crawl.uid)).counts.refused, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_fifty_thousand_urls_are_judged_without_being_held(site: Site, tmp_path: Path) -> None:
    other = site.host("other")
    other.links({"/": []})
    site.links({"/": []})
    site.robots(f"Sitemap: {site.url('/large.xml')}")
    site.respond("/large.xml", headers=XML, body=_urlset(*(site.url(f"/p{n}") for n in range(50_000))))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", MEASURE, str(tmp_path), other.url("/"), site.url("/"),
        stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    out, _ = await process.communicate()
    refused, grown_kib = map(int, out.split())
    assert refused == 49_999
    assert grown_kib < 60_000


async def test_pages_of_a_sitemap_count_as_near_as_the_start_page(site: Site, lab: Any) -> None:
    site.links({"/": [], "/a": ["/b"]})
    site.sitemap("/sitemap.xml", ["/a"])
    found = await lab.crawl(site.url("/"), scope={"max_discovery_depth": 1})
    assert found.paths == ["/", "/a", "/b"]
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).depth == 0


@pytest.mark.parametrize("packed", [False, True])
async def test_a_crawl_may_start_from_a_sitemap(site: Site, lab: Any, packed: bool) -> None:
    start = "/list.xml.gz" if packed else "/list.xml"
    site.sitemap(start, ["/a", "/b"], gzipped=packed)
    site.links({"/a": [], "/b": []})
    found = await lab.crawl(site.url(start))
    assert {"/a", "/b"} <= set(found.paths)
    assert found.failures == {}
