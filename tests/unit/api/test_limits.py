import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from perseid.api.limits import MAX_BODY_BYTES, BodyLimits


async def _read_all(
    chunks: list[bytes], *, path: str = "/v2/scrape", declared: int | None = None, timeout_s: float = 5
) -> int:
    """Bytes that an application behind the limits gets to read; a `b""` chunk never comes."""
    size = 0

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        nonlocal size
        more = True
        while more:
            message = await receive()
            size += len(message["body"])
            more = message["more_body"]

    left = list(chunks)

    async def receive() -> Message:
        body = left.pop(0)
        if not body:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(_message: Message) -> None:
        raise AssertionError

    headers = [] if declared is None else [(b"content-length", str(declared).encode())]
    scope = {"type": "http", "path": path, "headers": headers}
    await BodyLimits(app, timeout_s=timeout_s)(scope, receive, send)
    return size


async def test_bodies_within_the_limit_pass() -> None:
    assert await _read_all([b"x" * 1000] * 3) == 3000


@pytest.mark.parametrize("declared", [None, MAX_BODY_BYTES + 2])
async def test_a_body_over_the_limit_is_refused_with_413(declared: int | None) -> None:
    half = b"x" * (MAX_BODY_BYTES // 2 + 1)
    with pytest.raises(HTTPException) as refused:
        await _read_all([half, half], declared=declared)
    assert refused.value.status_code == 413


async def test_a_declared_length_that_lies_small_does_not_help() -> None:
    half = b"x" * (MAX_BODY_BYTES // 2 + 1)
    with pytest.raises(HTTPException) as refused:
        await _read_all([half, half], declared=3)
    assert refused.value.status_code == 413


async def test_the_rest_of_a_body_too_large_is_read_so_that_the_client_sees_the_answer() -> None:
    left = [b"x" * (MAX_BODY_BYTES + 1), b"x" * 1000, b"x" * 1000]

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    with pytest.raises(HTTPException):
        await BodyLimits(app)({"type": "http", "path": "/", "headers": []}, receive, _unused)
    assert left == []


async def _unused(_message: Message) -> None:
    raise AssertionError


async def test_uploads_may_be_larger() -> None:
    half = b"x" * (MAX_BODY_BYTES // 2 + 1)
    assert await _read_all([half, half], path="/v2/parse") == 2 * len(half)


async def test_a_body_that_trickles_is_cut_off_with_408() -> None:
    with pytest.raises(HTTPException) as refused:
        await _read_all([b"{", b""], timeout_s=0.05)
    assert refused.value.status_code == 408
