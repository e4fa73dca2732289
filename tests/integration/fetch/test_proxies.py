"""Real proxies, HTTP and SOCKS5, small and written here: what they are told, and how their failures read."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from perseid.fetch.guard import Allowance
from perseid.fetch.pool import PoolOptions
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response
from perseid.testing.listening import end_listening

SECRET = "s3cr%40t"


class TestProxy:
    """`asked` lists the targets as the client put them; every target leads to `site_port` on loopback."""

    __test__ = False

    def __init__(self, site_port: int, *, credentials: str | None = None) -> None:
        self.site_port = site_port
        self.credentials = credentials
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, kind: str) -> None:
        talk = self._socks if kind == "socks5" else self._http

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._guarded(talk, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        await end_listening(self._server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        await asyncio.sleep(0)

    async def _guarded(self, talk, reader, writer) -> None:
        try:
            await talk(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.asked.append(f"{method} {target}")
        if self.credentials is not None:
            wanted = base64.b64encode(self.credentials.encode())
            if b"proxy-authorization: basic " + wanted.lower() not in head.lower():
                writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
                return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.site_port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            far_writer.write(head.replace(target.encode(), path.encode(), 1))
        await self._join(reader, writer, far_reader, far_writer)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if self.credentials is not None:
            if 2 not in methods:
                writer.write(b"\x05\xff")
                return
            writer.write(b"\x05\x02")
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            (length,) = await reader.readexactly(1)
            password = await reader.readexactly(length)
            if f"{user.decode()}:{password.decode()}" != self.credentials:
                writer.write(b"\x01\x01")
                return
            writer.write(b"\x01\x00")
        else:
            writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            (length,) = await reader.readexactly(1)
            host = (await reader.readexactly(length)).decode()
        else:
            size, family = (4, socket.AF_INET) if kind == 1 else (16, socket.AF_INET6)
            host = socket.inet_ntop(family, await reader.readexactly(size))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        if host == "refused.test":
            writer.write(b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.site_port)
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        await self._join(reader, writer, far_reader, far_writer)

    async def _join(self, reader, writer, far_reader, far_writer) -> None:
        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
            sink.close()

        try:
            await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
        finally:
            far_writer.close()


@pytest.fixture
async def proxied() -> AsyncIterator[Callable[..., Awaitable[TestProxy]]]:
    proxies: list[TestProxy] = []

    async def start(kind: str, site_port: int, *, credentials: str | None = None) -> TestProxy:
        proxy = TestProxy(site_port, credentials=credentials)
        proxies.append(proxy)
        await proxy.start(kind)
        return proxy

    yield start
    for proxy in proxies:
        await proxy.stop()


def failed(got: object, code: FailureCode) -> FetchFailure:
    assert isinstance(got, FetchFailure), got
    assert got.code is code, got
    return got


async def test_a_plain_page_through_an_http_proxy(serve, page, proxied, fetcher):
    site = await serve(page(b"through"))
    proxy = await proxied("http", site.port)
    url = f"http://localhost:{site.port}/a?b=c|d"
    got = await fetcher.fetch(FetchRequest(url=url, proxy=f"http://127.0.0.1:{proxy.port}"))
    assert isinstance(got, Response), got
    assert got.body == b"through"
    assert proxy.asked == [f"GET {url}"]


async def test_https_through_an_http_proxy_is_told_the_judged_address(
    serve, page, proxied, make_fetcher, server_tls, trusting_tls
):
    site = await serve(page(b"through"), tls=server_tls)
    proxy = await proxied("http", site.port)
    fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(ssl_context=trusting_tls))
    for _ in range(2):
        got = await fetcher.fetch(
            FetchRequest(url=f"https://localhost:{site.port}/x", proxy=f"http://127.0.0.1:{proxy.port}")
        )
        assert isinstance(got, Response), got
        assert got.url == f"https://localhost:{site.port}/x"
    assert proxy.asked == [f"CONNECT 127.0.0.1:{site.port}"]
    assert all(f"Host: localhost:{site.port}".encode() in head for head in site.heads)


async def test_a_certificate_is_checked_against_the_name_behind_a_proxy(
    serve, page, proxied, make_fetcher, server_tls, trusting_tls
):
    site = await serve(page(), tls=server_tls)
    for kind, scheme in (("http", "http"), ("socks5", "socks5")):
        proxy = await proxied(kind, site.port)
        fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(ssl_context=trusting_tls))
        got = await fetcher.fetch(
            FetchRequest(url="https://127.0.0.1:8443/", proxy=f"{scheme}://127.0.0.1:{proxy.port}")
        )
        failed(got, FailureCode.TLS)


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_certificates_behind_a_proxy_may_go_unchecked_too(serve, page, proxied, fetcher, server_tls, kind):
    site = await serve(page(b"through"), tls=server_tls)
    proxy = await proxied(kind, site.port)
    at = f"{kind}://127.0.0.1:{proxy.port}"
    got = await fetcher.fetch(FetchRequest(url=f"https://127.0.0.1:{site.port}/", proxy=at, verify_tls=False))
    assert isinstance(got, Response), got
    assert got.body == b"through"


@pytest.mark.parametrize("tls", [False, True])
async def test_pages_through_socks5(serve, page, proxied, make_fetcher, server_tls, trusting_tls, tls):
    site = await serve(page(b"through"), tls=server_tls if tls else None)
    proxy = await proxied("socks5", site.port, credentials="user:s3cr@t")
    fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(ssl_context=trusting_tls))
    scheme = "https" if tls else "http"
    for _ in range(3):
        got = await fetcher.fetch(
            FetchRequest(
                url=f"{scheme}://localhost:{site.port}/x",
                proxy=f"socks5://user:{SECRET}@127.0.0.1:{proxy.port}",
            )
        )
        assert isinstance(got, Response), got
        assert got.body == b"through"
    assert proxy.asked == [f"127.0.0.1:{site.port}"]
    assert f"Host: localhost:{site.port}".encode() in site.heads[0]


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_trusted_proxy_is_told_the_name(serve, page, proxied, make_fetcher, kind):
    site = await serve(page(b"through"))
    proxy = await proxied(kind, site.port)
    at = f"{kind}://127.0.0.1:{proxy.port}"
    fetcher = make_fetcher(trusted_proxies=[at])
    got = await fetcher.fetch(FetchRequest(url="http://intranet.test/x", proxy=at))
    assert isinstance(got, Response), got
    assert "intranet.test" in proxy.asked[0]
    assert not got.private


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("host", ["localhost", "10.0.0.1", "[::1]", "169.254.169.254"])
async def test_a_private_target_is_refused_before_the_proxy_is_asked(serve, page, proxied, make_fetcher, kind, host):
    site = await serve(page())
    proxy = await proxied(kind, site.port)
    for scheme in ("http", "https"):
        got = await make_fetcher().fetch(
            FetchRequest(url=f"{scheme}://{host}/x", proxy=f"{kind}://127.0.0.1:{proxy.port}")
        )
        assert not failed(got, FailureCode.BLOCKED_ADDRESS).retryable
    assert not proxy.asked


async def test_the_named_host_is_open_behind_a_proxy_too(serve, page, proxied, make_fetcher):
    site = await serve(page())
    proxy = await proxied("http", site.port)
    got = await make_fetcher().fetch(
        FetchRequest(
            url=f"http://localhost:{site.port}/", proxy=f"http://127.0.0.1:{proxy.port}", named_host="localhost"
        )
    )
    assert isinstance(got, Response)
    assert got.private


async def test_credentials_reach_an_http_proxy(serve, page, proxied, make_fetcher, server_tls, trusting_tls):
    for scheme, tls in (("http", None), ("https", server_tls)):
        site = await serve(page(b"through"), tls=tls)
        proxy = await proxied("http", site.port, credentials="user:s3cr@t")
        fetcher = make_fetcher(allowance=Allowance(allow_private=True), pool=PoolOptions(ssl_context=trusting_tls))
        got = await fetcher.fetch(
            FetchRequest(url=f"{scheme}://localhost:{site.port}/", proxy=f"http://user:{SECRET}@127.0.0.1:{proxy.port}")
        )
        assert isinstance(got, Response), got


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_wrong_credentials_are_a_proxy_failure_that_hides_them(serve, page, proxied, fetcher, kind, scheme):
    site = await serve(page())
    proxy = await proxied(kind, site.port, credentials="user:right")
    at = f"{kind}://user:{SECRET}@127.0.0.1:{proxy.port}"
    got = await fetcher.fetch(FetchRequest(url=f"{scheme}://localhost:{site.port}/", proxy=at))
    got = failed(got, FailureCode.PROXY)
    assert got.retryable
    assert "127.0.0.1" in got.message
    assert "***" in got.message
    for secret in (SECRET, "s3cr@t", "user:"):
        assert secret not in got.message


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
async def test_a_dead_proxy_is_a_proxy_failure_that_hides_credentials(fetcher, scheme):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        at = f"{scheme}://user:{SECRET}@127.0.0.1:{port}"
        for target in ("http", "https"):
            got = await fetcher.fetch(FetchRequest(url=f"{target}://localhost/", proxy=at))
            got = failed(got, FailureCode.PROXY)
            assert got.retryable
            assert "s3cr" not in got.message
            assert got.url == f"{target}://localhost/"


async def test_a_refusal_by_socks_is_a_proxy_failure(serve, page, proxied, make_fetcher):
    site = await serve(page())
    proxy = await proxied("socks5", site.port)
    at = f"socks5://127.0.0.1:{proxy.port}"
    fetcher = make_fetcher(trusted_proxies=[at])
    got = await fetcher.fetch(FetchRequest(url="http://refused.test/", proxy=at))
    assert failed(got, FailureCode.PROXY).retryable


@pytest.mark.parametrize("at", ["ftp://u:s3cret@h:1", "http://", "nonsense", "http://u:s3cret@h:port", "socks4://h"])
async def test_an_unusable_proxy_url_is_a_failure_and_no_exception(fetcher, at):
    got = await fetcher.fetch(FetchRequest(url="http://localhost/", proxy=at))
    got = failed(got, FailureCode.PROXY)
    assert not got.retryable
    assert "s3cret" not in got.message


async def test_a_proxy_that_dawdles_is_a_timeout(fetcher):
    async def mute(_reader, writer):
        try:
            await asyncio.sleep(5)
        finally:
            writer.close()

    server = await asyncio.start_server(mute, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for scheme in ("http", "socks5"):
        got = await fetcher.fetch(
            FetchRequest(url="https://localhost/", proxy=f"{scheme}://127.0.0.1:{port}", timeout_s=0.2)
        )
        failed(got, FailureCode.TIMEOUT)
    server.close()


async def test_pages_by_different_proxies_share_no_connection(serve, page, proxied, fetcher):
    site = await serve(page())
    first, second = await proxied("http", site.port), await proxied("http", site.port)
    for proxy in (first, second, first, second):
        await fetcher.fetch(FetchRequest(url=f"http://localhost:{site.port}/", proxy=f"http://127.0.0.1:{proxy.port}"))
    assert (len(first.asked), len(second.asked), site.connections) == (1, 1, 2)


async def test_what_a_proxy_says_is_quoted_safely(serve, fetcher):
    proxy = await serve(b"HTTP/1.1 407 Who \xff\x1b[31m\xc3\xa9?\r\nContent-Length: 0\r\n\r\n")
    for scheme in ("http", "https"):
        got = await fetcher.fetch(FetchRequest(url=f"{scheme}://localhost/", proxy=proxy.base))
        message = failed(got, FailureCode.PROXY).message
        assert message.isprintable()
        assert "407" in message
        message.encode()


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("target", ["/?", "//a|b?c=%zz&[d]'", "/%2F%7e"])
async def test_the_target_is_sent_byte_for_byte_through_proxies(serve, page, proxied, fetcher, kind, target):
    site = await serve(page())
    proxy = await proxied(kind, site.port)
    await fetcher.fetch(
        FetchRequest(url=f"http://localhost:{site.port}{target}", proxy=f"{kind}://127.0.0.1:{proxy.port}")
    )
    assert site.heads[0].split(b" ")[1].decode() == target
