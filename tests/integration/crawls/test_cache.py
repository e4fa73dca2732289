"""The team's cache of answers: read and filled only where asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perseid.model.options import CachePolicy
from perseid.testing import Answer, Site
from perseid.testing.answer import Request

KEEP = CachePolicy(store=True)
TAKE = CachePolicy(max_age_s=3600)
ONLY = CachePolicy(only=True)


async def test_a_page_is_given_from_the_cache_with_its_own_time(site: Site, lab: Any) -> None:
    site.sequence("/", [Answer(body="<title>One</title><p>one</p>"), Answer(body="<p>two</p>")])
    (first,) = (await lab.batch([site.url("/")], cache=KEEP)).documents
    (second,) = (await lab.batch([site.url("/")], cache=TAKE)).documents
    assert (first.cached, second.cached) == (False, True)
    assert (second.title, second.markdown, second.status) == ("One", first.markdown, 200)
    assert second.fetched_at <= first.fetched_at
    assert site.counts() == {"/": 1}


async def test_nothing_is_kept_or_given_unasked(site: Site, lab: Any) -> None:
    site.page("/", "<p>one</p>")
    for policy in (TAKE, KEEP, CachePolicy()):
        found = await lab.batch([site.url("/")], cache=policy)
    assert found.documents[0].cached is None
    assert site.counts() == {"/": 3}


async def test_a_whole_chain_of_redirects_comes_from_the_cache(site: Site, lab: Any) -> None:
    cookie = {"Location": "/b", "Set-Cookie": "seen=1; Path=/"}
    site.respond("/a", 302, cookie)
    site.respond("/b", 301, {"Location": site.host("other").url("/c")})
    site.host("other").page("/c", "<p>end</p>")
    await lab.batch([site.url("/a")], cache=KEEP)
    (document,) = (await lab.batch([site.url("/a")], cache=ONLY)).documents
    assert (document.url, document.cached) == (site.host("other").url("/c"), True)
    assert site.counts() == {"/a": 1, "/b": 1, "/c": 1}


async def test_only_the_cache_will_do_and_it_has_nothing(site: Site, lab: Any) -> None:
    site.page("/", "<p>x</p>")
    found = await lab.batch([site.url("/")], cache=ONLY)
    assert (found.codes, site.counts()) == ({site.url("/"): "not_cached"}, {})


async def test_a_page_must_be_of_the_age_asked_for(site: Site, lab: Any) -> None:
    site.page("/", "<p>x</p>")
    await lab.batch([site.url("/")], cache=KEEP)
    found = await lab.batch([site.url("/")], cache=CachePolicy(min_age_s=3600))
    assert found.codes == {site.url("/"): "not_cached"}
    assert "s old" in found.failures[site.url("/")].message
    found = await lab.batch([site.url("/")], cache=CachePolicy(min_age_s=0))
    assert found.documents[0].cached is True
    assert site.counts() == {"/": 1}


async def test_an_age_of_nought_asks_the_site(site: Site, lab: Any) -> None:
    site.page("/", "<p>x</p>")
    for _ in range(2):
        await lab.batch([site.url("/")], cache=CachePolicy(max_age_s=0, store=True))
    assert site.counts() == {"/": 2}


@pytest.mark.parametrize("headers", [{"Cache-Control": "private, no-store"}, {"Vary": "*"}])
async def test_what_must_not_be_kept_is_not(site: Site, lab: Any, headers: dict[str, str]) -> None:
    site.respond("/", 200, headers, "<p>x</p>")
    await lab.batch([site.url("/")], cache=KEEP)
    found = await lab.batch([site.url("/")], cache=ONLY)
    assert found.codes == {site.url("/"): "not_cached"}


@pytest.mark.parametrize("status", [404, 500])
async def test_failures_are_not_kept(site: Site, lab: Any, status: int) -> None:
    site.sequence("/", [Answer(status=status, body="<p>no</p>"), Answer(body="<p>yes</p>")])
    await lab.batch([site.url("/")], cache=KEEP, max_attempts=1)
    found = await lab.batch([site.url("/")], cache=TAKE)
    assert found.documents[0].markdown == "yes"


@pytest.mark.parametrize(
    "identity",
    [
        {"headers": (("Authorization", "Basic eA=="),)},
        {"cookies": (("session", "1"),)},
        {"user_agent": "other"},
        {"verify_tls": False},
    ],
)
async def test_another_identity_is_another_page(site: Site, lab: Any, identity: dict[str, Any]) -> None:
    def page(request: Request) -> Answer:
        return Answer(body=f"<p>{request.headers.get('authorization')}</p>")

    site.handle("/", page)
    await lab.batch([site.url("/")], cache=KEEP, **identity)
    found = await lab.batch([site.url("/")], cache=ONLY)
    assert found.codes == {site.url("/"): "not_cached"}
    found = await lab.batch([site.url("/")], cache=ONLY, **identity)
    assert found.documents[0].cached is True


async def test_a_crawl_from_the_cache_asks_the_site_nothing(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"], "/a": ["/b"], "/b": []})
    await lab.crawl(site.url("/"), scrape={"cache": KEEP}, sitemap="skip")
    asked = len(site.requests)
    found = await lab.crawl(site.url("/"), scrape={"cache": ONLY}, sitemap="skip")
    assert (found.paths, len(site.requests)) == (["/", "/a", "/b"], asked)


async def test_it_holds_in_another_process(site: Site, open_lab: Any) -> None:
    site.page("/", "<p>x</p>")
    await (await open_lab()).batch([site.url("/")], cache=KEEP)
    found = await (await open_lab()).batch([site.url("/")], cache=ONLY)
    assert found.documents[0].cached is True


async def test_pruning_empties_it(site: Site, lab: Any, tmp_path: Path) -> None:
    site.page("/", "<p>x</p>")
    await lab.batch([site.url("/")], cache=KEEP)
    await lab.client.prune(older_than_s=0)
    found = await lab.batch([site.url("/")], cache=ONLY)
    assert found.codes == {site.url("/"): "not_cached"}
