"""Nothing that a caller or a page names leads to an address that is not public, on whatever way it gets in."""

from __future__ import annotations

import re
import socket
from typing import Any
from urllib.parse import quote

import pytest

from perseid.fetch.http import HttpFetcher
from perseid.fetch.resolver import Found, Resolver
from perseid.ports.fetch import FetchFailure, FetchRequest

# {p} is the port of the trap, {s} that of a site that may be fetched. Most lead to the trap, were they followed.
FORMS = {
    "loopback": "http://127.0.0.2:{p}/",
    "decimal": "http://2130706434:{p}/",
    "octal": "http://0177.0.0.02:{p}/",
    "hexadecimal": "http://0x7f000002:{p}/",
    "mixed": "http://0x7f.0.2:{p}/",
    "short": "http://127.2:{p}/",
    "trailing dot": "http://127.0.0.2.:{p}/",
    "circled digits": "http://①②⑦.⓪.⓪.②:{p}/",
    "ideographic dots": "http://127。0。0。2:{p}/",
    "full width": "http://１２７.0.0.2:{p}/",
    "percent": "http://%31%32%37.0.0.2:{p}/",
    "this host": "http://0.0.0.0:{p}/",
    "zero": "http://0:{p}/",
    "IPv6 loopback": "http://[::1]:{p}/",
    "IPv6 long": "http://[0:0:0:0:0:0:0:1]:{p}/",
    "IPv6 nothing": "http://[::]:{p}/",
    "mapped": "http://[::ffff:127.0.0.2]:{p}/",
    "mapped, hexadecimal": "http://[::ffff:7f00:2]:{p}/",
    "compatible": "http://[::127.0.0.2]:{p}/",
    "translated": "http://[::ffff:0:127.0.0.2]:{p}/",
    "NAT64": "http://[64:ff9b::7f00:2]:{p}/",
    "NAT64, local": "http://[64:ff9b:1::7f00:2]:{p}/",
    "6to4": "http://[2002:7f00:2::]:{p}/",
    "Teredo": "http://[2001:0:7f00:2::80ff:fffd]:{p}/",
    "link-local": "http://169.254.10.10:{p}/",
    "IPv6 link-local": "http://[fe80::1]:{p}/",
    "unique local": "http://[fd00::1]:{p}/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "metadata, decimal": "http://2852039166/latest/meta-data/",
    "metadata, mapped": "http://[::ffff:a9fe:a9fe]/latest/meta-data/",
    "IPv6 metadata": "http://[fd00:ec2::254]/latest/",
    "metadata of Alibaba": "http://100.100.100.200/latest/",
    "carrier-grade NAT": "http://100.64.0.1:{p}/",
    "private, 10": "http://10.0.0.1:{p}/",
    "private, 172": "http://172.16.0.1:{p}/",
    "private, 192": "http://192.168.0.1:{p}/",
    "broadcast": "http://255.255.255.255:{p}/",
    "multicast": "http://224.0.0.1:{p}/",
    "user info": "http://127.0.0.1:{s}@127.0.0.2:{p}/",
    "user info with a fragment": "http://example.org%23@127.0.0.2:{p}/",
    "backslash": "http://127.0.0.2:{p}\\@127.0.0.1:{s}/",
    "tab and newline": "http://127.0.\t0.2:{p}\n/",
    "many slashes": "http:///127.0.0.2:{p}/",
    "own name": "http://{h}:{p}/",
}


@pytest.fixture
def forms(trap: Any, site: Any) -> dict[str, str]:
    places = {"p": str(trap.port), "s": str(site.port), "h": socket.gethostname()}
    found = {}
    for name, form in FORMS.items():
        found[name] = re.sub(r"\{([psh])\}", lambda match: places[match[1]], form)
    if socket.gethostbyname(socket.gethostname()) == "127.0.0.1":
        del found["own name"]  # that one is allowed here
    return found


@pytest.fixture(autouse=True)
def _nobody_is_caught(trap: Any) -> Any:
    yield
    caught, trap.caught[:] = list(trap.caught), []
    assert caught == []


@pytest.mark.slow
def test_a_scrape_of_any_of_them_is_refused(server: Any, forms: dict[str, str]) -> None:
    told = {name: server.ask("POST", "/v2/scrape", {"url": form, "timeout": 20000}) for name, form in forms.items()}
    assert {name: reply for name, reply in told.items() if reply.json["success"]} == {}
    assert {name: reply for name, reply in told.items() if "UNKNOWN_ERROR" in reply.text} == {}


@pytest.mark.slow
def test_a_redirect_to_any_of_them_ends_there(server: Any, site: Any, forms: dict[str, str]) -> None:
    """The second of two hops, to which the first, to an address that is allowed, gives no right."""
    for number, form in enumerate(forms.values()):
        site.redirect(f"/first/{number}", f"/second/{number}")
        site.redirect(
            f"/second/{number}", quote(form, safe=":/?#[]@!$&'()*+,;=%\\"), status=(301, 302, 303, 307, 308)[number % 5]
        )
    urls = [site.url(f"/first/{number}") for number in range(len(forms))]
    uid = server.post("/v2/batch/scrape", {"urls": urls})["id"]
    counts = server.ended(uid)["counts"]
    assert counts["done"] == 0, server.get(f"/api/crawls/{uid}/documents")
    assert counts["failed"] + counts["denied"] == len(forms)
    assert set(site.counts()) >= {f"/second/{number}" for number in range(len(forms))}


@pytest.mark.slow
def test_a_crawl_finds_none_of_them_by_links_robots_or_sitemaps(server: Any, site: Any, forms: dict[str, str]) -> None:
    # No home pages: those of other sites are not followed anyway.
    site.links({"/": ["/a", *(f"{form.rstrip('/')}/page" for form in forms.values())]})
    site.robots(
        "User-agent: *\nAllow: /\n" + "".join(f"Sitemap: {form}\n" for form in forms.values() if "\n" not in form)
    )
    site.sitemap("/sitemap.xml", [form for form in forms.values() if form.isprintable()], index=True)
    uid = server.post("/v2/crawl", {"url": site.url("/"), "allowExternalLinks": True})["id"]
    ended = server.ended(uid)
    assert ended["status"] == "completed"
    pages = [item["document"]["url"] for item in server.get(f"/api/crawls/{uid}/documents")["items"]]
    assert all(page.startswith(site.url("/")) for page in pages), pages
    assert site.url("/a") in pages
    assert ended["counts"]["failed"] > 20


@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml", "/"])
def test_a_file_of_a_site_that_redirects_inside_is_not_followed(server: Any, site: Any, trap: Any, path: str) -> None:
    site.redirect(path, f"http://127.0.0.2:{trap.port}{path}")
    uid = server.post("/v2/crawl", {"url": site.url("/")})["id"]
    server.ended(uid)
    assert site.counts()[path] >= 1


@pytest.mark.slow
def test_other_ways_in_are_closed_as_well(server: Any, forms: dict[str, str]) -> None:
    for path in ("/v1/scrape", "/v2/map", "/v1/map"):
        for name in ("decimal", "mapped", "NAT64", "metadata", "user info"):
            reply = server.ask("POST", path, {"url": forms[name], "timeout": 20000})
            assert reply.status != 200 or len(reply.json["links"]) <= 1, reply
    urls = [form for name, form in forms.items() if "user info" not in name]  # a list may name one user at most
    uid = server.post("/v1/batch/scrape", {"urls": urls, "ignoreInvalidURLs": True})["id"]
    assert server.ended(uid)["counts"]["done"] == 0


@pytest.mark.slow
def test_a_webhook_to_any_of_them_is_not_told(server: Any, site: Any, forms: dict[str, str]) -> None:
    """What is allowed for pages is not asked: the receivers have an allowance of their own."""
    started = {}
    for name, form in forms.items():
        webhook = {"url": form, "events": ["completed"]}
        reply = server.ask("POST", "/v2/crawl", {"url": site.url("/a"), "limit": 1, "webhook": webhook})
        if reply.status == 200:
            started[name] = reply.json["id"]
        else:
            assert reply.status == 400, reply
    assert len(started) > 20
    for name, uid in started.items():
        server.ended(uid)
        (attempt, *_further) = server.until(lambda uid=uid: server.get(f"/api/crawls/{uid}/deliveries")["items"])
        assert attempt["status"] is None, (name, attempt)
        assert attempt["final"], (name, attempt)


async def test_a_name_that_moves_inside_after_it_was_judged_is_not_followed(
    trap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection is judged by the address it is made to: whatever the name says a moment later."""
    looks = []

    async def lookup(_self: Resolver, host: str) -> list[Found]:
        looks.append(host)
        return [Found(socket.AF_INET, "192.0.2.1" if len(looks) == 1 else "127.0.0.2")]

    monkeypatch.setattr(Resolver, "lookup", lookup)
    fetcher = HttpFetcher()
    try:
        for _ in range(3):
            got = await fetcher.fetch(FetchRequest(url=f"http://rebinding.test:{trap.port}/", timeout_s=2))
            assert isinstance(got, FetchFailure)
    finally:
        await fetcher.close()
    assert looks
