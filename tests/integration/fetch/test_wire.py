"""Connections at their edges: tunnels that outlive their opening, servers that hang up early or talk out of turn."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable

import pytest

from perseid.fetch.broken import BodyTruncated, HungUp
from perseid.fetch.guard import Allowance
from perseid.fetch.http import HttpFetcher
from perseid.fetch.pool import PoolOptions
from perseid.fetch.resolver import Found
from perseid.fetch.wire import Wire
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response

OPEN = Allowance(allow_private=True)


async def _tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    await reader.readuntil(b"\r\n\r\n")
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
        except OSError:
            pass
        sink.close()

    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))


async def test_a_tunnel_lives_longer_than_its_opening_may_take(
    serve: Callable[..., Awaitable],
    make_fetcher: Callable[..., HttpFetcher],
    server_tls: ssl.SSLContext,
    trusting_tls: ssl.SSLContext,
) -> None:
    async def slowly(_head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        await asyncio.sleep(1.1)  # the one thing that only time can show
        writer.write(b"cd")
        return True

    site = await serve(slowly, tls=server_tls)
    proxy = await asyncio.start_server(lambda r, w: _tunnel(r, w, site.port), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    fetcher = make_fetcher(allowance=OPEN, pool=PoolOptions(ssl_context=trusting_tls, connect_timeout_s=1.0))
    answer = await fetcher.fetch(FetchRequest(url=f"https://localhost:{site.port}/", proxy=url, timeout_s=10))
    await fetcher.close()
    proxy.close()
    await proxy.wait_closed()
    assert isinstance(answer, Response), answer
    assert answer.body == b"abcd"


async def _wire_to(port: int) -> Wire:
    _, wire = await asyncio.get_running_loop().create_connection(lambda: Wire(private=True), "127.0.0.1", port)
    return wire


async def test_a_connection_with_an_unread_rest_of_a_body_is_not_used_again(
    serve: Callable[..., Awaitable], page: Callable[..., bytes]
) -> None:
    """As when a body is cut at its cap: the rest would be the beginning of the next answer's."""
    go_on = asyncio.Event()

    async def in_two(_head: bytes, writer: asyncio.StreamWriter) -> bool:
        answer = page(b"one two")
        writer.write(answer[:-4])
        await go_on.wait()
        writer.write(answer[-4:])
        return True

    site = await serve(in_two)
    wire = await _wire_to(site.port)
    await wire.ask(b"GET / HTTP/1.1\r\n\r\n", asyncio.get_running_loop().time() + 5)
    assert await wire.read() == b"one"
    go_on.set()
    async with asyncio.timeout(5):
        while not wire.whole:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0)
    assert not wire.reusable
    wire.close()


@pytest.mark.parametrize("words", [b"", b"HTTP/1.1 408 Too slow\r\nContent-Length: 0\r\n\r\n"])
async def test_a_server_that_is_gone_before_it_is_asked_is_not_waited_for(words: bytes) -> None:
    async def leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        writer.close()

    server = await asyncio.start_server(leave, "127.0.0.1", 0)
    wire = await _wire_to(server.sockets[0].getsockname()[1])
    async with asyncio.timeout(5):
        while not wire.transport.is_closing():  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(HungUp):
        await asyncio.wait_for(wire.ask(b"GET / HTTP/1.1\r\n\r\n", asyncio.get_running_loop().time() + 60), 5)
    wire.close()
    server.close()
    await server.wait_closed()


async def test_interim_answers_without_end_are_no_answer(serve: Callable[..., Awaitable], fetcher: HttpFetcher) -> None:
    async def flood(_head: bytes, writer: asyncio.StreamWriter) -> bool:
        while not writer.is_closing():
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000)
            await writer.drain()
        return False

    site = await serve(flood)
    answer = await fetcher.fetch(FetchRequest(url=site.base, timeout_s=3))
    assert isinstance(answer, FetchFailure)
    assert answer.code is FailureCode.BAD_RESPONSE, answer


async def test_a_body_without_a_length_that_we_break_off_is_not_whole(serve: Callable[..., Awaitable]) -> None:
    async def begin(_head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
        await asyncio.Event().wait()
        return False

    site = await serve(begin)
    wire = await _wire_to(site.port)
    await wire.ask(b"GET / HTTP/1.1\r\n\r\n", asyncio.get_running_loop().time() + 60)
    assert await wire.read() == b"half of it"
    more = asyncio.ensure_future(wire.read())
    await asyncio.sleep(0)
    wire.close()
    with pytest.raises(BodyTruncated):
        await asyncio.wait_for(more, 5)


async def test_an_answer_to_no_question_is_not_taken_for_the_next_one(
    serve: Callable[..., Awaitable], page: Callable[..., bytes], fetcher: HttpFetcher
) -> None:
    """It is there, but the event loop has not come to read it, when the next question is asked."""
    site = await serve(page(b"fair"))
    await fetcher.fetch(FetchRequest(url=site.base))
    site.writers[0].write(page(b"evil"))
    answer = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(answer, Response), answer
    assert (answer.body, site.connections) == (b"fair", 2)


@pytest.mark.parametrize("framing", ["Content-Length: 4", "Transfer-Encoding: chunked"])
async def test_a_204_that_announces_a_body_ends_its_connection(
    serve: Callable[..., Awaitable], fetcher: HttpFetcher, framing: str
) -> None:
    site = await serve(f"HTTP/1.1 204 None\r\n{framing}\r\n\r\n".encode())
    for _ in range(2):
        await fetcher.fetch(FetchRequest(url=site.base))
    assert site.connections == 2


async def test_who_leaves_during_tls_leaves_no_socket_that_others_trip_over(
    serve: Callable[..., Awaitable],
    make_fetcher: Callable[..., HttpFetcher],
    page: Callable[..., bytes],
    server_tls: ssl.SSLContext,
    trusting_tls: ssl.SSLContext,
) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's side of handshakes broken off
    site = await serve(page(), tls=server_tls)
    request = FetchRequest(url=f"https://localhost:{site.port}/")
    for turns in range(60):
        fetcher = make_fetcher(allowance=OPEN, pool=PoolOptions(ssl_context=trusting_tls))
        await fetcher._pool._resolver.lookup("localhost")
        leaving = asyncio.create_task(fetcher.fetch(request))
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        answer = await fetcher.fetch(request)
        assert isinstance(answer, Response), answer
        await fetcher.close()


async def test_a_refused_address_does_not_hide_that_another_is_away(make_fetcher: Callable[..., HttpFetcher]) -> None:
    """Blocked would be for good; away is tried again."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.2", 0))
        port = nobody.getsockname()[1]
        fetcher = make_fetcher(allowance=Allowance.parse("127.0.0.2"))
        found = [Found(socket.AF_INET, "127.0.0.1"), Found(socket.AF_INET, "127.0.0.2")]
        fetcher._pool._resolver._ask = lambda _host: found
        answer = await fetcher.fetch(FetchRequest(url=f"http://two.test:{port}/"))
        found.pop()
        await fetcher.close()
        alone = await fetcher.fetch(FetchRequest(url=f"http://two.test:{port}/"))
    assert isinstance(answer, FetchFailure)
    assert (answer.code, answer.retryable) == (FailureCode.CONNECTION, True)
    assert isinstance(alone, FetchFailure)
    assert (alone.code, alone.retryable) == (FailureCode.BLOCKED_ADDRESS, False)
