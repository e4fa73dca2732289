"""Dify: the bodies that its data source "Firecrawl" sends, from the check of credentials to the last page."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from perseid.testing import Site

from .site import PAGES

WANTED = 120


def ask(url: str, body: dict[str, Any] | None = None, key: str = "any") -> tuple[int, dict[str, Any]]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    try:
        with urlopen(Request(url, data, headers), timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def states(api: str, job: str) -> Iterator[dict[str, Any]]:
    """What polling tells, until the job is over."""
    while True:
        status, told = ask(f"{api}/v1/crawl/{job}")
        assert status == 200, told
        yield told
        if told["status"] == "completed":
            return
        assert told["status"] == "scraping", told
        time.sleep(0.2)


def crawl(api: str, url: str, limit: int, **further: Any) -> dict[str, Any]:
    """The body of a data source: patterns may be empty strings, and depth may be set."""
    body = {
        "url": url,
        "excludePaths": [],
        "includePaths": [],
        "limit": limit,
        "scrapeOptions": {"onlyMainContent": True, "formats": ["markdown"]},
        **further,
    }
    status, told = ask(f"{api}/v1/crawl", body)
    assert status == 200, told
    return told


def documents(api: str, last: dict[str, Any]) -> list[dict[str, Any]]:
    """All pages of an ended crawl."""
    found = list(last["data"])
    while "next" in last:
        status, last = ask(last["next"])
        assert status == 200, last
        found += last["data"]
    return found


def test_credentials_are_checked_by_a_crawl_of_one_page(api: str, locked: dict[str, str], site: Site) -> None:
    body = {
        "url": site.origin,
        "includePaths": [],
        "excludePaths": [],
        "limit": 1,
        "scrapeOptions": {"onlyMainContent": True},
    }
    assert ask(f"{api}/v1/crawl", body)[0] == 200
    assert ask(f"{locked['LOCKED_URL']}/v1/crawl", body, locked["API_KEY"])[0] == 200
    assert ask(f"{locked['LOCKED_URL']}/v1/crawl", body, "fc-wrong")[0] == 401


def test_a_data_source_becomes_documents(api: str, site: Site) -> None:
    job = crawl(api, site.origin, WANTED)["id"]
    seen = list(states(api, job))
    assert all(isinstance(state["total"], int) and isinstance(state["completed"], int) for state in seen)
    last = seen[-1]
    assert (last["total"], last["completed"]) == (WANTED, WANTED)
    pages = documents(api, last)
    assert len(pages) == WANTED
    for page in pages:
        assert page["markdown"]
        assert page["metadata"]["title"]
        assert page["metadata"]["description"]
        assert page["metadata"]["sourceURL"].startswith(site.origin)


@pytest.mark.parametrize("further", [{"maxDepth": 2}, {"includePaths": ["^/blog"], "excludePaths": ["page-1"]}])
def test_options_of_the_form_are_taken(api: str, site: Site, further: dict[str, Any]) -> None:
    job = crawl(api, site.origin, 15, **further)["id"]
    *_, last = states(api, job)
    assert 0 < last["total"] <= 15


def test_a_workflow_maps_a_site_and_scrapes_its_pages(api: str, site: Site) -> None:
    """First all addresses, then one worker after the other takes some of them."""
    body = {"url": site.origin, "limit": 5000, "includeSubdomains": False, "ignoreSitemap": False}
    status, told = ask(f"{api}/v1/map", body)
    assert status == 200, told
    assert len(told["links"]) >= PAGES
    waiting = [link for link in told["links"] if "/late" not in link][:WANTED]
    done: dict[str, str] = {}
    while waiting:
        taken, waiting = waiting[:20], waiting[20:]
        for url in taken:
            status, page = ask(f"{api}/v1/scrape", {"url": url, "formats": ["markdown"], "onlyMainContent": True})
            assert status == 200, page
            assert page["data"]["metadata"]["sourceURL"] == url
            done[url] = page["data"]["markdown"]
    assert len(done) == WANTED
    assert all(done.values())


def test_a_workflow_maps_without_the_sitemap(api: str, site: Site) -> None:
    body = {"url": site.origin, "limit": 5000, "includeSubdomains": True, "ignoreSitemap": True}
    status, told = ask(f"{api}/v1/map", body)
    assert status == 200, told
    assert f"{site.origin}/about" in told["links"]
