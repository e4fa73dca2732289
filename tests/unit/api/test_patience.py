import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from perseid.api.patience import PatientProtocol

_ASK = b"GET / HTTP/1.1\r\nHost: x\r\n"
_MUCH = 32 * 1024 * 1024


class _Impatient(PatientProtocol):
    head_s = 0.2
    read_s = 0.2


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)  # longer than any patience here
    body = b"x" * (_MUCH if scope["path"] == "/much" else 2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def server() -> AsyncIterator[uvicorn.Server]:
    config = uvicorn.Config(_app, http=_Impatient, ws="none", lifespan="off", port=0, log_config=None)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    yield server
    await server.shutdown()


@pytest.fixture
def port(server: uvicorn.Server) -> int:
    number: int = server.servers[0].sockets[0].getsockname()[1]
    return number


async def _after(port: int, *parts: bytes) -> bytes:
    """All that comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        if part.endswith(b"\r\n\r\n"):
            await reader.readuntil(b"\r\n\r\nxx")
    try:
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("said", [(), (_ASK,), (b"G",)])
async def test_who_does_not_finish_a_head_is_cut_off(port: int, said: tuple[bytes, ...]) -> None:
    assert await _after(port, *said) == b""


async def test_nor_is_there_more_patience_with_a_second_request(port: int) -> None:
    assert await _after(port, _ASK + b"\r\n", _ASK) == b""


@pytest.mark.parametrize("before", [(), (_ASK + b"\r\n",)])
async def test_a_head_has_a_bound(port: int, before: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Impatient, "head_s", 60)
    assert await _endless(port, *before) < _MUCH // 2  # what lay in the sockets included


async def _endless(port: int, *before: bytes) -> int:
    """Bytes of a head that the server took before it closed the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    sent = 0
    try:
        for part in before:
            writer.write(part)
            await reader.readuntil(b"\r\n\r\nxx")
        writer.write(_ASK)
        while sent < _MUCH:
            writer.write(b"X-More: " + b"x" * 8_000 + b"\r\n")
            await writer.drain()
            sent += 8_010
    except ConnectionError:
        pass
    writer.close()
    return sent


async def test_a_body_that_nobody_wanted_is_no_head(port: int) -> None:
    """Its answer is there before it is: what comes on is read over, and the next request is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
    await reader.readuntil(b"\r\n\r\nxx")
    writer.write(b"x" * 300_000 + _ASK + b"\r\n")
    await reader.readuntil(b"\r\n\r\nxx")
    writer.close()


async def test_an_answer_may_take_its_time(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_ASK.replace(b"/ ", b"/slow ") + b"Connection: close\r\n\r\n")
    assert (await reader.read()).endswith(b"xx")
    writer.close()


async def test_who_does_not_read_an_answer_is_cut_off(server: uvicorn.Server, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(_ASK.replace(b"/ ", b"/much ") + b"\r\n")
    transport = writer.transport
    await reader.readuntil(b"\r\n")
    transport.pause_reading()
    while server.server_state.connections:  # noqa: ASYNC110  uvicorn tells nobody
        await asyncio.sleep(0)
    transport.resume_reading()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(_MUCH)
    transport.abort()


async def test_there_are_so_many_connections_and_no_more(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Impatient, "head_s", 60)
    monkeypatch.setattr(_Impatient, "most", 20)
    whole = _ASK + b"Connection: close\r\n\r\n"
    kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
    assert await _told(port, whole) == b""
    for _reader, writer in kept:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    assert (await _told(port, whole)).endswith(b"xx")


async def _told(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        try:
            writer.write(request)
            return await reader.read()
        except ConnectionError:
            return b""
