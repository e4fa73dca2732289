"""The small listener for probes: it answers what it knows, and is not held up by whoever asks badly."""

from __future__ import annotations

import asyncio

import pytest

from perseid.errors import StoreUnavailable
from perseid.runtime import probe
from perseid.runtime.probe import Answer, probes, told


async def ok() -> Answer:
    return told(ok=True, processes=2)


async def away() -> Answer:
    return told(ok=False, reason="the store is away")


async def broken() -> Answer:
    raise RuntimeError("not planned")


ROUTES = {"/live": ok, "/ready": away, "/broken": broken}


async def exchange(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await reader.read()
    writer.close()
    return answer


async def test_answers_are_told_by_status_and_body() -> None:
    async with probes("127.0.0.1", 0, ROUTES) as port:
        live = await exchange(port, b"GET /live?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert live.startswith(b"HTTP/1.1 200 OK\r\n")
        assert live.endswith(b'\r\n\r\n{"status":"ok","processes":2}')
        assert b"Content-Length: 29\r\n" in live
        ready = await exchange(port, b"GET /ready HTTP/1.0\r\n\r\n")
        assert ready.startswith(b"HTTP/1.1 503 ")
        assert b"the store is away" in ready
        head = await exchange(port, b"HEAD /live HTTP/1.1\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert head.endswith(b"\r\n\r\n")


async def test_whatever_is_asked_wrongly_gets_a_clear_answer() -> None:
    async with probes("127.0.0.1", 0, ROUTES) as port:
        for sent, status in (
            (b"GET /other HTTP/1.1\r\n\r\n", 404),
            (b"POST /live HTTP/1.1\r\n\r\n", 405),
            (b"\r\n\r\n", 404),
            (b"\xff\xfe \xff\r\n\r\n", 404),
            (b"GET /broken HTTP/1.1\r\n\r\n", 500),
        ):
            assert (await exchange(port, sent)).split()[1] == str(status).encode(), sent


async def test_a_head_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_PATIENCE_S", 0.05)
    async with probes("127.0.0.1", 0, ROUTES) as port:
        assert await exchange(port, b"GET /live HTTP/1.1\r\n") == b"", "never finished"
        assert await exchange(port, b"GET /live HTTP/1.1\r\nX: " + b"x" * 20_000) == b"", "too long"
        assert (await exchange(port, b"GET /live HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_a_port_that_is_taken_is_told() -> None:
    async with probes("127.0.0.1", 0, ROUTES) as port:
        with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{port} .* --probe-port names another"):
            async with probes("127.0.0.1", port, ROUTES):
                pass
