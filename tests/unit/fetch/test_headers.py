from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perseid.fetch.headers import read_headers


def test_names_are_lowered_and_order_and_duplicates_kept():
    raw = ((b"B", b"1"), (b"A", b"2"), (b"b", b"3"))
    assert read_headers(raw) == (("b", "1"), ("a", "2"), ("b", "3"))


def test_utf8_first_then_latin_1():
    raw = ((b"A", "é".encode()), (b"B", b"\xe9"))
    assert read_headers(raw) == (("a", "é"), ("b", "é"))


def test_a_location_keeps_the_bytes_it_asks_for():
    assert read_headers(((b"Location", b"/\xe9?%20"),)) == (("location", "/%E9?%20"),)
    assert read_headers(((b"Location", "/é".encode()), (b"X", b"\xff"))) == (("location", "/é"), ("x", "ÿ"))


@given(st.lists(st.tuples(st.binary(max_size=80), st.binary(max_size=40))))
def test_any_bytes_become_text_that_can_be_stored(raw):
    headers = read_headers(raw)
    assert len(headers) == len(raw)
    "".join(name + value for name, value in headers).encode()
