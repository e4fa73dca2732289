from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.broken import MalformedBody
from perseid.fetch.chunks import Chunks


def chunked(pieces: list[bytes], *, end: bytes = b"\r\n", extension: bytes = b"", trailer: bytes = b"") -> bytes:
    sent = b"".join(b"%x%b%b%b%b" % (len(piece), extension, end, piece, end) for piece in pieces)
    return sent + b"0" + extension + end + trailer + end


@given(
    st.lists(st.binary(min_size=1, max_size=300), max_size=8),
    st.integers(min_value=1, max_value=200),
    st.sampled_from([b"\r\n", b"\n"]),
    st.sampled_from([b"", b";name=value", b" ; a", b"  "]),
    st.sampled_from([b"", b"Trailer: x\r\n", b"A: b\nC: d\r\n"]),
)
def test_any_cut_of_the_input_gives_the_same_body(pieces, step, end, extension, trailer):
    data = chunked(pieces, end=end, extension=extension, trailer=trailer) + b"NEXT"
    chunks = Chunks()
    got = b""
    at = 0
    while not chunks.ended:
        got += b"".join(chunks.feed(data[at : at + step]))
        at += step
    assert got == b"".join(pieces)
    assert chunks.rest + data[at:] == b"NEXT"


def test_it_is_not_ended_before_the_last_line():
    data = chunked([b"hello"], trailer=b"A: b\r\n")
    for cut in range(len(data)):
        chunks = Chunks()
        chunks.feed(data[:cut])
        assert not chunks.ended


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\nhello",
        b"-5\r\nhello",
        b"+5\r\nhello",
        b"0x5\r\nhello",
        b"\r\nhello",
        b"5 5\r\nhello",
        b"5\r\nhello, more\r\n",
        b"5\r\nhello, more",
        b"5\r\nhello\r\r\n",
        b"f" * 16 + b"\r\n",
        b"5;" + b"x" * 20_000,
        b"0\r\n" + b"A: b\r\n" * 20_000,
    ],
)
def test_what_makes_no_sense_is_malformed(data):
    with pytest.raises(MalformedBody):
        Chunks().feed(data)


@given(st.binary(max_size=200), st.integers(min_value=1, max_value=50))
def test_no_bytes_upset_it(data, step):
    chunks = Chunks()
    try:
        for at in range(0, len(data), step):
            chunks.feed(data[at : at + step])
    except MalformedBody:
        return
