import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.api.own.paging import at, cursor_of, position
from perseid.errors import ConfigError


@given(st.integers(0, 2**63 - 1))
def test_a_cursor_leads_back_to_its_place(number: int) -> None:
    assert position(cursor_of(number)) == number


@given(st.text(max_size=64))
def test_a_text_is_a_place_or_no_cursor(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert 0 <= (position(text) or 0) < 2**63


def test_instants_are_rfc_3339_with_milliseconds() -> None:
    assert at(1_796_000_000_123_456) == "2026-11-30T00:53:20.123Z"
    assert [at(None), at(0), at(-1)] == [None, None, None]


def test_no_cursor_is_the_beginning() -> None:
    assert position(None) is None
    with pytest.raises(ConfigError):
        position("!")
