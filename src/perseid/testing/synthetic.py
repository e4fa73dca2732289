"""A large made-up site that costs next to nothing to serve, in a process of its own, for benchmarks.

Page i links to pages i*k+1 … i*k+k, back to its parent and the front page, and across to one more. So a crawl
from `/` finds all N pages in about log_k(N) steps. `/-/stats` tells what was asked for, as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXT = (
    "the orchard keeps its old walls and the river runs below them where boats lie in summer "
    "while people of the town bring bread and fruit to the market each morning and talk about weather"
)
_PER_FILE = 50_000
_HEAD = b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"


class SyntheticSite:
    """Makes answers from request targets; `seen` counts the requests of each page."""

    def __init__(self, pages: int, links: int, page_bytes: int, *, sitemap: bool = False) -> None:
        self.pages = pages
        self.seen = bytearray(pages)
        self.requests = 0
        self._links = links
        self._sitemap = sitemap
        self._filler = _filler(page_bytes)

    def answer(self, target: bytes, host: bytes) -> bytes:
        self.requests += 1
        if target == b"/":
            return self._page(0)
        if target.startswith(b"/p/"):
            number = target[3:]
            if number.isdigit() and len(number) < 12 and int(number) < self.pages:
                return self._page(int(number))
        elif target == b"/robots.txt":
            listed = b"Sitemap: http://%s/sitemap.xml\n" % host if self._sitemap else b""
            return _whole(200, b"OK", b"text/plain", b"User-agent: *\nDisallow: /-/\n" + listed)
        elif target == b"/-/stats":
            return _whole(200, b"OK", b"application/json", json.dumps(self.stats()).encode())
        elif target.startswith(b"/sitemap") and self._sitemap:
            return _whole(200, b"OK", b"application/xml", self._sitemap_file(target, host))
        return _whole(404, b"Not Found", b"text/html", b"<title>Not found</title>")

    def _sitemap_file(self, target: bytes, host: bytes) -> bytes:
        """`/sitemap.xml` is the index of `/sitemap-0.xml` and so on, of 50,000 pages each."""
        part = target.removeprefix(b"/sitemap-").removesuffix(b".xml")
        if not part.isdigit():
            files = range(-(-self.pages // _PER_FILE))
            entries = b"".join(b"<sitemap><loc>http://%s/sitemap-%d.xml</loc></sitemap>" % (host, n) for n in files)
            return b"<sitemapindex>" + entries + b"</sitemapindex>"
        first = int(part) * _PER_FILE
        numbers = range(first, min(first + _PER_FILE, self.pages))
        entries = b"".join(b"<url><loc>http://%s/%s</loc></url>" % (host, b"p/%d" % n if n else b"") for n in numbers)
        return b"<urlset>" + entries + b"</urlset>"

    def stats(self) -> dict[str, int]:
        """Requests in all, pages asked for at least once, and the most for one page (capped at 255)."""
        return {
            "requests": self.requests,
            "pages": self.pages,
            "distinct": self.pages - self.seen.count(0),
            "most": max(self.seen, default=0),
        }

    def _page(self, number: int) -> bytes:
        if self.seen[number] < 255:
            self.seen[number] += 1
        first = number * self._links + 1
        linked = range(first, min(first + self._links, self.pages))
        targets = [(number - 1) // self._links if number else 0, (number * 7919 + 1) % self.pages, *linked]
        anchors = b"".join(b'<li><a href="/p/%d">Page %d</a></li>' % (to, to) for to in targets if to)
        body = (
            b"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page %d</title></head><body>"
            b'<nav><a href="/">Home</a></nav><main><h1>Page %d</h1>%s<ul>%s</ul></main></body></html>'
        ) % (number, number, self._filler, anchors)
        return _whole(200, b"OK", b"text/html; charset=utf-8", body)


class _Connection(asyncio.Protocol):
    """As lean as HTTP/1.1 gets: GET only, keep-alive always, pipelining welcome."""

    def __init__(self, site: SyntheticSite, delay_s: float) -> None:
        self._site = site
        self._delay_s = delay_s
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            line = head.split(b"\r\n", 1)[0].split(b" ")
            answer = self._site.answer(line[1] if len(line) > 1 else b"", _host(head))
            if self._delay_s:
                asyncio.get_running_loop().call_later(self._delay_s, self._send, answer)
            else:
                self._send(answer)

    def _send(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed; the first line of stdout is the address."""
    parser = argparse.ArgumentParser(prog="python -m perseid.testing.site", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--links", type=int, default=20, help="new pages that each page links to")
    parser.add_argument("--page-bytes", type=int, default=4_000, help="text on each page")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="before each answer")
    parser.add_argument("--sitemap", action="store_true", help="offer sitemaps, named by robots.txt")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_serve(parser.parse_args(arguments)))


async def _serve(options: argparse.Namespace) -> None:
    site = SyntheticSite(options.pages, options.links, options.page_bytes, sitemap=options.sitemap)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(site, options.delay_ms / 1_000), options.host, options.port, backlog=4096
    )
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"http://{options.host}:{port}/\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


def _whole(status: int, reason: bytes, kind: bytes, body: bytes) -> bytes:
    return _HEAD % (status, reason, kind, len(body)) + body


def _host(head: bytes) -> bytes:
    at = head.lower().find(b"\r\nhost:")
    return head[at + 7 :].split(b"\r\n", 1)[0].strip() if at >= 0 else b"127.0.0.1"


def _filler(size: int) -> bytes:
    words = _TEXT.split()
    paragraphs: list[str] = []
    length = 0
    while length < size:
        start = len(paragraphs)
        chosen = [words[(start * 7 + n * (1 + start % 3)) % len(words)] for n in range(60)]
        paragraphs.append(f"<p>{' '.join(chosen).capitalize()}.</p>")
        length += len(paragraphs[-1])
    return "".join(paragraphs).encode()
