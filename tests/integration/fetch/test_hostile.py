"""Sites that lie, dawdle, flood and break off: every time a failure with the right code, in bounded memory."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import sys
import time
import tracemalloc
import zlib

import brotli
import pytest

from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MEGABYTE = 1024 * 1024


def bomb_gzip() -> bytes:
    """Ten megabytes that inflate to ten gigabytes: one flushed block of zeros, over and over."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(b"\0" * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b"\0" * MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (10 * MEGABYTE // len(block))


def bomb_brotli() -> bytes:
    packer = brotli.Compressor(quality=5)
    zeros = b"\0" * (16 * MEGABYTE)
    return b"".join(packer.process(zeros) for _ in range(64)) + packer.finish()


def bomb_zstd() -> bytes:
    """Ten thousand frames of a megabyte."""
    return zstd.compress(b"\0" * MEGABYTE) * 10_000


def deflate_raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def failure(got: object, code: FailureCode, *, retryable: bool) -> FetchFailure:
    assert isinstance(got, FetchFailure), got
    assert (got.code, got.retryable) == (code, retryable), got.message
    assert got.message
    return got


@pytest.mark.parametrize(
    ("coding", "bomb"), [("gzip", bomb_gzip), ("br", bomb_brotli), ("zstd", bomb_zstd), ("gzip, gzip", None)]
)
async def test_a_zip_bomb_stops_at_the_cap(serve, page, fetcher, coding, bomb):
    body = bomb() if bomb else gzip.compress(bomb_gzip())
    site = await serve(page(body, f"Content-Encoding: {coding}"))
    tracemalloc.start()
    try:
        got = await fetcher.fetch(
            FetchRequest(url=site.base, max_html_bytes=4 * MEGABYTE, max_document_bytes=16 * MEGABYTE)
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    got = failure(got, FailureCode.TOO_LARGE, retryable=False)
    assert "4,194,304" in got.message
    assert got.status == 200
    assert peak < 24 * MEGABYTE  # the server's own answer of up to 10 MB counts in


async def test_members_without_content_are_bounded(serve, page, fetcher):
    site = await serve(page(gzip.compress(b"") * 100_000, "Content-Encoding: gzip"))
    started = time.process_time()
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", deflate_raw),
        ("br", brotli.compress),
        ("zstd", zstd.compress),
        ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
        ("identity", bytes),
        ("utf-8", bytes),
        ("gzip", bytes),
        ("zstd", bytes),
        ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
        ("gzip", lambda data: gzip.compress(data) + b"\0" * 100),
        ("zstd", lambda data: zstd.compress(data[:100]) + zstd.compress(data[100:])),
    ],
)
async def test_codings_are_undone(serve, page, fetcher, coding, pack):
    body = b"<p>some text</p>" * 5000
    packed = pack(body)  # once: gzip writes down when
    site = await serve(page(packed, f"Content-Encoding: {coding}"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response), got
    assert got.body == body
    assert got.wire_bytes == len(packed)


async def test_codings_in_headers_of_their_own_add_up(serve, page, fetcher):
    body = brotli.compress(gzip.compress(b"<p>text</p>"))
    site = await serve(page(body, "Content-Encoding: gzip", "Content-Encoding: br"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response), got
    assert got.body == b"<p>text</p>"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_an_empty_body_needs_no_decoding(serve, page, fetcher, coding):
    site = await serve(page(b"", f"Content-Encoding: {coding}"))
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert got.body == b""


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
)
async def test_a_compressed_body_cut_inside_sound_framing_is_truncated(serve, page, fetcher, coding, pack):
    packed = pack(bytes(range(256)) * 200)
    site = await serve(page(packed[: len(packed) // 2], f"Content-Encoding: {coding}"))
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.TRUNCATED, retryable=True)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_a_damaged_compressed_body_is_a_bad_response(serve, page, fetcher, coding):
    start = {"gzip": b"\x1f\x8b\x08", "deflate": b"\x78\x9c", "br": b"", "zstd": b"\x28\xb5\x2f\xfd"}[coding]
    site = await serve(page(start + b"\xff" * 500, f"Content-Encoding: {coding}"))
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)


async def test_five_layers_of_compression_are_refused(serve, page, fetcher):
    site = await serve(page(b"x", "Content-Encoding: " + ", ".join(["gzip"] * 5)))
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)


CUT_OFF = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n500\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 500\r\n\r\nshort",
]


@pytest.mark.parametrize("answer", CUT_OFF)
async def test_a_body_cut_off_is_truncated(serve, fetcher, answer):
    async def respond(_head, writer):
        writer.write(answer)
        return False

    site = await serve(respond)
    got = failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.TRUNCATED, retryable=True)
    assert got.status in (200, 404)
    assert got.private


@pytest.mark.parametrize("framing", [b"Content-Length: 500\r\n", b"Transfer-Encoding: chunked\r\n", b""])
async def test_a_reset_in_the_body_is_truncated(serve, fetcher, framing):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n5\r\nhello\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False

    site = await serve(respond)
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.TRUNCATED, retryable=True)


async def test_a_body_without_framing_ends_with_the_connection(serve, fetcher):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nall of it")
        return False

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert got.body == b"all of it"


async def test_more_than_announced_is_dropped_and_poisons_nothing(serve, page, fetcher):
    async def respond(head, writer):
        if head.startswith(b"GET /1"):
            writer.write(page(b"hello", length=5) + page(b"EVIL"))
        else:
            writer.write(page(b"second"))
        return True

    site = await serve(respond)
    first = await fetcher.fetch(FetchRequest(url=f"{site.base}/1"))
    second = await fetcher.fetch(FetchRequest(url=f"{site.base}/2"))
    assert isinstance(second, Response)
    assert second.body == b"second"
    assert not isinstance(first, Response) or first.body == b"hello"


@pytest.mark.parametrize("part", ["head", "body", "silence", "continue"])
async def test_a_trickle_is_a_timeout(serve, fetcher, part):
    async def respond(_head, writer):
        if part == "body":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        elif part == "head":
            writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            if part == "continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            elif part != "silence":
                writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base, timeout_s=0.3))
    got = failure(got, FailureCode.TIMEOUT, retryable=True)
    assert 250_000 < got.elapsed_us < 2_000_000
    assert got.private


@pytest.mark.parametrize(("first_s", "second_s", "answered"), [(30, 0.2, False), (0.2, 30, True)])
async def test_each_request_on_a_kept_connection_has_its_own_time(serve, page, fetcher, first_s, second_s, answered):
    async def respond(head, writer):
        if head.startswith(b"GET /2"):
            await asyncio.sleep(0.4)
        writer.write(page())
        return True

    site = await serve(respond)
    await fetcher.fetch(FetchRequest(url=f"{site.base}/1", timeout_s=first_s))
    got = await fetcher.fetch(FetchRequest(url=f"{site.base}/2", timeout_s=second_s))
    assert site.connections == 1
    if answered:
        assert isinstance(got, Response), got
    else:
        failure(got, FailureCode.TIMEOUT, retryable=True)


async def test_nine_fast_pages_pass_a_trickling_one(serve, page, fetcher):
    async def respond(head, writer):
        if b"/slow" not in head:
            writer.write(page())
            return True
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    site = await serve(respond)
    slow = asyncio.create_task(fetcher.fetch(FetchRequest(url=f"{site.base}/slow", timeout_s=0.5)))
    fast = [await fetcher.fetch(FetchRequest(url=f"{site.base}/{number}")) for number in range(9)]
    assert all(isinstance(got, Response) for got in fast)
    failure(await slow, FailureCode.TIMEOUT, retryable=True)
    await asyncio.wait_for(site.closed.wait(), 2)


GARBAGE = [
    b"\x00\x01\x02\xff\xfe" * 20 + b"\r\n\r\n",
    b"<html>HTTP/0.9 speaks without a head</html>\r\n\r\n",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(5000)) + b"\r\n",
    b"HTTP/1.1 200 " + b"OK" * 50_000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
async def test_what_is_not_http_is_a_bad_response(serve, fetcher, answer):
    async def respond(_head, writer):
        writer.write(answer)
        return False

    site = await serve(respond)
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("chunks", [b"zz\r\nhello\r\n0\r\n\r\n", b"5\r\nhello, more\r\n0\r\n\r\n"])
async def test_a_malformed_chunk_is_a_bad_response(serve, fetcher, chunks, together):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        if not together:
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(chunks)
        return True

    site = await serve(respond)
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)


async def test_endless_headers_end(serve, fetcher):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X: " + b"y" * 1000 + b"\r\n")
            await writer.drain()

    site = await serve(respond)
    tracemalloc.start()
    try:
        got = await fetcher.fetch(FetchRequest(url=site.base, timeout_s=10))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    failure(got, FailureCode.BAD_RESPONSE, retryable=True)
    assert peak < 8 * MEGABYTE


async def test_one_endless_header_ends(serve, fetcher):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            writer.write(b"y" * 10_000)
            await writer.drain()

    site = await serve(respond)
    failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.BAD_RESPONSE, retryable=True)


ODD_BUT_READABLE = [
    b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 Tr\xe8s bien\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Policy: " + b"p" * 40_000 + b"\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + b"Set-Cookie: a=b\r\n" * 150 + b"\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Empty:\r\nX-Bytes: \xff\xfe\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nno colon here\r\n folded onto it\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\x00b\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nP\xc3\xa9: b\r\n: c\r\n(X): d\r\n\r\nok",
    b"HTTP/2 200\r\nContent-Length: 2\r\n\r\nok",
    b"\r\nHTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX Spaced: 1\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;ext=1\r\nok\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/html\r\nContent-Type: text/plain\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nSet-Cookie: \x01bad=\x02; ;;=\r\nContent-Length: 2\r\n\r\nok",
]


@pytest.mark.parametrize("answer", ODD_BUT_READABLE, ids=range(len(ODD_BUT_READABLE)))
async def test_odd_answers_are_read_all_the_same(serve, fetcher, answer):
    async def respond(_head, writer):
        writer.write(answer)
        return False

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response), got
    assert (got.status, got.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("content_type", "start", "fits"),
    [
        ("text/html", b"<html>", False),
        ("application/pdf", b"<html>", True),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"..", True),
        ("text/html", b"%PDF-1.7\n", True),
        ("application/octet-stream", b"PK\x03\x04", True),
        ("application/octet-stream", b"\x00\x00\x00\x00", False),
    ],
)
@pytest.mark.parametrize("announced", [True, False])
async def test_documents_have_a_cap_of_their_own(serve, fetcher, content_type, start, fits, announced):
    body = start + b"." * 5000
    framing = b"Content-Length: %d\r\n" % len(body) if announced else b""

    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + content_type.encode() + b"\r\n" + framing + b"\r\n")
        writer.write(body)
        return False

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base, max_html_bytes=1000, max_document_bytes=10_000))
    if fits:
        assert isinstance(got, Response), got
        assert got.body == body
    else:
        failure(got, FailureCode.TOO_LARGE, retryable=False)


async def test_an_announced_giant_is_not_read(serve, page, fetcher):
    site = await serve(page(b"start", length=10**12))
    got = failure(await fetcher.fetch(FetchRequest(url=site.base)), FailureCode.TOO_LARGE, retryable=False)
    assert "1,000,000,000,000" in got.message


async def test_an_endless_body_stops_at_the_cap(serve, fetcher):
    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    site = await serve(respond)
    failure(
        await fetcher.fetch(FetchRequest(url=site.base, max_html_bytes=MEGABYTE)),
        FailureCode.TOO_LARGE,
        retryable=False,
    )
    await asyncio.wait_for(site.closed.wait(), 2)


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_a_body_may_be_cut_at_the_cap_on_request(serve, page, fetcher, coding):
    body = b"User-agent: *\nDisallow: /x\n" * 1000
    answer = page(gzip.compress(body), "Content-Encoding: gzip") if coding else page(body)
    site = await serve(answer)
    got = await fetcher.fetch(FetchRequest(url=site.base, max_html_bytes=1000, cut_at_cap=True))
    assert isinstance(got, Response)
    assert got.body == body[:1000]


async def test_a_body_of_exactly_the_cap_passes(serve, page, fetcher):
    for answer in (page(b"x" * 1000), page(gzip.compress(b"x" * 1000), "Content-Encoding: gzip")):
        site = await serve(answer)
        got = await fetcher.fetch(FetchRequest(url=site.base, max_html_bytes=1000))
        assert isinstance(got, Response)
        assert len(got.body) == 1000


async def test_a_body_in_single_bytes_is_read(serve, fetcher):
    packed = gzip.compress(b"<p>hello</p>")

    async def respond(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n")
        for byte in packed:
            writer.write(b"1\r\n%c\r\n" % byte)
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        return True

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response)
    assert got.body == b"<p>hello</p>"


@pytest.mark.parametrize("interim", [b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"])
@pytest.mark.parametrize("extra", [b"", b"no colon\r\n"])
async def test_a_head_in_single_bytes_is_read(serve, fetcher, interim, extra):
    async def respond(_head, writer):
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in interim + b"HTTP/1.1 200 OK\r\n" + extra + b"Content-Length: 2\r\n\r\nok":
            writer.write(bytes([byte]))
            await asyncio.sleep(0.001)
        return True

    site = await serve(respond)
    got = await fetcher.fetch(FetchRequest(url=site.base))
    assert isinstance(got, Response), got
    assert got.body == b"ok"
