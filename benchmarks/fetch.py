"""CPU time of one small GET over a kept-alive loopback connection: ours, beside the bare library.

    python benchmarks/fetch.py [requests] [concurrency]

The server runs in a process of its own; the figure is the client's process time, minimum of ten rounds.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import aiohttp

from perseid.fetch.guard import Allowance
from perseid.fetch.http import HttpFetcher
from perseid.ports.fetch import FetchRequest, Response

BODY = b"<!doctype html><title>Small</title>" + b"<p>Some text of a page.</p>" * 100
ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nConnection: keep-alive\r\n"
    b'ETag: "abc"\r\nCache-Control: max-age=60\r\nContent-Length: ' + str(len(BODY)).encode() + b"\r\n\r\n" + BODY
)
ROUNDS = 10


class _Site(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER * data.count(b"\r\n\r\n"))


def _serve(pipe: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(_Site, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def _round(get: Callable[[str], Awaitable[None]], base: str, count: int, at_once: int) -> float:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await get(f"{base}/page/{number}?q=1")

    started = time.process_time()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return (time.process_time() - started) / count * 1000


async def main(port: int, count: int, at_once: int) -> None:
    base = f"http://127.0.0.1:{port}"
    fetcher = HttpFetcher(allowance=Allowance(allow_private=True))
    bare = aiohttp.ClientSession()

    async def ours(url: str) -> None:
        outcome = await fetcher.fetch(FetchRequest(url=url))
        assert isinstance(outcome, Response), outcome
        assert outcome.body == BODY

    async def library(url: str) -> None:
        async with bare.get(url) as answer:
            assert await answer.read() == BODY

    print(f"{count} requests, {at_once} at once, {len(BODY)} bytes")
    bare_ms, ours_ms = [], []
    for _ in range(ROUNDS):  # in turn, so that a busy machine slows both
        bare_ms.append(await _round(library, base, count, at_once))
        ours_ms.append(await _round(ours, base, count, at_once))
    print(f"aiohttp      {min(bare_ms):.3f} ms CPU per request")
    print(f"HttpFetcher  {min(ours_ms):.3f} ms CPU per request")
    await fetcher.close()
    await bare.close()


if __name__ == "__main__":
    parent, child = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(child,), daemon=True)
    process.start()
    try:
        arguments = [int(word) for word in sys.argv[1:]] + [1000, 16][len(sys.argv) - 1 :]
        asyncio.run(main(parent.recv(), *arguments[:2]))
    finally:
        process.terminate()
