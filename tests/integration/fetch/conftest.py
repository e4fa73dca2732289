"""A raw site on loopback that says exactly the bytes it is told to, and fetchers that are closed after."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from perseid.fetch.guard import Allowance
from perseid.fetch.http import HttpFetcher
from perseid.testing.listening import end_listening

Respond = Callable[[bytes, asyncio.StreamWriter], Awaitable[bool | None]]


class RawSite:
    """`heads` are the requests as they came; `connections` counts what was accepted, `ended` gets a mark at the end of each."""

    def __init__(self, respond: bytes | Respond) -> None:
        self.respond = respond
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.closed = asyncio.Event()
        self.ended: asyncio.Queue[None] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, context: ssl.SSLContext | None) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            keep: bool | None = True
            while keep:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                if isinstance(self.respond, bytes):
                    writer.write(self.respond)
                    keep = True
                else:
                    keep = await self.respond(head, writer)
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            self.closed.set()
            self.ended.put_nowait(None)
            writer.close()

    async def stop(self) -> None:
        assert self._server is not None
        await end_listening(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self.writers:
            writer.close()
        await self._server.wait_closed()
        await asyncio.sleep(0)


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[RawSite]]]:
    """`await serve(answer)`: bytes to say to each request, or a function of head and writer."""
    sites: list[RawSite] = []

    async def start(respond: bytes | Respond, *, tls: ssl.SSLContext | None = None) -> RawSite:
        site = RawSite(respond)
        sites.append(site)
        await site.start(tls)
        return site

    yield start
    for site in sites:
        await site.stop()


@pytest.fixture
async def make_fetcher() -> AsyncIterator[Callable[..., HttpFetcher]]:
    """Construct fetchers that are closed after the test."""
    fetchers: list[HttpFetcher] = []

    def make(**options: object) -> HttpFetcher:
        fetcher = HttpFetcher(**options)  # type: ignore[arg-type]
        fetchers.append(fetcher)
        return fetcher

    yield make
    for fetcher in fetchers:
        await fetcher.close()


@pytest.fixture
def fetcher(make_fetcher: Callable[..., HttpFetcher]) -> HttpFetcher:
    """A fetcher that may connect to loopback."""
    return make_fetcher(allowance=Allowance(allow_private=True))


@pytest.fixture
def page() -> Callable[..., bytes]:
    """The bytes of an HTTP answer."""

    def build(body: bytes = b"<p>hello</p>", *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
        if not any(line.lower().startswith("content-type") for line in headers):
            lines.append("Content-Type: text/html")
        return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1") + body

    return build


@pytest.fixture(scope="session")
def certificate() -> Path:
    """Key and self-signed certificate for `localhost` and `site.test`."""
    return Path(__file__).parent / "localhost.pem"


@pytest.fixture(scope="session")
def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture(scope="session")
def trusting_tls(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))
