"""The scriptable site, met by a client that sees every byte."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
import zlib

import pytest

from perseid.testing import Answer, Request, Site, compress, in_thread, zip_bomb
from perseid.testing.synthetic import SyntheticSite


class Client:
    """One connection; reads heads and bodies by Content-Length or to the end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> None:
        headers = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in lines[1:] if line]
        return int(lines[0].split()[1]), {name.lower(): value for name, value in pairs}

    async def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        self.send(path, **headers)
        status, fields = await self.head()
        return status, fields, await self.reader.readexactly(int(fields["content-length"]))


async def connect(port: int) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", port))


@pytest.fixture
async def site():
    async with Site("docs.test") as running:
        yield running


@pytest.fixture
async def client(site: Site):
    opened = await connect(site.port)
    yield opened
    opened.writer.close()


async def test_a_page_is_served_and_everything_else_is_404(site: Site, client: Client) -> None:
    site.page("/a", "<p>hello")
    assert await client.get("/a") == (
        200,
        {"content-type": "text/html; charset=utf-8", "content-length": "8"},
        b"<p>hello",
    )
    assert (await client.get("/b"))[0] == 404


async def test_linked_pages_exist_and_link(site: Site, client: Client) -> None:
    site.links({"/": ["/a", "/b?x=1&y=2", "https://other.example/"], "/a": ["/"]})
    body = (await client.get("/"))[2]
    assert b'href="/a"' in body
    assert b'href="/b?x=1&amp;y=2"' in body
    assert b'href="https://other.example/"' in body
    assert (await client.get("/b?x=1&y=2"))[0] == 200
    assert b'href="/"' in (await client.get("/a"))[2]


async def test_a_path_without_its_query_answers_for_all_queries(site: Site, client: Client) -> None:
    site.page("/a", "any")
    site.page("/a?x=1", "one")
    assert (await client.get("/a?x=1"))[2] == b"one"
    assert (await client.get("/a?x=2"))[2] == b"any"


async def test_a_sequence_moves_on_and_stays_at_its_end(site: Site, client: Client) -> None:
    site.sequence("/x", [(429, {"Retry-After": "2"}), Answer(status=503), (200, {}, "ok")])
    first = await client.get("/x")
    assert (first[0], first[1]["retry-after"]) == (429, "2")
    assert [(await client.get("/x"))[0] for _ in range(3)] == [503, 200, 200]


async def test_redirects_and_robots(site: Site, client: Client) -> None:
    site.redirect("/old", "/new", 301)
    site.robots("User-agent: *\nDisallow: /p\n")
    status, headers, _ = await client.get("/old")
    assert (status, headers["location"]) == (301, "/new")
    status, headers, body = await client.get("/robots.txt")
    assert (status, headers["content-type"], body[-3:]) == (200, "text/plain", b"/p\n")


async def test_a_sitemap_names_the_host_that_was_asked(site: Site, client: Client) -> None:
    site.sitemap("/sitemap.xml", ["/a", "https://o.example/?a=1&b"], gzipped=True)
    body = gzip.decompress((await client.get("/sitemap.xml", Host="x.test:81"))[2])
    assert b"<loc>http://x.test:81/a</loc>" in body
    assert b"<loc>https://o.example/?a=1&amp;b</loc>" in body


async def test_a_handler_can_make_an_endless_site(site: Site, client: Client) -> None:
    site.otherwise(lambda request: Answer(body=f'<a href="{request.path}/n">next</a>'))
    assert b'"/q/n/n"' in (await client.get("/q/n"))[2]


async def test_a_handler_may_decline(site: Site, client: Client) -> None:
    site.handle("/h", lambda request: None)
    assert (await client.get("/h"))[0] == 404


async def test_hosts_are_told_apart_by_port_and_by_name(site: Site, client: Client) -> None:
    docs = site.host("docs.test")
    docs.page("/", "docs")
    site.page("/", "main")
    assert docs.port != site.port
    other = await connect(docs.port)
    assert (await other.get("/"))[2] == b"docs"
    other.writer.close()
    assert (await client.get("/"))[2] == b"main"
    assert (await client.get("/", Host=f"docs.test:{site.port}"))[2] == b"docs"
    assert site.counts("docs.test") == {"/": 2}
    assert site.counts() == {"/": 3}


async def test_the_site_plays_a_proxy(site: Site, client: Client) -> None:
    site.host("docs.test").page("/a?b=http://x", "docs")
    assert (await client.get("http://docs.test/a?b=http://x"))[2] == b"docs"
    assert site.counts("docs.test") == {"/a?b=http://x": 1}


async def test_the_log_holds_what_was_sent(site: Site, client: Client) -> None:
    before = time.monotonic()
    client.send("/hook?a", "POST", b'{"x":1}', X_Token="t")
    await client.head()
    request = site.requests[0]
    assert (request.method, request.path, request.bare_path) == ("POST", "/hook?a", "/hook")
    assert (request.headers["x-token"], request.body) == ("t", b'{"x":1}')
    assert before <= request.at_s <= request.ended_s <= time.monotonic()


async def test_pipelined_requests_are_answered_in_order(site: Site, client: Client) -> None:
    site.page("/slow", "s", delay_s=0.01)
    site.page("/fast", "f")
    client.send("/slow")
    client.send("/fast")
    assert [(await client.head(), await client.reader.readexactly(1))[1] for _ in range(2)] == [b"s", b"f"]


async def test_an_answer_may_wait_for_an_event(site: Site, client: Client) -> None:
    opened = asyncio.Event()
    site.page("/late", "late", after=opened)
    asked = asyncio.create_task(client.get("/late"))
    await site.wait_for("/late")
    assert not asked.done()
    opened.set()
    assert (await asked)[2] == b"late"


async def test_concurrency_is_counted(site: Site) -> None:
    site.respond("/hang", hang=True)
    clients = [await connect(site.port) for _ in range(3)]
    for number, client in enumerate(clients):
        client.send("/hang")
        await site.wait_for("/hang", number + 1)
    assert [request.concurrent for request in site.requests] == [1, 2, 3]
    assert (site.peak(), site.peak("docs.test")) == (3, 0)
    for client in clients:
        client.writer.close()


async def test_waiting_ends_by_signal_or_in_a_timeout(site: Site, client: Client) -> None:
    waiting = asyncio.create_task(site.wait_for("/a", 2))
    await client.get("/a")
    assert not waiting.done()
    await client.get("/a")
    await waiting
    with pytest.raises(TimeoutError):
        await site.wait_for("/never", timeout_s=0.01)


async def test_a_body_trickles(site: Site, client: Client) -> None:
    site.respond("/t", body="abc", trickle_s=0.01)
    client.send("/t")
    assert (await client.head())[1]["content-length"] == "3"
    pieces = [await client.reader.read(99) for _ in range(3)]
    assert pieces == [b"a", b"b", b"c"]


async def test_a_chunked_body_may_lack_its_last_chunk(site: Site, client: Client) -> None:
    site.respond("/ok", body="abc", chunked=True)
    site.respond("/cut", body="abc", chunked=True, last_chunk=False)
    client.send("/ok")
    client.send("/cut")
    assert (await client.head())[1]["transfer-encoding"] == "chunked"
    assert await client.reader.readexactly(13) == b"3\r\nabc\r\n0\r\n\r\n"
    await client.head()
    assert await client.reader.read() == b"3\r\nabc\r\n"


async def test_content_length_may_lie(site: Site, client: Client) -> None:
    site.respond("/lie", body="abc", content_length=10)
    client.send("/lie")
    assert (await client.head())[1]["content-length"] == "10"
    assert await client.reader.read() == b"abc"


async def test_a_body_may_be_cut(site: Site, client: Client) -> None:
    site.respond("/cut", body="abcdef", cut_after=2)
    client.send("/cut")
    assert (await client.head())[1]["content-length"] == "6"
    assert await client.reader.read() == b"ab"


@pytest.mark.parametrize("cut_after", [None, 2])
async def test_a_connection_may_be_reset(site: Site, client: Client, cut_after: int | None) -> None:
    site.respond("/r", body="abcdef", reset=True, cut_after=cut_after)
    client.send("/r")
    with pytest.raises(ConnectionResetError):
        await client.reader.readexactly(10_000)


async def test_a_body_may_never_end(site: Site, client: Client) -> None:
    site.respond("/e", body="x" * 1000, endless=True)
    client.send("/e")
    await client.head()
    assert len(await client.reader.readexactly(3_000_000)) == 3_000_000


async def test_raw_bytes_are_sent_as_they_are(site: Site, client: Client) -> None:
    site.respond("/raw", raw=b"HTTP/1.1 banana\r\n\r\n")
    client.send("/raw")
    assert await client.reader.read() == b"HTTP/1.1 banana\r\n\r\n"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_bodies_are_compressed_and_labelled(site: Site, client: Client, coding) -> None:
    site.page("/z", "text" * 100, coding=coding)
    _, headers, body = await client.get("/z")
    assert headers["content-encoding"] == coding
    assert body == compress(b"text" * 100, coding)
    assert len(body) < 100


def test_a_bomb_is_small_and_inflates_to_its_size() -> None:
    bomb = zip_bomb(20_000_000, start=b"<html>")
    assert len(bomb) < 40_000
    inflated = zlib.decompress(bomb, 31)
    assert (len(inflated), inflated[:7]) == (20_000_000, b"<html> ")


async def test_head_and_304_have_no_body(site: Site, client: Client) -> None:
    site.page("/a", "abc")
    site.respond("/n", 304)
    client.send("/a", "HEAD")
    assert (await client.head())[1]["content-length"] == "3"
    client.send("/n")
    assert "content-length" not in (await client.head())[1]
    assert (await client.get("/a"))[2] == b"abc"


async def test_a_stopped_site_refuses_and_returns_on_its_port() -> None:
    site = Site()
    site.page("/", "up")
    await site.start()
    client = await connect(site.port)
    client.send("/")
    await client.head()
    await site.stop()
    with pytest.raises(ConnectionRefusedError):
        await connect(site.port)
    port = site.port
    async with site:
        assert site.port == port
        again = await connect(port)
        assert (await again.get("/"))[2] == b"up"
        again.writer.close()
    client.writer.close()


def test_a_site_in_a_thread_serves_blocking_code() -> None:
    with in_thread(Site()) as site:
        site.page("/", "hi")
        with urllib.request.urlopen(site.url("/"), timeout=10) as answer:
            assert answer.read() == b"hi"
        site.wait("/", timeout_s=10)
        assert site.counts() == {"/": 1}
        with pytest.raises(TimeoutError, match="/x was asked for 0 of 1"):
            site.wait("/x", timeout_s=0.01)


def test_a_request_knows_its_path() -> None:
    assert Request(0.0, "GET", "h", "/a?b?c", {}).bare_path == "/a"


def test_the_synthetic_site_is_a_tree_of_all_its_pages() -> None:
    command = [sys.executable, "-W", "error", "-m", "perseid.testing.site", "--pages", "30", "--links", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            origin = process.stdout.readline().strip().rstrip("/")
            found, waiting = {"/"}, ["/"]
            while waiting:
                with urllib.request.urlopen(origin + waiting.pop(), timeout=10) as answer:
                    body = answer.read().decode()
                new = {part.split('"')[0] for part in body.split('href="')[1:]} - found
                found |= new
                waiting += new
            with urllib.request.urlopen(origin + "/-/stats", timeout=10) as answer:
                stats = json.load(answer)
        finally:
            process.terminate()
    assert found == {"/"} | {f"/p/{number}" for number in range(1, 30)}
    assert stats == {"requests": 31, "pages": 30, "distinct": 30, "most": 1}


def test_the_synthetic_site_lists_all_its_pages_in_sitemaps() -> None:
    site = SyntheticSite(50_002, 10, 100, sitemap=True)
    body = site.answer(b"/sitemap.xml", b"h.test:81")
    assert body.count(b"<loc>") == 2
    assert b"<loc>http://h.test:81/sitemap-1.xml</loc>" in body
    assert site.answer(b"/sitemap-0.xml", b"h").count(b"<loc>") == 50_000
    assert site.answer(b"/sitemap-1.xml", b"h").endswith(
        b"<urlset><url><loc>http://h/p/50000</loc></url><url><loc>http://h/p/50001</loc></url></urlset>"
    )
    assert b"Sitemap: http://h/sitemap.xml" in site.answer(b"/robots.txt", b"h")


def test_without_being_told_to_the_synthetic_site_has_no_sitemap() -> None:
    site = SyntheticSite(3, 10, 100)
    assert site.answer(b"/sitemap.xml", b"h").startswith(b"HTTP/1.1 404")
    assert b"Sitemap" not in site.answer(b"/robots.txt", b"h")


@pytest.mark.parametrize("target", [b"", b"/p/", b"/p/3", b"/p/-1", b"/p/99999999999999999999", b"/x", b"/p/\xff"])
def test_the_synthetic_site_has_no_further_pages(target: bytes) -> None:
    assert SyntheticSite(3, 10, 100).answer(target, b"h").startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize("turns", range(6))
async def test_a_site_that_stops_leaves_no_socket_of_those_who_have_just_come(turns: int) -> None:
    site = Site()
    await site.start()
    clients = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(3)]
    for _ in range(turns):  # as far as accepting has come when it stops
        await asyncio.sleep(0)
    await site.stop()
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        gc.collect()
    for client in clients:
        client.close()
    assert left == []
