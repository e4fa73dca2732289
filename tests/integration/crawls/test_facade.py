"""The library in a few functions, against a real site."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import perseid
from perseid.errors import ConfigError, InvalidURL, ScrapeFailed
from perseid.testing import Answer, Site, in_thread


async def test_a_crawl_gives_its_pages(site: Site) -> None:
    site.links({"/": ["/a", "/b"]})
    assert sorted([page.url async for page in perseid.crawl(site.url("/"))]) == [site.url(p) for p in ("/", "/a", "/b")]


async def test_pages_come_while_the_crawl_goes_on(site: Site) -> None:
    site.links({"/": ["/a", "/last"]})
    site.respond("/last", hang=True)
    async with asyncio.timeout(5), aclosing(perseid.crawl(site.url("/"), sitemap="skip")) as pages:  # type: ignore[type-var]
        assert [(await anext(pages)).url for _ in range(2)] == [site.url("/"), site.url("/a")]


async def test_breaking_out_stops_the_crawl_and_leaves_nothing_behind(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    site.otherwise(
        lambda request: Answer(body=f"<a href='{request.path}x'>x</a><a href='{request.path}y'>y</a>", delay_s=0.01)
    )
    async with aclosing(perseid.crawl(site.url("/a"), entire_domain=True)) as pages:  # type: ignore[type-var]
        async for _page in pages:
            break
    async with asyncio.timeout(5):
        while site.connections:  # noqa: ASYNC110  # the site hears of closed connections by the loop
            await asyncio.sleep(0)
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # as a list of names


async def test_options_by_keyword(site: Site) -> None:
    site.links({"/": ["/a", "/b", "/c"]})
    pages = [
        page async for page in perseid.crawl(site.url("/"), limit=3, exclude=["^/a$"], formats=["text"], sitemap="skip")
    ]
    assert {page.url for page in pages} == {site.url("/"), site.url("/b"), site.url("/c")}
    assert all(page.markdown is None and page.text for page in pages)


async def test_a_folder_makes_a_crawl_go_on_where_it_was_left(site: Site, tmp_path: Path) -> None:
    site.links({"/": [f"/{n}" for n in range(20)]})
    for n in range(20):
        site.page(f"/{n}", "<p>x</p>", delay_s=0.02)
    async with aclosing(perseid.crawl(site.url("/"), folder=tmp_path, concurrency=2)) as pages:  # type: ignore[type-var]
        async for _page in pages:
            if len(site.requests) > 6:
                break
    assert len(site.requests) < 20
    pages = [page async for page in perseid.crawl(site.url("/"), folder=tmp_path)]
    assert len(pages) == len({page.url for page in pages}) == 21
    assert max(site.counts().values()) == 1


async def test_a_folder_with_a_finished_crawl_is_crawled_anew(site: Site, tmp_path: Path) -> None:
    site.links({"/": ["/a"]})
    for _ in range(2):
        assert len([page async for page in perseid.crawl(site.url("/"), folder=tmp_path)]) == 2
    assert site.counts()["/a"] == 2


async def test_a_crawl_in_two_processes(site: Site) -> None:
    site.links({"/": [f"/{n}" for n in range(30)]})
    pages = [page async for page in perseid.crawl(site.url("/"), processes=2, concurrency=2)]
    assert len(pages) == 31


async def test_a_scrape_gives_one_page(site: Site) -> None:
    site.page("/a", "<title>A</title><p>text</p><a href='/b'>b</a>")
    page = await perseid.scrape(site.url("/a"))
    assert (page.title, "text" in (page.markdown or "")) == ("A", True)
    assert site.counts() == {"/a": 1}


@pytest.mark.parametrize(
    ("answer", "failure"),
    [(Answer(status=404), "http_404"), (Answer(body=b"\x7fELF" + b"\0" * 60), "unsupported_file")],
)
async def test_a_scrape_that_fails_says_how(site: Site, answer: Answer, failure: str) -> None:
    site.handle("/a", lambda _request: answer)
    with pytest.raises(ScrapeFailed) as caught:
        await perseid.scrape(site.url("/a"))
    assert caught.value.failure == failure


async def test_a_scrape_that_robots_forbid_says_so_where_they_are_obeyed(site: Site) -> None:
    site.robots("User-agent: *\nDisallow: /")
    site.page("/a", "<p>a</p>")
    with pytest.raises(ScrapeFailed) as caught:
        await perseid.scrape(site.url("/a"), perseid.ScrapeOptions(obey_robots=True))
    assert caught.value.failure == "robots_txt"


async def test_a_map_lists_without_fetching(site: Site) -> None:
    site.links({"/": ["/a"]})
    site.sitemap("/sitemap.xml", ["/b"])
    links = await perseid.map_site(site.url("/"))
    assert {link.url for link in links} == {site.url(path) for path in ("/", "/a", "/b")}
    assert not {"/a", "/b"} & set(site.counts())


async def test_a_map_puts_what_is_searched_for_first(site: Site) -> None:
    site.links({"/": ["/about", "/docs/install", "/blog/installation-notes"]})
    links = await perseid.map_site(site.url("/"), search="install", limit=2)
    assert [link.url for link in links] == [site.url("/docs/install"), site.url("/blog/installation-notes")]


@pytest.mark.parametrize("url", ["", "not a url", "ftp://example.org/", "http://", "mailto:x@y.test"])
async def test_what_is_no_web_address_is_refused_at_the_first_step(url: str) -> None:
    with pytest.raises(InvalidURL):
        await anext(perseid.crawl(url))
    with pytest.raises(InvalidURL):
        await perseid.scrape(url)
    with pytest.raises(InvalidURL):
        await perseid.map_site(url)


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"include": ["("]}, {"max_depth": -1}, {"formats": ["word"]}, {"formats": []}]
)
async def test_wrong_options_are_refused_at_the_first_step(site: Site, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        await anext(perseid.crawl(site.url("/"), **wrong))
    assert site.counts() == {}


def test_the_same_without_an_event_loop() -> None:
    with in_thread(Site()) as site:
        site.links({"/": ["/a"]})
        assert {page.url for page in perseid.crawl_sync(site.url("/"))} == {site.url("/"), site.url("/a")}
        assert perseid.scrape_sync(site.url("/a")).url == site.url("/a")
        assert {link.url for link in perseid.map_site_sync(site.url("/"))} == {site.url("/"), site.url("/a")}


def test_breaking_out_without_an_event_loop_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with in_thread(Site()) as site:
        site.links({"/": [f"/{n}" for n in range(50)]})
        pages = perseid.crawl_sync(site.url("/"), concurrency=1)
        assert next(pages).url == site.url("/")
        pages.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
