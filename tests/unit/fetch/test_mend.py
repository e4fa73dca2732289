from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.mend import is_sound, mend_head

SOUND = [
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nContent-Length: 5\r\nX-A:b\r\n\r\n",
    b"HTTP/1.1 200 \xe9\r\nTransfer-Encoding: Chunked\r\nSet-Cookie: a=b; c\r\n\r\n",
    b"HTTP/1.1 200 OK\nA: b\n\n",
]


@pytest.mark.parametrize("head", SOUND)
def test_sound_heads_are_left_alone(head):
    assert is_sound(head)


@pytest.mark.parametrize(
    ("head", "mended"),
    [
        (b"HTTP/1.1 200 OK\r\nnonsense\r\n folded\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b c\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1  200   OK\r\n\r\n", b"HTTP/1.1 200   OK\r\n\r\n"),
        (b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b c\r\n\r\n"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_broken_heads_are_mended(head, mended):
    assert not is_sound(head)
    assert mend_head(head) == mended
    assert is_sound(mended)


def test_lengths_that_disagree_are_left_to_be_refused():
    mended = mend_head(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")
    assert mended.count(b"Content-Length") == 2


@given(st.binary(max_size=400))
def test_mending_never_fails_and_never_shifts_the_body(junk):
    head = b"HTTP/1.1 200 OK\r\n" + junk.replace(b"\n", b"") + b"\r\n\r\n"
    mended = mend_head(head)
    assert mended.endswith(b"\r\n\r\n")
    assert mended.count(b"\r\n\r\n") == 1


@pytest.mark.parametrize(
    "filling", [b"\n " * 120_000, b"a\n" * 120_000, b"a" * 250_000, b"content-length: 1\n" * 14_000]
)
def test_the_longest_heads_take_linear_time(filling):
    head = b"HTTP/1.1 200 OK\r\nX: y" + filling + b"\n\n"
    started = time.process_time()
    is_sound(head)
    mend_head(head)
    assert time.process_time() - started < 1
