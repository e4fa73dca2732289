from __future__ import annotations

import re

import pytest

from perseid.pattern import later


def test_finds_what_a_compiled_pattern_finds() -> None:
    source, text = r"(?P<word>b+)", "aBba"
    assert later(source, re.IGNORECASE).sub("-", text) == re.compile(source, re.IGNORECASE).sub("-", text)


def test_works_on_bytes() -> None:
    match = later(rb"b+").search(b"abba")
    assert match is not None
    assert match.span() == (1, 3)


def test_tells_what_a_compiled_pattern_tells() -> None:
    assert dict(later(r"(?P<word>b+)").groupindex) == {"word": 1}


def test_compiles_at_the_first_use_only(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    real = re.compile

    def counted(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return real(source, flags)

    monkeypatch.setattr(re, "compile", counted)
    pattern = later("ab")
    assert not compiled
    assert pattern.match("abc")
    assert pattern.match("abd")
    assert compiled == ["ab"]
