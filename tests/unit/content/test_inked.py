from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perseid.content.inked import CONTROLS, counted, inked, letters


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_letters_are_counted_in_bytes_of_utf8(text: str) -> None:
    wanted = sum(len(char.encode()) for char in text if ord(char) > 127 or char.isalnum())
    assert letters(text.encode()) == wanted == counted(inked(text).kinds)


def test_long_texts_are_counted_in_full() -> None:
    assert letters(b"ab1 " * 60_000) == 180_000


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_controls_are_seen(text: str) -> None:
    assert inked(text).has_controls == any(char in text.encode() for char in CONTROLS)


def test_lone_surrogates_are_told_of() -> None:
    ink = inked("a\ud800")
    assert (ink.encoded, ink.lone) == (b"a?", True)
    assert not inked("a?").lone
