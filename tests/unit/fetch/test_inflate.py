"""Decoding in pieces of any size gives the same bytes, and never more than there is room for."""

from __future__ import annotations

import gzip
import sys
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.inflate import CorruptBody, inflater

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = [
    ("gzip", gzip.compress),
    ("gzip", lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:]) + b"\0\0\0"),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
    ("zstd", zstd.compress),
    ("zstd", lambda data: zstd.compress(data[:7]) + b"\x50\x2a\x4d\x18\x02\0\0\0ab" + zstd.compress(data[7:])),
    ("gzip, zstd", lambda data: zstd.compress(gzip.compress(data))),
]


@pytest.mark.parametrize(("coding", "pack"), PACKERS, ids=range(len(PACKERS)))
@given(data=st.binary(min_size=1, max_size=500), step=st.integers(min_value=1, max_value=400))
def test_any_cut_of_the_input_gives_the_same_output(coding, pack, data, step):
    packed = pack(data)
    decoder = inflater(coding)
    out = b"".join(b"".join(decoder.feed(packed[at : at + step], 10_000)) for at in range(0, len(packed), step))
    assert out == data
    assert decoder.finished


@pytest.mark.parametrize(("coding", "pack"), PACKERS, ids=range(len(PACKERS)))
def test_output_stops_soon_after_the_room_is_used(coding, pack):
    packed = pack(b"\0" * 50_000_000)
    decoder = inflater(coding)
    got = sum(map(len, decoder.feed(packed, 1000)))
    assert 1000 < got < 1000 + 200_000


WHOLE = [PACKERS[number] for number in (0, 2, 3, 4, 5, 7)]


@pytest.mark.parametrize(("coding", "pack"), WHOLE, ids=range(len(WHOLE)))
@given(data=st.binary(min_size=1, max_size=500), share=st.floats(min_value=0.01, max_value=0.9))
def test_a_cut_stream_is_not_finished(coding, pack, data, share):
    packed = pack(data)
    decoder = inflater(coding)
    decoder.feed(packed[: max(1, int(len(packed) * share))], 100_000)
    assert not decoder.finished


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, br", "deflate, gzip"])
@given(data=st.binary(max_size=300))
def test_garbage_is_corrupt_or_passed_and_never_an_accident(coding, data):
    decoder = inflater(coding)
    try:
        out = decoder.feed(data, 1000)
    except CorruptBody:
        return
    assert sum(map(len, out)) <= 300_000
    assert decoder.finished in (True, False)


@pytest.mark.parametrize("coding", ["", "identity", "none", "utf-8", "aws-chunked", ",", "  ,identity"])
def test_nothing_to_decode(coding):
    assert inflater(coding) is None


def test_what_follows_the_end_is_ignored():
    for coding, packed in (("br", brotli.compress(b"x")), ("deflate", zlib.compress(b"x"))):
        decoder = inflater(coding)
        assert b"".join(decoder.feed(packed, 10)) == b"x"
        assert decoder.feed(b"more", 10) == []
        assert decoder.finished


def test_a_zstd_window_of_gigabytes_is_refused():
    # Frame header: magic, descriptor without single segment, window descriptor for 2 GB.
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00"
    with pytest.raises(CorruptBody):
        inflater("zstd").feed(frame, 1000)
