"""Sites that mean harm: every admitted URL ends in a verdict, the crawl completes, memory and time stay bounded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import brotli
import pytest

from perseid.testing import Answer, Request, Site, compress, in_thread, zip_bomb
from perseid.testing.child import Ended, Watch, command, descendants, resident
from perseid.testing.result import Result, check

pytestmark = pytest.mark.slow

TIMEOUT_S = 150
PAGE_S = 4.0
SLACK_S = 4.0
"""Of a busy machine, beyond the time that a page may take."""
MOST_BYTES = 300_000_000
SETTINGS = {"PERSEID_FETCH__PAGE_TIMEOUT_S": str(PAGE_S), "PERSEID_FETCH__MAX_ATTEMPTS": "2"}
BOMB_BYTES = 400_000_000
HTML = {"Content-Type": "text/html"}


class Survived(NamedTuple):
    ended: Ended
    result: Result
    peak_bytes: int
    """Of the largest process."""
    codes: dict[str, str]
    """Failures by path."""


@pytest.fixture
def site() -> Iterator[Site]:
    with in_thread(Site()) as running:
        yield running


@pytest.fixture
def survive(site: Site, tmp_path: Path) -> Callable[..., Survived]:
    """Crawl the site from its front page, and assert what holds for every crawl."""

    def run(*arguments: str) -> Survived:
        out = tmp_path / "out"
        how = ("--json", "--out", str(out), *arguments)
        with command("crawl", site.url("/"), *how, folder=tmp_path, environment=SETTINGS) as running:

            def largest() -> float:
                return max((resident(pid) for pid in descendants(running.pid)), default=0)

            with Watch(largest, every_s=0.05) as memory:
                ended = running.wait(TIMEOUT_S)
        result = check(out)
        peak = int(max(value for _at, value in memory.samples))
        assert ended.status == 0, ended.stderr
        assert result.problems == []
        assert peak < MOST_BYTES
        assert "internal_error" not in result.failures.values()
        assert [request.path for request in site.requests if held_s(request) > PAGE_S + SLACK_S] == []
        return Survived(ended, result, peak, {url[len(site.origin) :]: code for url, code in result.failures.items()})

    return run


def held_s(request: Request) -> float:
    assert request.ended_s is not None, f"{request.path} is still being answered"
    return request.ended_s - request.at_s


def front(site: Site, *paths: str) -> None:
    """A front page that links to `paths`, which have scripts of their own, and to an honest page."""
    anchors = "".join(f'<p><a href="{path}">Somewhere</a></p>' for path in paths)
    site.page(
        "/", f"<title>Front</title><h1>Front</h1><p>Some text of the front page.</p>{anchors}<a href=/good>Good</a>"
    )
    site.page("/good", "<title>Good</title><h1>Good</h1><p>An honest page among all the others.</p>")


def paths(survived: Survived, site: Site) -> set[str]:
    return {url[len(site.origin) :] for url in survived.result.urls}


def test_redirects_without_end(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/a", "/self", "/grow/", "/chain/0")
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    site.redirect("/self", "/self")
    site.otherwise(lambda request: Answer(status=302, headers={"Location": onward(request.path)}))
    survived = survive()
    assert paths(survived, site) == {"/", "/good"}
    assert set(survived.codes) == {"/a", "/self", "/grow/", "/chain/0"}
    assert {survived.codes["/a"], survived.codes["/self"]} == {"redirect_loop"}
    assert len(site.requests) < 80


def onward(path: str) -> str:
    """One further in a chain, or a hundred letters longer."""
    chain, _, number = path.rpartition("/")
    return f"/chain/{int(number) + 1}" if chain == "/chain" else path + "x" * 100


def test_bombs_in_every_coding(site: Site, survive: Callable[..., Survived]) -> None:
    blanks = b" " * (BOMB_BYTES // 4)
    bombs = {
        "gzip": zip_bomb(BOMB_BYTES, start=b"<html><body>"),
        "br": brotli.compress(blanks, quality=5),
        "zstd": compress(blanks, "zstd"),
        "deflate": compress(blanks, "deflate"),
    }
    front(site, *(f"/{coding}" for coding in bombs))
    for coding, body in bombs.items():
        site.respond(f"/{coding}", headers={**HTML, "Content-Encoding": coding}, body=body)
    survived = survive()
    assert paths(survived, site) == {"/", "/good"}
    assert set(survived.codes) == {f"/{coding}" for coding in bombs}


def test_bodies_that_do_not_come(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/trickle", "/hang", "/late", "/endless", "/short", "/long", "/cut", "/reset", "/no-last-chunk")
    body = "<h1>Page</h1>" + "<p>Some words of a page that comes slowly.</p>" * 200
    site.page("/trickle", body, trickle_s=0.1)
    site.page("/hang", body, hang=True)
    site.page("/late", body, delay_s=60.0)
    site.page("/endless", body, endless=True)
    site.page("/short", body, content_length=len(body) + 1_000, close=True)
    site.page("/long", body, content_length=100, close=True)
    site.page("/cut", body, cut_after=500)
    site.page("/reset", body, cut_after=500, reset=True)
    site.page("/no-last-chunk", body, chunked=True, last_chunk=False, close=True)
    survived = survive()
    assert paths(survived, site) - {"/long"} == {"/", "/good"}
    assert {survived.codes["/trickle"], survived.codes["/hang"], survived.codes["/late"]} == {"timeout"}
    assert set(survived.codes) - {"/long"} == {
        "/trickle",
        "/hang",
        "/late",
        "/endless",
        "/short",
        "/cut",
        "/reset",
        "/no-last-chunk",
    }


def test_headers_without_measure(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/one", "/many", "/bytes", "/status", "/nonsense")
    body = "<h1>Page</h1><p>Below strange headers.</p>"
    site.respond("/one", headers={**HTML, "X-Long": "x" * 2_000_000}, body=body)
    site.respond("/many", headers=tuple((f"X-{n}", "y" * 50) for n in range(20_000)), body=body)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Odd: \xff\xc0\x80\r\nConnection: close\r\n\r\n"
    site.respond("/bytes", raw=head + body.encode())
    site.respond("/status", status=799, body=body)
    site.respond("/nonsense", raw=b"\x16\x03\x01" + random.Random(1).randbytes(4_000))
    survived = survive()
    assert paths(survived, site) >= {"/", "/good"}
    assert {"/one", "/many", "/nonsense"} <= set(survived.codes)


def test_bytes_that_are_no_text(site: Site, survive: Callable[..., Survived]) -> None:
    noise = random.Random(2).randbytes(300_000)
    pages: dict[str, tuple[str, bytes]] = {
        "/png": ("text/html", b"\x89PNG\r\n\x1a\n" + noise),
        "/elf": ("text/html", b"\x7fELF\x02\x01\x01" + bytes(9) + noise),
        "/noise": ("text/html; charset=utf-8", noise),
        "/pdf": ("application/pdf", b"%PDF-1.7\n" + noise),
        "/empty-pdf": ("application/pdf", b""),
        "/zip": ("text/html", b"PK\x03\x04" + noise),
        "/bogus": ("text/html; charset=martian", b"<h1>Caf\xe9</h1><p>ol\xe9 \xff\xfe</p>" * 20),
        "/wide": ("text/html; charset=utf-8", "<h1>Wide</h1><p>sixteen bits</p>".encode("utf-16-le") * 20),
        "/half": ("text/html; charset=shift_jis", b"<h1>\x82</h1><p>\x81\xff\x00\x83</p>" * 50),
        "/nul": ("text/html", b"<h1>N\0ul</h1><p>\0\0\0 and &#0; &#xD800; &#x110000;</p><a href='/\0x'>x</a>" * 20),
    }
    front(site, *pages)
    for path, (kind, body) in pages.items():
        site.respond(path, headers={"Content-Type": kind}, body=body)
    survived = survive()
    assert {"/", "/good", "/bogus"} <= paths(survived, site)
    assert not {"/png", "/elf", "/zip"} & paths(survived, site)


def test_documents_of_absurd_shape(site: Site, survive: Callable[..., Survived]) -> None:
    depth = 100_000
    shapes = {
        "/deep": "<div>" * depth + "bottom" + "</div>" * depth,
        "/inline": "<b><i><u>" * depth + "bottom",
        "/tables": "<table><tr><td>" * 20_000 + "bottom",
        "/lists": "<ul><li>" * 20_000 + "bottom",
        "/quotes": "<blockquote>" * 20_000 + "bottom",
        "/wide": "<table><tr>" + "<td colspan=1000 rowspan=65534>x" * 2_000,
        "/attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">text</p>",
        "/comment": "<!--" + "-" * 5_000_000,
        "/entities": "&amp;" * 1_000_000,
        "/script": "<script>" + "x" * 5_000_000,
        "/base": "<base href='javascript:x'><base href='//[::'><h1>Base</h1><a href='y'>y</a>",
        "/address": f"<a href='/{'y' * 500_000}'>far</a><a href='http://[::1'>broken</a><h1>Links</h1>",
    }
    front(site, *shapes)
    for path, body in shapes.items():
        site.page(path, f"<!doctype html><title>Shape</title><body>{body}")
    survived = survive()
    assert {"/", "/good", "/base", "/address"} <= paths(survived, site)
    assert paths(survived, site) | set(survived.codes) >= set(shapes)


def test_ten_megabytes_of_links(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/many", "/elsewhere")
    query = "of=" + "many-links" * 5
    site.page(
        "/many", "".join(f"<a href='/leaf/{n:06d}?{query}'>The leaf of number {n}</a><br>\n" for n in range(80_000))
    )
    site.page(
        "/elsewhere", "".join(f"<a href='http://h{n}.example/?{query}'>The host {n}</a><br>\n" for n in range(80_000))
    )
    site.otherwise(Answer(body="<h1>Leaf</h1><p>There is not much on a leaf.</p>"))
    survived = survive("--limit", "200")
    assert len(survived.result.urls) == 200
    assert survived.result.denied == {"EXTERNAL_LINK": 80_000, "LIMIT_REACHED": 80_000 + 4 - 200}


def test_a_calendar_and_a_folder_within_itself_end_as_traps(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/calendar/2026/01/", "/deep/")
    site.otherwise(endless)
    survived = survive()
    assert survived.result.denied["TRAP"] > 0
    assert len(survived.result.urls) < 1_000


def test_parameters_that_combine_without_end_stop_at_the_limit(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/shop?a=1")
    site.otherwise(endless)
    survived = survive("--limit", "500")
    assert len(survived.result.urls) == 500
    assert set(survived.result.denied) == {"TRAP", "LIMIT_REACHED"}


def endless(request: Request) -> Answer | None:
    """A calendar with a next and a previous month, filters that combine, and a folder that contains itself."""
    path = request.path
    if path.startswith("/calendar/"):
        year, month = map(int, path.strip("/").split("/")[1:3])
        months = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1)]
        links = [f"/calendar/{to_year}/{to_month + 1:02d}/" for to_year, to_month in months]
    elif path.startswith("/shop"):
        links = [f"{path}&{name}={value}" for name in "bcd" for value in range(2)]
    elif path.startswith("/deep/"):
        links = [f"{path}deep/"]
    else:
        return None
    anchors = "".join(f'<p><a href="{link.replace("&", "&amp;")}">{link}</a></p>' for link in links)
    return Answer(body=f"<title>{path[-60:]}</title><h1>Another one</h1><p>More of the same.</p>{anchors}")


def test_robots_of_fifty_megabytes(site: Site, survive: Callable[..., Survived]) -> None:
    front(site, "/private/a")
    rule = "Disallow: /no-such-path-{0:08d}/*/some*thing$\n"
    rules = "".join(rule.format(number) for number in range(1_000_000))
    site.robots(f"User-agent: *\nDisallow: /private/\n{rules}")
    assert len(rules) > 45_000_000
    survived = survive()
    assert paths(survived, site) == {"/", "/good"}
    assert survived.result.denied["ROBOTS_TXT"] == 1


def test_sitemaps_that_bomb_and_circle(site: Site, survive: Callable[..., Survived]) -> None:
    front(site)
    site.robots(
        f"Sitemap: {site.origin}/i0.xml\nSitemap: {site.origin}/bomb.xml.gz\nSitemap: {site.origin}/words.xml\nSitemap: {site.origin}/self.xml"
    )
    for number in range(3):
        site.sitemap(f"/i{number}.xml", [f"/i{(number + 1) % 3}.xml", f"/i{number}.xml", "/leaf.xml"], index=True)
    site.sitemap("/leaf.xml", ["/from-sitemap"])
    site.page("/from-sitemap", "<h1>Listed</h1><p>Only the sitemap knows of this page.</p>")
    site.sitemap("/self.xml", ["/self.xml"], index=True)
    start = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    site.respond("/bomb.xml.gz", headers={"Content-Type": "application/gzip"}, body=zip_bomb(BOMB_BYTES, start=start))
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol"}">' for n in range(12))
    site.respond(
        "/words.xml",
        headers={"Content-Type": "application/xml"},
        body=f"<?xml version='1.0'?><!DOCTYPE x [{entities}]><urlset><url><loc>/&e11;</loc></url></urlset>",
    )
    survived = survive()
    assert {"/", "/good", "/from-sitemap"} <= paths(survived, site)
    assert max(n for path, n in site.counts().items() if path.endswith(".xml")) <= 2
