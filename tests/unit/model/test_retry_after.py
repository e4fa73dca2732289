from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.model.retry_after import MAX_RETRY_AFTER_S, parse_retry_after

NOON_US = 1_796_040_000_000_000  # Mon, 30 Nov 2026 12:00:00 GMT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", 2.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("+3", 3.0),
        ("999999999", MAX_RETRY_AFTER_S),
        ("999999999999999999", MAX_RETRY_AFTER_S),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("Monday, 30-Nov-26 12:00:30 GMT", 30.0),
        ("Mon Nov 30 12:00:30 2026", 30.0),
        ("Mon, 30 Nov 2026 13:00:30 +0100", 30.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER_S),
        (None, None),
        ("", None),
        ("-5", None),
        ("soon", None),
        ("1e9", None),
        ("٣", None),
        ("2, 3", None),
        ("5 seconds", None),
        ("nan", None),
        ("inf", None),
        ("Mon, 30 Nov 2026 11:59:59 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Mon, 99 Nov 2026 12:00:30 GMT", None),
        ("Mon, 30 Nov 99999 12:00:30 GMT", None),
        ("\x00", None),
    ],
)
def test_both_forms_are_read_and_nonsense_ignored(value, expected):
    assert parse_retry_after(value, now_us=NOON_US) == expected


def test_the_cap_is_the_callers():
    assert parse_retry_after("500", now_us=NOON_US, cap_s=60) == 60


@given(st.text(max_size=80), st.integers(min_value=0, max_value=2**60))
def test_no_header_upsets_it(value, now_us):
    wait_s = parse_retry_after(value, now_us=now_us)
    assert wait_s is None or 0 <= wait_s <= MAX_RETRY_AFTER_S
