"""Answers with bytes flipped, cut, doubled and shuffled: always a value, never an exception, never a hang."""

from __future__ import annotations

import gzip
import random

import brotli
import pytest

from perseid.ports.fetch import FetchFailure, FetchRequest, Response

PACKED = gzip.compress(b"<p>some text</p>" * 50)
BROTLI = brotli.compress(b"<p>some text</p>" * 50)
SEEDS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: /b\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 5\r\n\r\nmoved",
    b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED,
    b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n" % len(BROTLI) + BROTLI,
    b"HTTP/1.0 200 OK\r\n\r\neverything until the end",
]


def mutated(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(out) + 1)
        match dice.randrange(5):
            case 0:
                out[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del out[at : at + dice.randint(1, 12)]
            case 2:
                out[at:at] = out[dice.randrange(len(out) + 1) :][: dice.randint(1, 30)]
            case 3:
                out[at:at] = dice.choice([b"\0", b"\r\n", b"\n", b" ", b":", b"\xff", b"-1", b"99999999999999999999"])
            case _:
                out = out[:at]
        if not out:
            out = bytearray(b"\n")
    return bytes(out)


@pytest.mark.parametrize("seed", range(8))
async def test_no_answer_upsets_the_fetcher(serve, fetcher, seed):
    dice = random.Random(seed)
    answer = b""

    async def respond(_head, writer):
        cut = dice.randrange(len(answer) + 1)
        writer.write(answer[:cut])
        await writer.drain()
        writer.write(answer[cut:])
        return False

    site = await serve(respond)
    for number in range(150):
        answer = mutated(SEEDS[number % len(SEEDS)], dice)
        got = await fetcher.fetch(FetchRequest(url=site.base, timeout_s=5))
        assert isinstance(got, Response | FetchFailure)
        if isinstance(got, FetchFailure):
            assert got.code != "timeout", answer
            assert got.code != "internal_error", answer
        else:
            assert 200 <= got.status <= 999
            "".join(name + value for name, value in got.headers).encode()
