"""Redirects: judged at each hop, never in circles, never silently out of scope."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.testing import Answer, Site
from perseid.testing.answer import Request


async def test_a_redirect_out_of_scope_is_a_verdict_and_no_page(site: Site, lab: Any) -> None:
    site.links({"/docs/": ["/docs/out"]})
    site.redirect("/docs/out", "/blog/")
    site.page("/blog/", "<p>blog</p>")
    found = await lab.crawl(site.url("/docs/"), sitemap="skip")
    assert found.paths == ["/docs/"]
    assert (await lab.explain(site.url("/docs/out"), found.crawl.uid)).reason == "BACKWARD_CRAWLING"
    assert "/blog/" not in site.counts()


async def test_a_redirect_to_a_forbidden_page_is_refused_by_robots(site: Site, lab: Any) -> None:
    site.robots("User-agent: *\nDisallow: /private")
    site.links({"/": ["/a"]})
    site.redirect("/a", "/private")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).reason == "ROBOTS_TXT"
    assert "/private" not in site.counts()


async def test_a_circle_ends_as_redirect_loop(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/a"): "redirect_loop"}
    assert site.counts()["/a"] == 1


async def test_a_page_that_redirects_to_itself_is_a_loop(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.redirect("/a", "/a#top")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/a"): "redirect_loop"}


async def test_a_circle_that_sets_a_new_cookie_each_time_is_a_loop_in_the_end(site: Site, lab: Any) -> None:
    def again(request: Request) -> Answer:
        return Answer(status=302, headers={"Location": "/a", "Set-Cookie": f"n={len(site.requests)}"})

    site.links({"/": ["/a"]})
    site.handle("/a", again)
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/a"): "redirect_loop"}
    assert site.counts()["/a"] <= 12


async def test_more_than_ten_redirects_are_too_many(site: Site, lab: Any) -> None:
    site.links({"/": ["/r0"]})
    for n in range(12):
        site.redirect(f"/r{n}", f"/r{n + 1}")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/r0"): "too_many_redirects"}
    assert sum(path.startswith("/r") and path != "/robots.txt" for path in site.counts()) == 11


@pytest.mark.parametrize("way", [["/a"], ["/consent", "/a"]], ids=["itself", "by a consent page"])
async def test_a_cookie_set_on_the_way_opens_the_page(site: Site, lab: Any, way: list[str]) -> None:
    def page(request: Request) -> Answer:
        if "seen=1" in request.headers.get("cookie", ""):
            return Answer(body="<p>welcome</p>")
        return Answer(status=302, headers={"Location": way[0], "Set-Cookie": "seen=1; Path=/"})

    site.links({"/": ["/a"]})
    site.handle("/a", page)
    site.redirect("/consent", "/a")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/a"]


async def test_cookies_of_one_page_do_not_reach_another(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b"]})
    site.respond("/a", 302, {"Location": "/a2", "Set-Cookie": "mine=1; Path=/"})
    site.page("/a2", "<p>a</p>")
    await lab.crawl(site.url("/"), sitemap="skip", concurrency=1)
    sent = {request.path: request.headers.get("cookie") for request in site.requests}
    assert (sent["/a2"], sent["/b"]) == ("mine=1", None)


async def test_a_redirect_to_another_host_is_no_attempt(site: Site, lab: Any) -> None:
    other = site.host("other")
    site.links({"/": [other.url("/a")]})
    other.redirect("/a", site.url("/there"))
    site.page("/there", "<p>there</p>")
    found = await lab.crawl(site.url("/"), scope={"external": True}, scrape={"max_attempts": 1}, sitemap="skip")
    assert site.url("/there") in found.urls
    assert (await lab.explain(other.url("/a"), found.crawl.uid)).attempts == 1


async def test_a_hop_to_another_host_asks_its_robots(site: Site, lab: Any) -> None:
    other = site.host("other")
    other.robots("User-agent: *\nDisallow: /shut")
    site.links({"/": ["/a"]})
    site.redirect("/a", other.url("/shut"))
    found = await lab.crawl(site.url("/"), scope={"external": True}, sitemap="skip")
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).reason == "ROBOTS_TXT"
    assert site.counts("other") == {"/robots.txt": 1}


async def test_a_fragment_in_location_is_not_part_of_the_page(site: Site, lab: Any) -> None:
    site.links({"/": ["/a", "/b"]})
    site.redirect("/a", "/b#section")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/b"]
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).state in ("duplicate", "completed")


async def test_a_location_that_is_no_url_is_a_failure(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.redirect("/a", "http://[broken/")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.codes == {site.url("/a"): "bad_response"}


async def test_a_redirect_to_another_scheme_is_a_verdict(site: Site, lab: Any) -> None:
    site.links({"/": ["/a"]})
    site.redirect("/a", "ftp://127.0.0.1/file")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).reason == "NON_WEB_PROTOCOL"


async def test_links_are_resolved_against_the_final_url(site: Site, lab: Any) -> None:
    site.redirect("/go/42", "/go/wiki/space/start.html")
    site.page("/go/wiki/space/start.html", "<a href='next.html'>n</a><a href='../top.html'>t</a>")
    site.page("/go/wiki/space/next.html", "<p>n</p>")
    site.page("/go/wiki/top.html", "<p>t</p>")
    found = await lab.crawl(site.url("/go/42"), scope={"entire_domain": True}, sitemap="skip")
    assert found.paths == ["/go/wiki/space/next.html", "/go/wiki/space/start.html", "/go/wiki/top.html"]


async def test_a_batch_keeps_out_of_blocked_hosts_behind_redirects(site: Site, open_lab: Any) -> None:
    lab = await open_lab(politeness={"blocked_hosts": ("blocked.test",)})
    site.redirect("/a", "http://blocked.test/x")
    found = await lab.batch([site.url("/a"), "http://blocked.test/"])
    assert (await lab.explain(site.url("/a"), found.crawl.uid)).reason == "BLOCKED_HOST"
    assert (await lab.explain("http://blocked.test/", found.crawl.uid)).reason == "BLOCKED_HOST"


async def test_credentials_stay_with_the_host_they_were_given_for(site: Site, lab: Any) -> None:
    other = site.host("other")
    other.page("/", "<p>other</p>")
    site.links({"/": [other.url("/")]})
    secret = {"headers": (("Authorization", "Bearer s3cret"), ("X-Api-Key", "k"), ("Accept-Language", "de"))}
    await lab.crawl(site.url("/"), scope={"external": True}, scrape=secret, sitemap="skip")
    (own,) = [r for r in site.requests if r.host == "site" and r.path == "/"]
    (foreign,) = [r for r in site.requests if r.host == "other" and r.path == "/"]
    assert own.headers["authorization"] == "Bearer s3cret"
    # One port beside the other is one host to cookies (RFC 6265, 8.5), but another origin to credentials.
    assert "authorization" not in foreign.headers
    assert "x-api-key" not in foreign.headers
    assert foreign.headers["accept-language"] == "de"


async def test_a_job_that_is_overdue_goes_on_at_the_hop_where_it_was(site: Site, lab: Any) -> None:
    lab.client._engine.executor._deadline_s = 0.3
    other = site.host("other")
    site.links({"/": [other.url("/go")]})
    other.redirect("/go", site.url("/slow"))
    site.respond("/slow", hang=True)
    found = await lab.crawl(site.url("/"), scope={"external": True}, scrape={"max_attempts": 2}, sitemap="skip")
    assert found.codes == {other.url("/go"): "timeout"}
    assert (site.counts("other")["/go"], site.counts("site")["/slow"]) == (1, 2)


async def test_credentials_in_the_start_url_are_sent_and_never_shown(site: Site, lab: Any) -> None:
    def page(request: Request) -> Answer:
        if request.headers.get("authorization") != "Basic dXNlcjpzZWNyZXQ=":
            return Answer(status=401)
        return Answer(body=f"<a href='a'>a</a><a href='{site.url('/a')}'>a</a>")

    site.otherwise(page)
    found = await lab.crawl(site.url("/").replace("//", "//user:secret@"), sitemap="skip")
    assert found.urls == [site.url("/"), site.url("/a")]
    assert "secret" not in repr((found.documents, found.crawl.url, found.failures))
    told = await lab.explain(site.url("/a").replace("//", "//user:secret@"), found.crawl.uid)
    assert told.state == "completed"
    page_one = await lab.client.scrape(site.url("/").replace("//", "//user:secret@"))
    assert page_one.url == site.url("/")
