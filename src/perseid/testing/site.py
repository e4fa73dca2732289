"""A web site to script, on loopback: pages, redirects, robots, sitemaps, and every way to misbehave.

Run as a program it serves a large synthetic site instead (see `perseid.testing.synthetic`).
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from xml.sax.saxutils import escape

from perseid.testing.answer import Answer, Request, compress
from perseid.testing.connection import Connection
from perseid.testing.listening import end_listening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Handler: TypeAlias = Callable[[Request], Answer | None]
    Scripted: TypeAlias = Answer | tuple[Any, ...] | Handler

_LOOPBACK = "127.0.0.1"
_NOT_FOUND = Answer(status=404, body="<title>Not found</title><h1>Not found</h1>")


class Pages:
    """The script of one host. Paths are matched with their query first, then without it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.port = 0
        self._routes: dict[str, list[Answer | Handler]] = {}
        self._fallback: Answer | Handler = _NOT_FOUND

    @property
    def origin(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}"

    def url(self, path: str = "/") -> str:
        """The address of a path, by this host's own port."""
        return self.origin + path

    def respond(
        self,
        path: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        **behaviour: Any,
    ) -> None:
        """Answer `path` so from now on; `behaviour` are further fields of `Answer`."""
        self._routes[path] = [Answer(status=status, headers=headers or {}, body=body, **behaviour)]

    def page(self, path: str, html: str, **behaviour: Any) -> None:
        """An HTML page."""
        self.respond(path, body=html, **behaviour)

    def links(self, graph: Mapping[str, Iterable[str]]) -> None:
        """Pages that link to one another, and targets that have no entry of their own as pages without links.

        Targets that don't begin with a slash are written as they are, and get no page.
        """
        for path, targets in graph.items():
            listed = list(targets)
            anchors = "".join(f'<li><a href="{escape(to)}">Page {escape(to)}</a></li>' for to in listed)
            self.page(path, _html(path, f"<ul>{anchors}</ul>"))
            for to in listed:
                bare = to.partition("#")[0]
                if bare.startswith("/") and not bare.startswith("//") and bare not in graph:
                    self.page(bare, _html(bare, ""))

    def sequence(self, path: str, answers: Sequence[Scripted]) -> None:
        """Answers in turn, the last one from then on: `Answer`s, handlers or (status, headers, body)."""
        self._routes[path] = [_scripted(answer) for answer in answers]

    def handle(self, path: str, handler: Handler) -> None:
        """Ask `handler` each time; it may return None for 404. It must be quick: it runs in the loop."""
        self._routes[path] = [handler]

    def otherwise(self, answer: Scripted) -> None:
        """For paths that have no script: a handler makes endless sites. At first it is a 404."""
        self._fallback = _scripted(answer)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.respond(path, status, {"Location": to})

    def robots(self, text: str, status: int = 200) -> None:
        self.respond("/robots.txt", status, {"Content-Type": "text/plain"}, text)

    def sitemap(self, path: str, urls: Iterable[str], *, index: bool = False, gzipped: bool = False) -> None:
        """A sitemap, or an index of sitemaps. Paths become addresses under the Host that is asked."""
        listed = list(urls)
        outer, inner = ("sitemapindex", "sitemap") if index else ("urlset", "url")
        kind = {"Content-Type": "application/gzip" if gzipped else "application/xml"}

        def answer(request: Request) -> Answer:
            origin = f"http://{request.headers.get('host', '')}"
            entries = "".join(
                f"<{inner}><loc>{escape(origin + url if url.startswith('/') else url)}</loc></{inner}>"
                for url in listed
            )
            namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
            body = f'<?xml version="1.0" encoding="UTF-8"?><{outer} xmlns="{namespace}">{entries}</{outer}>'
            packed = compress(body.encode(), "gzip") if gzipped else body.encode()
            return Answer(headers=kind, body=packed)

        self.handle(path, answer)

    def answer(self, request: Request) -> Answer:
        """What the script says now; a sequence moves on."""
        route = self._routes.get(request.path) or self._routes.get(request.bare_path)
        step = self._fallback if route is None else route.pop(0) if len(route) > 1 else route[0]
        if isinstance(step, Answer):
            return step
        return step(request) or _NOT_FOUND


class Site(Pages):
    """Serves one or more hosts while its `async with` block runs.

    Each host has a port of its own on 127.0.0.1; a Host header that names one of them (with any port)
    reaches it through every port, and so does a client that takes the site for its HTTP proxy.

        async with Site() as site:
            site.links({"/": ["/a", "/b"]})
            ...  # fetch site.url("/")
            await site.wait_for("/b")
    """

    def __init__(self, *further_hosts: str, port: int = 0) -> None:
        super().__init__("site")
        self.port = port
        self.requests: list[Request] = []
        """Everything received, in order of arrival."""
        self.connections: set[Connection] = set()
        self._hosts: dict[str, Pages] = {"site": self} | {name: Pages(name) for name in further_hosts}
        self._servers: list[asyncio.Server] = []
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._waiters: list[tuple[str | None, int, Callable[[], object]]] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def host(self, name: str) -> Pages:
        """The script of one of the further hosts."""
        return self._hosts[name]

    async def start(self) -> None:
        """Listen; after a `stop` on the same ports as before."""
        loop = asyncio.get_running_loop()
        for name, pages in self._hosts.items():
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_LOOPBACK, pages.port))
            pages.port = listener.getsockname()[1]
            server = await loop.create_server(self._factory(name), sock=listener, backlog=1024)
            self._servers.append(server)

    async def stop(self) -> None:
        """Drop all connections and refuse further ones."""
        await end_listening(*self._servers)
        await asyncio.gather(*[connection.drop() for connection in list(self.connections)])
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    def counts(self, host: str | None = None) -> dict[str, int]:
        """How often each path (with query) was asked for, of all hosts or of one."""
        return dict(Counter(request.path for request in list(self.requests) if host in {None, request.host}))

    def peak(self, host: str | None = None) -> int:
        """The most requests that were being answered at once."""
        seen = list(self.requests)
        if host is None:
            return max((request.concurrent for request in seen), default=0)
        return max((request.concurrent_host for request in seen if request.host == host), default=0)

    async def wait_for(self, path: str | None = None, n: int = 1, timeout_s: float = 10.0) -> None:
        """Return once `path` (None: anything) was asked for `n` times; raises TimeoutError. From any loop."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()
        self._watch(path, n, lambda: loop.call_soon_threadsafe(arrived.set))
        async with asyncio.timeout(timeout_s):
            await arrived.wait()

    def wait(self, path: str | None = None, n: int = 1, timeout_s: float = 10.0) -> None:
        """`wait_for` without a loop, for a site that runs in a thread."""
        arrived = threading.Event()
        self._watch(path, n, arrived.set)
        if not arrived.wait(timeout_s):
            raise TimeoutError(f"{path or 'any path'} was asked for {self._seen(path)} of {n} times")

    def arrived(self, request: Request, port_host: str) -> Answer:
        """Log a request and find its answer. For connections only."""
        named = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
        request.host = named if named in self._hosts else port_host
        self._open[request.host] += 1
        request.concurrent = self._open.total()
        request.concurrent_host = self._open[request.host]
        with self._lock:
            self.requests.append(request)
            due = [waiter for waiter in self._waiters if self._seen(waiter[0]) >= waiter[1]]
            self._waiters = [waiter for waiter in self._waiters if waiter not in due]
        for _, _, call in due:
            call()
        return self._hosts[request.host].answer(request)

    def ended(self, request: Request) -> None:
        """For connections only."""
        self._open[request.host] -= 1
        request.ended_s = time.monotonic()

    def _watch(self, path: str | None, n: int, call: Callable[[], object]) -> None:
        with self._lock:
            if self._seen(path) < n:
                self._waiters.append((path, n, call))
                return
        call()

    def _seen(self, path: str | None) -> int:
        return sum(path in {None, request.path} for request in self.requests)

    def _factory(self, name: str) -> Callable[[], Connection]:
        def make_request(method: str, path: str, headers: dict[str, str], body: bytes) -> Request:
            return Request(time.monotonic(), method, name, path, headers, body)

        return lambda: Connection(self, name, make_request)


@contextmanager
def in_thread(site: Site) -> Iterator[Site]:
    """Run a site in a thread of its own, for code under test that blocks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="perseid-test-site", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(site.start(), loop).result()
        yield site
    finally:
        asyncio.run_coroutine_threadsafe(site.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _scripted(answer: Scripted) -> Answer | Handler:
    if isinstance(answer, tuple):
        return Answer(**dict(zip(("status", "headers", "body"), answer, strict=False)))
    return answer


def _html(path: str, content: str) -> str:
    name = escape(path)
    return (
        f"<!doctype html><html lang=en><head><title>Page {name}</title></head>"
        f"<body><main><h1>Page {name}</h1><p>This is the text of the page at {name}.</p>{content}</main></body>"
        "</html>"
    )


if __name__ == "__main__":
    from perseid.testing.synthetic import main

    main()
