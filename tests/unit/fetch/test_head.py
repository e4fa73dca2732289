from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.broken import MalformedHead
from perseid.fetch.head import Head, read_head


def head(*lines: str, status: str = "HTTP/1.1 200 OK") -> Head:
    return read_head("\r\n".join([status, *lines, "", ""]).encode("latin-1"))


def test_status_and_headers_are_read():
    got = head("Content-Type: text/html", "X-Twice:  a ", "x-twice: b", status="HTTP/1.1 404 Not Found")
    assert (got.status, got.reason) == (404, "Not Found")
    assert got.headers == (("content-type", "text/html"), ("x-twice", "a"), ("x-twice", "b"))
    assert got.known["x-twice"] == "a"


@pytest.mark.parametrize(
    ("lines", "chunked", "length"),
    [
        (["Content-Length: 5"], False, 5),
        (["Content-Length: 5", "Content-Length: 5"], False, 5),
        (["Transfer-Encoding: chunked"], True, None),
        (["Transfer-Encoding: Chunked", "Content-Length: 5"], True, None),
        (["Transfer-Encoding: gzip, chunked"], True, None),
        (["Transfer-Encoding: gzip"], False, None),
        ([], False, None),
    ],
)
def test_the_framing_is_as_the_rfc_says(lines, chunked, length):
    got = head(*lines)
    assert (got.chunked, got.length) == (chunked, length)


@pytest.mark.parametrize("status", [204, 304])
def test_some_answers_have_no_body(status):
    got = head("Content-Length: 5", status=f"HTTP/1.1 {status} X")
    assert (got.chunked, got.length) == (False, 0)


@pytest.mark.parametrize(
    ("status", "connection", "keep"),
    [
        ("HTTP/1.1 200 OK", None, True),
        ("HTTP/1.1 200 OK", "Close", False),
        ("HTTP/1.1 200 OK", "upgrade, close", False),
        ("HTTP/1.0 200 OK", None, False),
        ("HTTP/1.0 200 OK", "Keep-Alive", True),
        ("HTTP/2 200", None, False),
    ],
)
def test_a_connection_is_kept_as_the_server_wishes(status, connection, keep):
    lines = ["Content-Length: 5"] if connection is None else ["Content-Length: 5", f"Connection: {connection}"]
    assert head(*lines, status=status).keep is keep


def test_a_body_that_ends_with_the_connection_ends_it():
    assert not head().keep


@pytest.mark.parametrize("length", ["-5", "+5", "5.0", "many", "5, 6", "\xb2", "9" * 19])
def test_what_is_no_length_is_refused(length):
    with pytest.raises(MalformedHead):
        head(f"Content-Length: {length}")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["X: y"] * 300, "HTTP/1.1 200 OK"),
        ([f"X: {'y' * 70_000}"], "HTTP/1.1 200 OK"),
        ([], f"HTTP/1.1 200 {'O' * 20_000}"),
        ([], "HTTP/1.1 2000 OK"),
        ([], "HTTP/1.1 OK"),
        ([], "SSH-2.0-OpenSSH_9.0"),
    ],
)
def test_heads_out_of_bounds_are_refused(lines, status):
    with pytest.raises(MalformedHead):
        head(*lines, status=status)


def test_no_value_holds_a_line_break():
    assert head("X: a\rSet-Cookie: b").known == {"x": "a Set-Cookie: b"}


@given(st.binary(max_size=300))
def test_no_bytes_upset_it(junk):
    try:
        got = read_head(b"HTTP/1.1 200 OK\r\n" + junk.replace(b"\n", b"\n ") + b"\r\n\r\n")
    except MalformedHead:
        return
    "".join(name + value for name, value in got.headers).encode()
